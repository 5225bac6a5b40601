"""The tables of facts: what is unfinished, what left the devices, data, settings, times, environment."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import yaml

from murmura.report.result_folder import ModelRuns, ResultFolder, ordered
from murmura.report.tables.results import NAME
from murmura.report.tables.table import (
    Column,
    ReportTable,
    TableCell,
    decimals_for,
    name_columns,
    number_cell,
    text_cell,
)


def status_table(folder: ResultFolder) -> ReportTable | None:
    """What is not finished, run by run; nothing where all is."""
    if all(model.finished for model in folder.models):
        return None
    columns = (NAME, Column("seed"), *name_columns("state", "what happened"))
    words = {"missing": "not started", "new": "not started", "running": "unfinished", "fitted": "not evaluated"}
    rows = [
        (
            text_cell(model.label),
            number_cell(part.seed),
            text_cell(words.get(part.status, part.status)),
            text_cell(part.error),
        )
        for model in folder.models
        for part in model.parts
        if not part.done
    ]
    return ReportTable("unfinished", "Runs without a result", columns, tuple(rows))


def ledger_table(folder: ResultFolder) -> ReportTable | None:
    """What left the devices, model by model, from the ledgers of their first finished seeds."""
    ledgers = [(m, m.done[0].ledger) for m in folder.models if m.done and m.done[0].ledger is not None]
    flat = [(model.label, dict(_flat(ledger))) for model, ledger in ledgers]
    keys = ordered([list(found) for _, found in flat])
    if not keys:
        return None
    columns = (Column("what left the devices", numeric=False), *(Column(label) for label, _ in flat))
    rows = [(text_cell(key), *(_value_cell(found.get(key)) for _, found in flat)) for key in keys]
    return ReportTable("ledger", "The ledger", columns, tuple(rows), ("One run per model: its first seed.",))


def _flat(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Nested keys joined by a dot; a long list of numbers becomes its count, least, middle and most."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and len(value) > 12 and all(isinstance(one, int | float) for one in value):
        ordered_values = sorted(value)
        least, middle, most = ordered_values[0], ordered_values[len(value) // 2], ordered_values[-1]
        yield path, f"{len(value)} values: {least:g}, median {middle:g}, {most:g}"
    else:
        yield path, value


def data_table(folder: ResultFolder) -> ReportTable:
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


def settings_table(folder: ResultFolder) -> ReportTable:
    """Every setting of every model."""
    columns = name_columns("model", "method", "settings")
    rows = [(text_cell(m.label), text_cell(m.name), text_cell(_settings(m))) for m in folder.models]
    return ReportTable("settings", "Settings of each model", columns, tuple(rows))


def _settings(model: ModelRuns) -> str:
    return ", ".join(f"{key} = {inline(value)}" for key, value in model.settings.items()) or "no settings"


def time_table(folder: ResultFolder) -> ReportTable | None:
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


def environment_table(folder: ResultFolder) -> ReportTable:
    """What the runs ran on."""
    facts = {key: value for key, value in folder.environment.items() if value is not None}
    if isinstance(facts.get("command"), list):
        facts["command"] = " ".join(map(str, facts["command"]))
    facts |= {"status": folder.status} | ({"at": folder.at} if folder.at else {})
    return _pairs("environment", "What it ran on", facts)


def _pairs(name: str, heading: str, facts: dict[str, Any]) -> ReportTable:
    rows = tuple((text_cell(key), _value_cell(value)) for key, value in facts.items())
    return ReportTable(name, heading, name_columns("what", "value"), rows)


def _value_cell(value: Any) -> TableCell:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        return text_cell(value if isinstance(value, str) else inline(value))
    return number_cell(value, 0 if isinstance(value, int) else decimals_for([value]))


def inline(value: Any) -> str:
    """A plain value on one line, as YAML and `-S` read it; text that looks like a number is quoted."""
    look: dict[str, Any] = {"default_flow_style": True, "width": math.inf, "sort_keys": False}
    look["default_style"] = "'" if isinstance(value, str) and _like_a_number(value) else None
    text = yaml.safe_dump(value, allow_unicode=True, **look).removesuffix("...\n").strip()
    if not text.isprintable():  # PyYAML leaves line breaks of other alphabets as they are, and loses them
        text = yaml.safe_dump(value, allow_unicode=False, **look).removesuffix("...\n").strip()
    return str(text)


def _like_a_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
