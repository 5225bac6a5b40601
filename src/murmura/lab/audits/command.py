"""`murmura audit`: attack what leaves the clients of our own simulation, and say what it gives away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from murmura.cli import options
from murmura.cli.console import progress, say
from murmura.cli.report import show_table, write_report
from murmura.core.errors import SettingError

if TYPE_CHECKING:
    from murmura.lab.audits.audit import Audit
    from murmura.studies.configuration import FitConfig


@options.takes_reading
def audit(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A folder of `murmura fit`; of `murmura compare`: all entries."),
    ] = None,
    data: options.Data = "",
    model: Annotated[str, typer.Option("--model", help="Without RUN: the federated method.")] = "fedsplit",
    protocol: Annotated[
        str, typer.Option("--protocol", help="Without RUN: filter and split; default the method's own paper's.")
    ] = "",
    settings: options.Set = [],  # noqa: B006
    attack: Annotated[
        list[str], typer.Option("--attack", help="An attack, see docs/audit.md; may be repeated; default all.")
    ] = [],  # noqa: B006
    seed: options.Seed = 0,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Trainings, from the seed on, pooled.")] = 1,
    liars: Annotated[
        list[float], typer.Option("--liars", help="Poisoning: a share of the clients; default 0.01 and 0.05.")
    ] = [],  # noqa: B006
    target: Annotated[str, typer.Option("--target", help="Poisoning: the item, by its own id.")] = "",
    user_labels: Annotated[
        Path | None,
        typer.Option("--user-labels", help="Attributes to guess: MovieLens users.dat, or a table by `user`."),
    ] = None,
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Train again with every message recorded in memory, attack the messages, judge, and write the report.

    With RUN its own data, settings and seed are used; with --data a model is fitted first. Of a comparison all
    federated entries are attacked, with all their seeds, and shown beside how well they predict. Poisoning must
    be asked for by --attack: it trains once without and once with liars, and opens the test part. The folder
    keeps what was found (audit.json), never the messages; entries that were audited before are not repeated.
    """
    from murmura.data.reading import READING_KEYS
    from murmura.engine.run_folder import Run
    from murmura.lab.audits.audit import audit_folder, audit_run, keeps_attacks, require_attackable
    from murmura.lab.audits.poisoned_training import PoisoningPlan
    from murmura.lab.audits.section import audit_section
    from murmura.report.page import Compared
    from murmura.studies.compare.folder import read_runs
    from murmura.studies.configuration import DataConfig, FitConfig

    if (folder is None) == (not data):
        raise SettingError(
            "an audit needs either a run folder or --data, but has "
            f"{'none of them' if folder is None else 'both'}."
        )
    fitting = ("model", "protocol", "settings", "seed", "out", *READING_KEYS)  # what only a fit needs
    sources = {name: context.get_parameter_source(name) for name in fitting}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if folder is not None and given:
        raise SettingError(
            f"an audit of a run has the run's own model, settings and seed, but got {', '.join(given)}; "
            "leave that out, or give --data instead of the run."
        )
    if folder is None:
        require_attackable(model)
        rules = protocol or ("fedsplit" if model.startswith("fedsplit") else "fpl")
        source = DataConfig(name=data, dir=str(data_dir) if data_dir else None, **reading)
        config = FitConfig(data=source, protocol=rules, model={"name": model}, seed=seed)
        folder = _fitted(config.with_settings(settings), out)
    several = "models" in Run.open(folder).config
    if several and seeds != 1:
        raise SettingError("an audit of a comparison has the comparison's seeds; leave --seeds out.")
    if several and user_labels is not None:
        raise SettingError("labels must be guessed in the audit of one run, but got a comparison; audit a run.")
    with progress() as listener:
        if several:
            found = audit_folder(folder, attack, data_dir, listener)
        else:
            poisoning_plan = PoisoningPlan(tuple(liars), target) if liars else PoisoningPlan(target=target)
            one = audit_run(folder, attack, data_dir, listener, seeds, poisoning_plan, user_labels)
            found = {one.method: one}
    if as_json:
        for label, audited in found.items():
            for line in lines(label, audited):
                typer.echo(json.dumps(line, ensure_ascii=False))
    else:
        section = audit_section(found, Compared(read_runs(folder)))
        for table in section.tables if section else ():
            show_table(table)
    if several and not keeps_attacks(Run.open(folder), attack):
        say("the folder keeps its audit with other attacks; delete its audit.json to keep this one.")
    say(f"run folder: {folder}")
    write_report(folder)


def _fitted(config: FitConfig, out: Path | None) -> Path:
    """Fit the model first, in a folder of its own."""
    from murmura.studies.fit.run import fit_run

    place = options.new_folder(out, config.data.name, str(config.model["name"]), "audit")
    with progress() as listener:
        fit_run(config, place, listener, on_message=say)
    return place


def lines(label: str, found: Audit) -> list[dict[str, Any]]:
    """One flat object per finding, per share of hints and per training with liars."""
    kept = found.plain()
    flat = []
    for one in (*kept["findings"], *kept["points"], *kept["poisonings"]):
        row = {"method": label, "seed": found.seed}
        row |= {key: value for key, value in one.items() if key not in ("values", "title", "roc")}
        for key, (mean, low, high) in one["values"].items():
            row |= {key: mean, f"{key} low": low, f"{key} high": high}
        flat.append(row)
    return flat
