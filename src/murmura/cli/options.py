"""The flags several commands share: alone, or as the fields of a configuration class that are a `Flag`.

The help of such a flag is the comment beside its field. The class is loaded when somebody asks for the flags,
so the list of all commands stays light.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from functools import cached_property, update_wrapper
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

from murmura.cli.console import say
from murmura.core.errors import MissingExtraError, SettingError
from murmura.core.flag_text import parse_settings as parse_settings

if TYPE_CHECKING:
    from murmura.data.splits.temporal import Order
    from murmura.runtimes.cluster import Cluster as OpenCluster
    from murmura.studies.compare.comparison_plan import Comparison
    from murmura.studies.worker_pool import Workers as WorkerTeam

READING = "reading"
CONTEXT, FILE, SETTINGS = "context", "config_file", "settings"
FILE_FLAG = Annotated[Path | None, typer.Option("--config", help="A YAML file; flags given here come on top.")]
Set = Annotated[
    list[str], typer.Option("-S", "--set", metavar="KEY=VALUE", help="A setting, e.g. -S user-knn.k=100.")
]
Data = Annotated[str, typer.Option("--data", help="A source's name (see `murmura data list`) or a file.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="The folder that holds the data sets.", envvar="MURMURA_DATA")
]
OrderNames = Annotated[
    str,
    typer.Option(
        "--order", metavar="real|day", help="What methods see: real times, or days; real,day compares both."
    ),
]
OneOrder = Annotated[str, typer.Option("--order", metavar="real|day", help="Real times, or whole days.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The first seed.")]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Threads; results do not depend on it.")]
Processes = Annotated[int, typer.Option("--workers", min=1, help="Processes; results do not depend on it.")]
Cluster = Annotated[
    str,
    typer.Option(
        "--cluster",
        metavar="WHERE",
        help="On Dask workers: local:2, or a scheduler's address (tcp://host:8786).",
    ),
]
ClusterTls = Annotated[
    Path | None,
    typer.Option("--cluster-tls", metavar="FOLDER", help="ca.pem, cert.pem and key.pem for a tls:// cluster."),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object per line on stdout.")]
Log = Annotated[
    str, typer.Option("--log", metavar="mlflow:URI", help="Tell an MLflow server or database, too.")
]
Csv = Annotated[bool, typer.Option("--csv", help="The table as CSV on stdout.")]
Out = Annotated[Path | None, typer.Option("--out", help="The run folder; default runs/<time>-<what>.")]
# no telemetry, and a wrong address fails in seconds instead of minutes
QUIETLY = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}
Tracker = Any  # an experiment tracker that is connected
Reading = dict[str, Any]  # what the flags about reading data say, as arguments of `load`


@dataclass(frozen=True)
class FieldFlag:
    """The flag of one field: the parameter of the command, and how its text becomes the field's value."""

    path: tuple[str, ...]  # the field, or the field of a nested class
    parameter: inspect.Parameter
    read: Callable[[Any], Any] | None
    first: bool


