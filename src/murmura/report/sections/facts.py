"""Facts of a comparison: data, settings, times, environment."""

from __future__ import annotations

import math
from typing import Any

from murmura.report.command_lines import inline, rerun
from murmura.report.page import Compared, Section, as_yaml
from murmura.report.table import (
    NAME,
    Column,
    ReportTable,
    TableCell,
    decimals_for,
    name_columns,
    number_cell,
    text_cell,
)
from murmura.runs.comparison import ComparisonFolder, ModelRuns
from murmura.runs.parts import ordered


def data_section(compared: Compared) -> Section | None:
    """What was learned from."""
    return Section.of("data", "Data", data_table(compared.folder))


def configuration_section(compared: Compared) -> Section | None:
    """Settings, and everything else that was configured."""
    rest = {key: value for key, value in compared.folder.config.items() if key not in {"models", "model"}}
    return Section.of("configuration", "Configuration", settings_table(compared.folder), text=as_yaml(rest))


def environment_section(compared: Compared) -> Section | None:
    """What it ran on, and how long."""
    tables = environment_table(compared.folder), time_table(compared.folder)
    return Section.of("environment", "Environment", *tables)


def rerun_section(compared: Compared) -> Section | None:
    """How to make the same folder again."""
    fingerprint = str(compared.folder.data.get("fingerprint") or "")[:12]
    same = f" The data is the same when its fingerprint begins with {fingerprint}." if fingerprint else ""
    note = (
        f"Data sets are looked for in the folder that --data-dir or MURMURA_DATA names.{same} The number of "
        "workers changes no result."
    )
    return Section.of("reproduce", "How to reproduce", text=rerun(compared.folder), notes=(note,))


def data_table(folder: ComparisonFolder) -> ReportTable:
    """What was learned from and what was held out."""
    facts = {"data": folder.source.get("name"), "protocol": folder.protocol, **folder.data}
    users, items, rows = (folder.data.get(key) for key in ("users", "items", "rows"))
    if all(isinstance(one, int) and one > 0 for one in (users, items, rows)):
        facts["rows per user"] = round(rows / users, 1)  # type: ignore[operator]
        facts["density"] = f"{100 * rows / (users * items):.3g} %"  # type: ignore[operator]
    facts["fingerprint"] = facts.pop("fingerprint", None)
    return _pairs(
        "data",
        "What was learned from, and what was held out",
        {key: value for key, value in facts.items() if value is not None},
    )


def settings_table(folder: ComparisonFolder) -> ReportTable:
    """Every setting of every model."""
    columns = name_columns("model", "method", "settings")
    rows = [(text_cell(m.label), text_cell(m.name), text_cell(_settings(m))) for m in folder.models]
    return ReportTable("settings", "Settings of each model", columns, tuple(rows))


def _settings(model: ModelRuns) -> str:
    return ", ".join(f"{key} = {inline(value)}" for key, value in model.settings.items()) or "no settings"


def time_table(folder: ComparisonFolder) -> ReportTable | None:
    """How long the parts of a run took, means over seeds."""
    models = [model for model in folder.models if any(part.seconds for part in model.done)]
    keys = ordered([list(part.seconds) for model in models for part in model.done])
    if not keys:
        return None
    rows = []
    for model in models:
        cells = []
        for key in keys:
            found = [part.seconds[key] for part in model.done if key in part.seconds]
            cells.append(number_cell(math.fsum(found) / len(found) if found else None, 2))
        rows.append((text_cell(model.label), *cells))
    columns = (NAME, *(Column(f"{key} (s)") for key in keys))
    return ReportTable("seconds", "Time per run, in seconds", columns, tuple(rows))


def environment_table(folder: ComparisonFolder) -> ReportTable:
    """What the runs ran on."""
    facts = {key: value for key, value in folder.environment.items() if value is not None}
    if isinstance(facts.get("command"), list):
        facts["command"] = " ".join(map(str, facts["command"]))
    facts |= {"status": folder.status} | ({"at": folder.at} if folder.at else {})
    return _pairs("environment", "What it ran on", facts)


def _pairs(name: str, heading: str, facts: dict[str, Any]) -> ReportTable:
    rows = tuple((text_cell(key), value_cell(value)) for key, value in facts.items())
    return ReportTable(name, heading, name_columns("what", "value"), rows)


def value_cell(value: Any) -> TableCell:
    """A plain value: a number, or text as YAML has it."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        return text_cell(value if isinstance(value, str) else inline(value))
    return number_cell(value, 0 if isinstance(value, int) else decimals_for([value]))
