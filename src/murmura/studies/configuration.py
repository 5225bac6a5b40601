"""YAML in, checked settings out; a mistake is named with its file and line and the nearest key that exists."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

import yaml
from pydantic import Field, SerializerFunctionWrapHandler, TypeAdapter, ValidationError, model_serializer

from murmura.core.catalogue import Dataset
from murmura.core.errors import RunError, SettingError
from murmura.core.flag_text import parse_cutoffs, parse_metrics, parse_models, parse_settings
from murmura.core.settings import (
    UNKNOWN,
    Count,
    Flag,
    as_dict,
    changed,
    field_names,
    problem,
    settings,
    unknown,
)
from murmura.data.graphs.feature_files import FeatureFiles
from murmura.data.reading import READING_KEYS, Reading, given_only
from murmura.data.sources.registry import data_folder, read_data
from murmura.data.splits.temporal import Order
from murmura.data.tables.interactions_file import looks_like_a_file
from murmura.engine.part_files import named
from murmura.engine.prepared import PreparedData, prepare
from murmura.engine.protocol import (
    Protocol,
    protocol,
    with_changes,
    with_order,
)
from murmura.engine.run_folder import FILES, Run
from murmura.evaluation.registry import DEFAULT_METRICS
from murmura.studies.methods import method, method_class, name_and_settings

T = TypeVar("T")
Path_ = tuple[str, ...]
Where = Callable[[Path_], str]
DATA, MODELS = "ml-latest-small-2016", "random,mostpop,user-knn,item-knn,bpr-mf,mf,ials,ease"  # by default
INSTEAD = {"model": "lists 'models:'; use `murmura compare`", "models": "has one 'model:'; use `murmura fit`"}


@settings
class DataConfig(Reading):
    """Which data: a source's name or a file, where its folder is, and how it is read."""

    # A source's name (see `murmura data list`) or a file.
    name: Annotated[str, Flag("--data", default=DATA)]
    # The folder that holds the data sets.
    dir: Annotated[str | None, Flag("--data-dir", "PATH", envvar="MURMURA_DATA")] = None

    @model_serializer(mode="wrap")
    def _only_given(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A run folder keeps what is said about reading only where something is."""
        written: dict[str, Any] = plain(self)
        first = {"name": self.name, "dir": self.dir, "skip_bad": self.skip_bad}
        return first | given_only({key: value for key, value in written.items() if key not in first})

    def source(self) -> dict[str, Any]:
        """As a comparison keeps it: without a folder of data sets where none is named."""
        written = as_dict(self)
        table = [key for key in written if key not in field_names(FeatureFiles)]  # before what is of features
        order = dict.fromkeys(["name", "dir", "skip_bad", *table, *written])
        return {key: written[key] for key in order if key != "dir" or written[key] is not None}

    def load(self, data_dir: Path | None = None) -> Dataset:
        """The data with its features, as its source has it."""
        return read_data(self.name, self.place(data_dir), self)

    def place(self, data_dir: Path | None = None) -> Path | None:
        """The folder that holds the data sets: the one given here comes before the configuration's."""
        return data_dir or (Path(self.dir) if self.dir else None)

    def prepare(self, rules: Any, data_dir: Path | None = None) -> PreparedData:
        """The data made ready by a protocol: by its name, or as a comparison writes it out."""
        dataset = self.load(data_dir)
        written = isinstance(rules, dict)
        known = protocol(str(rules["name"] if written else rules), dataset)
        same = not written or as_dict(known) == rules
        return prepare(dataset, known if same else Protocol(**rules))


@settings
class ProtocolConfig:
    """Which data, and how it is cut and ranked, in every configuration alike."""

    # default, fpl, kgflex, ncf, cold, fedsplit, ratings, mnist-iid, mnist-shards, mnist-dirichlet, celeba, or
    # split:PATH of a split; NAME:KEY=VALUE,.. changes its split.
    protocol: Annotated[str, Flag()] = "default"
    # Another split than the protocol's: leave-one-out, fixed-time, random or temporal.
    split: Annotated[str | None, Flag(metavar="NAME")] = None
    # Beside the full ranking, rank relevant items among N drawn ones: columns named sampled.
    candidates: Annotated[Count | None, Flag(metavar="N")] = None
    data: DataConfig

    @model_serializer(mode="wrap")
    def _only_given(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A run folder names a split, candidates and metrics only where they are not the protocol's."""
        written: dict[str, Any] = plain(self)
        default = {"split": None, "candidates": None, "metrics": list(DEFAULT_METRICS)}
        return {key: value for key, value in written.items() if key not in default or value != default[key]}

    def whole(self, order: Order | None = None) -> Self:
        """With everything said in the protocol, as a run folder keeps it, the order of times too."""
        protocol = with_order(self.whole_protocol, order) if order else self.whole_protocol
        return changed(self, protocol=protocol, split=None, candidates=None)

    @classmethod
    def default(cls, **own: Any) -> Self:
        """What is meant where nothing is said."""
        return cls(data=DataConfig(name=DATA), **own)

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Read and check a file, which must be of this kind."""
        read = load_config(path)
        if not isinstance(read, cls):
            key = "models" if isinstance(read, FitConfig) else "model"
            raise SettingError(f"{path} must have '{key}:', but {INSTEAD[key]}.")
        return read

    def with_flags(self, given: Mapping[tuple[str, ...], Any]) -> Self:
        """The same with fields that flags gave on top, those of the data by two names."""
        data = {path[1]: value for path, value in given.items() if len(path) == 2}
        own = {path[0]: value for path, value in given.items() if len(path) == 1}
        return changed(self, **own, data=changed(self.data, **data))

    @property
    def whole_protocol(self) -> str:
        """The protocol with the split and the candidates."""
        given = {"split": self.split, "candidates": self.candidates}
        return with_changes(self.protocol, {key: value for key, value in given.items() if value is not None})


@settings
class FitConfig(ProtocolConfig):
    """One model on one data set: what `murmura fit` takes."""

    # Which model; `murmura config show` lists them.
    model: Annotated[dict[str, Any], Flag(read=lambda name: {"name": name}, default="ease")]
    # The first seed.
    seed: Annotated[int, Field(ge=0), Flag()] = 0
    # Threads; results do not depend on it.
    workers: Annotated[Count, Flag()] = 1
    cutoffs: tuple[Count, ...] = (10,)
    metrics: tuple[str, ...] = DEFAULT_METRICS

    @classmethod
    def default(cls, **own: Any) -> Self:
        """What is meant where nothing is said."""
        return super().default(model={"name": "ease"}, **own)

    def with_flags(self, given: Mapping[tuple[str, ...], Any]) -> Self:
        """Another model than the file's has none of its settings."""
        made = super().with_flags(given)
        return changed(made, model=self.model) if made.model["name"] == self.model["name"] else made

    def with_settings(self, given: list[str]) -> Self:
        """With what -S says."""
        name = str(self.model["name"])
        return changed(self, model=self.model | parse_settings(given, [name])[name])


@settings
class CompareConfig(ProtocolConfig):
    """Several models on one data set: what `murmura compare` takes."""

    # Comma-separated; label=model names one twice.
    models: Annotated[dict[str, dict[str, Any]], Flag(read=parse_models, default=MODELS)]
    # How many seeds; the table shows means.
    seeds: Annotated[Count, Flag()] = 1
    # The first seed.
    seed: Annotated[int, Field(ge=0), Flag()] = 0
    # Processes; results do not depend on it.
    workers: Annotated[Count, Flag()] = 1
    # Cut-offs of the metrics; default the protocol's.
    cutoffs: Annotated[tuple[Count, ...] | None, Flag("--at", "K[,K]", parse_cutoffs)] = (10,)
    # Metrics by name; default P,R,nDCG,IC,G for lists.
    metrics: Annotated[tuple[str, ...], Flag(metavar="M[,M]", read=parse_metrics)] = DEFAULT_METRICS

    @classmethod
    def default(cls, **own: Any) -> Self:
        """What is meant where nothing is said."""
        return super().default(**{"models": parse_models(MODELS), "cutoffs": None, **own})

    def rest(self) -> dict[str, Any]:
        """What the plan of a comparison takes beside data set, protocol and models."""
        keys = ("seeds", "seed", "cutoffs", "metrics")
        return {"source": self.data.source(), **{key: getattr(self, key) for key in keys}}

    def only(self, labels: Collection[str]) -> Self:
        """With these models alone."""
        return changed(self, models={label: one for label, one in self.models.items() if label in labels})

    def with_flags(self, given: Mapping[tuple[str, ...], Any]) -> Self:
        """A label of the file stands for what it is there."""
        made = super().with_flags(given)
        models = {
            label: self.models[label] if one == {"name": label} and label in self.models else one
            for label, one in made.models.items()
        }
        return changed(made, models=models)

    def with_settings(self, given: list[str]) -> Self:
        """With what -S says."""
        own = parse_settings(given, list(self.models))
        return changed(self, models={label: one | own[label] for label, one in self.models.items()})


Config = FitConfig | CompareConfig


def named_data(config: dict[str, Any]) -> DataConfig:
    """Which data a run folder's configuration names: by name alone, or with where and how it is read."""
    data = named(config.get("data"), "unnamed data")
    about: dict[str, Any] = {key: data[key] for key in ("dir", *READING_KEYS) if data.get(key) is not None}
    return DataConfig(name=str(data.get("name")), **about)


def located(run: Run, data_dir: Path | None = None) -> DataConfig:
    """The data a folder names, found from any directory: its files where they were, in `data_dir`, or here.

    Data sets known by name are in `data_dir`, else in MURMURA_DATA, else where they were.
    """
    data, places = named_data(run.config), run.places
    begun = places.get("folder", Path())
    found: dict[str, Any] = {}
    for key, value in ((key, getattr(data, key, None)) for key in FILES):
        if value is None or (key == "name" and not (looks_like_a_file(value) or (begun / value).exists())):
            continue
        tried = [begun / value, *([data_dir / Path(value).name] if data_dir else []), Path(value)]
        found[key] = next((str(path) for path in tried if path.exists()), None)
        if found[key] is None:
            raise RunError(
                f"the data of {run.path} must be found again, but {value} is not in {begun.resolve()}; give "
                "the folder that holds it with --data-dir."
            )
    default = None if "name" in found else data_folder(None) or places.get("data")
    where = data_dir or (begun / data.dir if data.dir else default)
    return changed(data, **found, dir=None if where is None else str(where))


def data_of(run: Run, data_dir: Path | None = None) -> PreparedData:
    """The data of a run folder made ready; refuses others than those it was made from."""
    config = run.config
    if not run.has("data.json") or "data" not in config:
        raise RunError(
            f"{run.path} must be a run that has begun, but has no data.json or names no data; run it again "
            "with this --out."
        )
    prepared = located(run, data_dir).prepare(config.get("protocol", "default"))
    refuse_other_data(prepared, run)
    return prepared


def refuse_other_data(prepared: PreparedData, run: Run) -> None:
    """Refuse data of another fingerprint than the run's, and other samples under the same labels."""
    here, kept = prepared.describe(), run.read("data.json")
    if any(here.get(key) != kept[key] for key in ("fingerprint", "samples") if key in kept):
        raise RunError(
            f"the data must be what {run.path} was made from, but its fingerprint differs; fix --data-dir."
        )


def load_config(path: Path) -> Config:
    """Read and check a configuration file: of one model (`model:`) or of several (`models:`)."""
    values, lines = read_yaml(path, "'data:' and 'model:'")
    return check_config(values, str(path), lines)


def read_yaml(path: Path, such_as: str) -> tuple[dict[str, Any], dict[Path_, int]]:
    """The settings of a file, and the line each of them stands on; `such_as` names some it must hold."""
    try:
        text = path.read_text(encoding="utf-8")
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        lines = _lines(node)
        values = None if node is None else loader.construct_document(node)
    except OSError as error:
        raise SettingError(f"{path} must be a readable file, but: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SettingError(f"{path} must be UTF-8 text, but it is not; save it as UTF-8.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise SettingError(f"{where}: not valid YAML ({getattr(error, 'problem', error)}).") from None
    if not isinstance(values, dict):
        raise SettingError(f"{path} must hold settings such as {such_as}, but holds none.")
    return values, lines


def check_config(values: dict[str, Any], file: str = "", lines: dict[Path_, int] | None = None) -> Config:
    """Check plain values; `lines` says on which line of `file` each key stands."""

    def where(path: Path_) -> str:
        line = (lines or {}).get(path)
        return f"{file}:{line}: " if line else (f"{file}: " if file else "")

    if isinstance(values.get("data"), str):
        values = {**values, "data": {"name": values["data"]}}
    cls: type[Config] = CompareConfig if "models" in values else FitConfig
    config = checked(cls, values, where, {"data": DataConfig})
    if isinstance(config, FitConfig):
        if "name" not in config.model:
            raise SettingError(where(("model",)) + "model.name must be given: which model is meant?")
        _check_model(("model",), *name_and_settings(config.model), where)
    else:
        for label, chosen in config.models.items():
            _check_model(("models", label), *name_and_settings(chosen, label), where)
    return config


def checked(cls: type[T], values: Any, where: Where, parts: Mapping[str, type] | None = None) -> T:
    """Settings from the values of a file; a mistake is one sentence that begins with `where` it is.

    `parts` are the classes of what is nested under a key.
    """
    try:
        made: T = TypeAdapter(cls).validate_python(values)
    except ValidationError as error:
        # a key that does not exist explains a key that is missing, so it is named first
        first = min(error.errors(), key=lambda one: one["type"] not in UNKNOWN)
        path = tuple(str(part) for part in first["loc"])
        owner = (parts or {}).get(path[0], cls) if len(path) > 1 else cls
        if first["type"] in UNKNOWN:
            sentence = unknown(path[-1], field_names(owner), ".".join(path[:-1]))
        else:
            sentence = problem(first, owner, "")
        raise SettingError(where(path) + sentence) from None
    return made


def _check_model(path: Path_, name: str, chosen: dict[str, Any], where: Where) -> None:
    try:
        known = field_names(method_class(name))
        for key in chosen:
            if key not in known:
                path = (*path, key)
                raise SettingError(unknown(key, known, ".".join(path[:-1])))
        method(name, chosen)
    except SettingError as error:
        raise SettingError(where(path) + str(error)) from None


def _lines(node: Any, path: Path_ = ()) -> dict[Path_, int]:
    """The line each key, or each member of a list, stands on."""
    inside: list[tuple[Any, Any, Any]] = []  # what it is called, where it begins, what it holds
    if isinstance(node, yaml.MappingNode):
        inside = [(key.value, key, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        inside = [(place, value, value) for place, value in enumerate(node.value)]
    found: dict[Path_, int] = {}
    for name, begin, value in inside:
        here = (*path, str(name))
        found |= {here: begin.start_mark.line + 1, **_lines(value, here)}
    return found


def schema(kind: str) -> dict[str, Any]:
    """The JSON schema of a configuration file: kind is `fit`, `compare` or a model's name."""
    cls = {"fit": FitConfig, "compare": CompareConfig}.get(kind) or method_class(kind)
    return TypeAdapter(cls).json_schema()


def experiment_folder(package: Path | None = None) -> Path:
    """Where the files are: inside an installed package, or beside the sources."""
    package = package or Path(str(resources.files("murmura")))
    inside = package / "experiments"
    return inside if inside.is_dir() else package.parents[1] / "experiments"