class ConfiguredCommand:
    """A command with the flags of a configuration class in place of one of its parameters."""

    def __init__(
        self, command: Callable[..., None], place: str, parameter: str, file: bool, only: Collection[str]
    ) -> None:
        update_wrapper(self, command)
        self._only = only
        self.__annotations__ = {key: kind for key, kind in command.__annotations__.items() if key != parameter}
        self._command, self._place, self._parameter, self._file = command, place, parameter, file

    @cached_property
    def config_class(self) -> Any:
        """The class, from its place "module:name"."""
        module, _, name = self._place.partition(":")
        return getattr(import_module(module), name)

    @cached_property
    def flags(self) -> list[FieldFlag]:
        """The flags of the class, first those that say which data and which models."""
        found = flags_of(self.config_class, nested=self._parameter == READING)
        kept = [flag for flag in found if not self._only or flag.path[0] in self._only]
        return sorted(kept, key=lambda flag: not flag.first)

    @property
    def __signature__(self) -> inspect.Signature:
        hints = get_type_hints(self, include_extras=True)
        made: list[inspect.Parameter] = [_parameter(CONTEXT, typer.Context, inspect.Parameter.empty)]
        for one in inspect.signature(self._command).parameters.values():
            if one.name == self._parameter:
                made += [flag.parameter for flag in self.flags]
                made += [_parameter(SETTINGS, Set, [])] if self._takes_settings else []
                made += [_parameter(FILE, FILE_FLAG, None)] if self._file else []
            elif one.name != CONTEXT:
                made.append(_parameter(one.name, hints[one.name], one.default))
        return inspect.Signature(made)

    @property
    def _takes_settings(self) -> bool:
        return hasattr(self.config_class, "with_settings")

    def __call__(self, **given: Any) -> None:
        """Call the command with what the flags say, on top of the file where one is given."""
        context = given[CONTEXT] if CONTEXT in self.__annotations__ else given.pop(CONTEXT)
        file, said = given.pop(FILE, None), dict[tuple[str, ...], Any]()
        for flag in self.flags:
            value, source = given.pop(flag.parameter.name), context.get_parameter_source(flag.parameter.name)
            # a flag on the command line counts; without a file the environment does as well
            counts = ("COMMANDLINE",) if file is not None else ("COMMANDLINE", "ENVIRONMENT")
            if value not in (None, []) and source is not None and source.name in counts:
                said[flag.path] = flag.read(value) if flag.read else value
        if self._parameter == READING:
            self._command(**given, reading={name: value for (name,), value in said.items()})
            return
        base = self.config_class.default() if file is None else self.config_class.of_file(file)
        config = base.with_flags(said)
        if self._takes_settings:
            config = config.with_settings(given.pop(SETTINGS))
        self._command(**{self._parameter: config}, **given)


def takes(
    place: str, parameter: str = "config", file: bool = False, only: Collection[str] = ()
) -> Callable[..., ConfiguredCommand]:
    """Give a command the flags of the class at `module:name`, or some, and --config where it reads a file."""
    return lambda command: ConfiguredCommand(command, place, parameter, file, only)


def takes_reading(command: Callable[..., None]) -> ConfiguredCommand:
    """Give a command the flags about reading data, which it gets as its one argument `reading`."""
    return ConfiguredCommand(command, "murmura.data.reading:Reading", READING, False, ())


def flags_of(cls: type, nested: bool = False, path: tuple[str, ...] = ()) -> Iterator[FieldFlag]:
    """Every field that is a flag, those of nested classes in their place.

    A nested class says only what is given, so its flags have no defaults.
    """
    from murmura.core.settings import Flag, meanings

    hints, help_of = get_type_hints(cls, include_extras=True), meanings(cls)
    own = dict.fromkeys(name for one in cls.__mro__ for name in getattr(one, "__annotations__", {}))
    defaults = {one.name: one.default for one in fields(cls)}
    for name in (name for name in own if name in defaults):  # of the class before those of its bases
        kind, found = _taken_apart(hints[name])
        if isinstance(kind, type) and is_dataclass(kind):
            yield from flags_of(kind, True, (*path, name))
        if (flag := next((one for one in found if isinstance(one, Flag)), None)) is None:
            continue
        unsaid = nested or flag.read is not None or defaults[name] is MISSING
        shown = flag.default or (None if unsaid else defaults[name])
        words = flag.name or f"--{name.replace('_', '-')}"
        parameter = words.removeprefix("--").replace("-", "_")
        if kind is bool and shown is None and type(None) in get_args(get_args(hints[name])[0]):
            words = f"{words}/--no-{words.removeprefix('--')}"
        metavar = flag.metavar or ("FILE" if kind is Path else None)
        least = next((one.ge for one in found if hasattr(one, "ge")), None)
        option = typer.Option(words, metavar=metavar, help=help_of[name], min=least, envvar=flag.envvar)
        typed: Any = _typed(kind, flag.several, flag.read is not None)
        annotated: Any = Annotated[typed if shown is not None else typed | None, option]
        one = _parameter(parameter, annotated, shown)
        yield FieldFlag((*path, name), one, flag.read, flag.default is not None)


def _typed(kind: Any, several: bool, is_read: bool) -> Any:
    """What typer makes of the words; a file stays as it was named."""
    if several:
        return list[str]
    return str if is_read or kind is Path else kind


