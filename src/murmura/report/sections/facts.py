"""Facts of a comparison: data, settings, times, environment."""

from __future__ import annotations

import math
from typing import Any

from murmura.engine.part_files import ordered
from murmura.report.command_lines import inline, rerun
from murmura.report.page import Compared, Section, as_yaml
from murmura.report.table import (
    Column,
    ReportTable,
    TableCell,
    decimals_for,
    number_cell,
    plain_table,
    text_cell,
)
from murmura.studies.compare.folder import ComparisonFolder


def sections(compared: Compared) -> list[Section | None]:
    """What was learned from; every setting; what it ran on and how long; how to make the same folder again."""
    folder = compared.folder
    rest = {key: value for key, value in folder.config.items() if key not in {"models", "model"}}
    fingerprint = str(folder.data.get("fingerprint") or "")[:12]
    same = f" The data is the same when its fingerprint begins with {fingerprint}." if fingerprint else ""
    note = (
        f"Data sets are looked for in the folder that --data-dir or MURMURA_DATA names.{same} The number of "
        "workers changes no result."
    )
    return [
        Section.of("data", "Data", data_table(folder)),
        Section.of("configuration", "Configuration", settings_table(folder), text=as_yaml(rest)),
        Section.of("environment", "Environment", environment_table(folder), time_table(folder)),
        Section.of("reproduce", "How to reproduce", text=rerun(folder), notes=(note,)),
    ]


def data_table(folder: ComparisonFolder) -> ReportTable:
    """What was learned from and what was held out."""
    facts = {"data": folder.source.get("name"), "protocol": folder.protocol, **folder.data}
    users, items, rows = (folder.data.get(key) for key in ("users", "items", "rows"))
    if all(isinstance(one, int) and one > 0 for one in (users, items, rows)):
        facts["rows per user"] = round(rows / users, 1)  # type: ignore[operator]
        facts["density"] = f"{100 * rows / (users * items):.3g} %"  # type: ignore[operator]
    facts["fingerprint"] = facts.pop("fingerprint", None)
    return _pairs("data", "What was learned from, and what was held out", facts)


def settings_table(folder: ComparisonFolder) -> ReportTable:
    """Every setting of every model."""
    rows = []
    for model in folder.models:
        settings = ", ".join(f"{key} = {inline(value)}" for key, value in model.settings.items())
        rows.append((model.label, model.name, settings or "no settings"))
    return plain_table("settings", "Settings of each model", ("model", "method", "settings"), rows)


def time_table(folder: ComparisonFolder) -> ReportTable | None:
    """How long the parts of a run took, means over seeds."""
    keys = ordered([list(part.seconds) for model in folder.models for part in model.done])
    rows = []
    for model in folder.models:
        every = ([part.seconds[key] for part in model.done if key in part.seconds] for key in keys)
        means = [math.fsum(found) / len(found) if found else None for found in every]
        rows += [(model.label, *((mean, 2) for mean in means))] if {*means} - {None} else []
    heads = ("model", *(f"{key} (s)" for key in keys))
    return plain_table("seconds", "Time per run, in seconds", heads, rows) if rows else None


def environment_table(folder: ComparisonFolder) -> ReportTable:
    """What the runs ran on."""
    facts = dict(folder.environment)
    if isinstance(facts.get("command"), list):
        facts["command"] = " ".join(map(str, facts["command"]))
    return _pairs("environment", "What it ran on", {**facts, "status": folder.status, "at": folder.at or None})


def _pairs(name: str, heading: str, facts: dict[str, Any]) -> ReportTable:
    """What is known, fact by fact."""
    rows = ((str(key), value_cell(value)) for key, value in facts.items() if value is not None)
    return plain_table(name, heading, ("what", Column("value", numeric=False)), rows)


def value_cell(value: Any) -> TableCell:
    """A plain value: a number, or text as YAML has it."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        return text_cell(value if isinstance(value, str) else inline(value))
    return number_cell(value, 0 if isinstance(value, int) else decimals_for([value]))