def _taken_apart(hint: Any) -> tuple[Any, list[Any]]:
    """The type behind a field's annotations, and those: bounds, and how it is a flag."""
    if get_origin(hint) is Annotated:
        inner, *more = get_args(hint)
        kind, found = _taken_apart(inner)
        bounds = [bound for one in more for bound in getattr(one, "metadata", ())]
        return kind, [*found, *more, *bounds]
    if get_origin(hint) in (Union, UnionType):
        kind, found = _taken_apart(next(one for one in get_args(hint) if one is not type(None)))
        return kind, found
    return hint, []


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def parse_orders(text: str) -> tuple[Order, ...]:
    """`real`, `day` or `real,day`; nothing given: none, which leaves the protocol as it is."""
    from murmura.data.splits.temporal import Order

    found: tuple[Order, ...] = tuple(one for one in get_args(Order) if one in text.split(","))
    if ",".join(found) != text:
        raise SettingError(f"--order must be real, day or real,day, but it is '{text}'.")
    return found


def one_order(order: str) -> Order | None:
    """The order that --order says; None where nothing is said."""
    chosen = parse_orders(order)
    if len(chosen) > 1:
        raise SettingError(
            f"--order must be real or day here, but it is '{order}'; `murmura compare` takes both."
        )
    return chosen[0] if chosen else None


def new_folder(out: Path | None, *what: str) -> Path:
    """The folder asked for, or a new one under runs/."""
    if out is not None:
        return out
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    base = Path("runs") / "-".join(
        [stamp, *(re.sub(r"[^A-Za-z0-9.+_-]", "_", Path(part).name) for part in what)]
    )
    path, number = base, 1
    while path.exists():
        number += 1
        path = base.with_name(f"{base.name}-{number}")
    return path


@contextmanager
def cluster_at(where: str, tls: Path | None, folder: Path) -> Iterator[OpenCluster | None]:
    """The cluster that the flags name, as a runtime; None without one.

    What its workers share is in `folder`, beside the results; what a killed driver left there goes first.
    """
    refuse_tls_alone(where, tls)
    if not where:
        yield None
        return
    from murmura.core.locks import locked
    from murmura.runtimes.cluster import Cluster as OpenCluster
    from murmura.runtimes.cluster import remove_left_behind
    from murmura.runtimes.dask import DaskTasks, dask_client

    with locked(folder):
        remove_left_behind(folder)
    with dask_client(where, tls) as client:
        made = OpenCluster(DaskTasks(client), folder=folder, address=client.scheduler.address)
        try:
            yield made
        finally:
            made.let_go()


def refuse_tls_alone(where: str, tls: Path | None) -> None:
    """Certificates are for a cluster."""
    if tls is not None and not where:
        raise SettingError("--cluster-tls needs a cluster, but none is named; give --cluster too.")


def refuse_classifiers(plan: Comparison, cluster: str) -> None:
    """Samples are classified after every round, which only the process with the test part can do."""
    if cluster and plan.prepared.protocol.classifies:
        raise SettingError(
            f"--cluster must be left out under protocol '{plan.prepared.protocol.name}': its models are scored "
            "on the test part after every round, which only this process has; --workers are its threads."
        )


def team(workers: int, cluster: str = "", tls: Path | None = None) -> WorkerTeam:
    """Who does independent fits; that a worker was lost is said in a line."""
    from murmura.studies.worker_pool import Workers

    refuse_tls_alone(cluster, tls)
    return Workers(workers, cluster, tls, say)


def tracker(target: str) -> Tracker | None:
    """The tracker that --log names, or None. A wrong one is refused before any work."""
    from murmura.cli.app import of_the_lab

    if not target:
        return None
    kind, colon, uri = target.partition(":")
    if kind != "mlflow" or not colon or not uri:
        raise SettingError(
            f"--log must be mlflow:URI, but it is '{target}'; write for example --log mlflow:sqlite:///runs.db "
            "or --log mlflow:http://localhost:5000."
        )
    for key, value in QUIETLY.items():
        os.environ.setdefault(key, value)
    try:
        made: Tracker = of_the_lab("tracker").connect(uri)
    except ImportError:
        raise MissingExtraError("--log mlflow", "mlflow") from None
    return made


def tell_tracker(connected: Tracker | None, folder: Path) -> None:
    """What --log asks for at the end: what the folder holds, and its report where that can be drawn."""
    if connected is None:
        return
    from murmura.report import build

    page: Path | None = None
    try:
        page = build(folder)
    except MissingExtraError as error:
        say(f"no report: {error}")
    connected.tell(folder, page)
    say(f"told mlflow:{connected.uri}")
