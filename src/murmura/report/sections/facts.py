"""Facts of a comparison: data, settings, times, environment, and the commands that make the folder again."""

from __future__ import annotations

import math
import shlex
from contextlib import suppress
from typing import Any

import yaml

from murmura.engine.part_files import ordered, printable
from murmura.report.page import Compared, Section, as_yaml
from murmura.report.summary import decimals_for
from murmura.report.table import Column, ReportTable, TableCell, number_cell, plain_table, text_cell
from murmura.studies.compare.folder import ComparisonFolder, mean

AGAIN = "again"  # the folder the commands write
FILE = f"{AGAIN}.yaml"
# what is said about reading data in one word each
FLAGS = (
    "separator", "repeats", "positive_from", "item_names", "features", "mapping", "labels", "hops",
    "feature_items", "attributes",
)  # fmt: skip
VERSIONS = ("murmura", "python", "numpy", "scipy", "numba")


def rerun(folder: ComparisonFolder) -> str:
    """A shell script: run the same and report it; the versions stand above as a comment."""
    parts = [f"{part} {folder.environment[part]}" for part in VERSIONS if folder.environment.get(part)]
    versions = [printable(f"# {', '.join(parts)}")] if parts else []
    labels = folder.config.get("models")
    run = _fit if labels is None else _compare if all(map(_fits_a_flag, labels)) else _from_file
    return "\n".join([*versions, *run(folder), f"murmura report {AGAIN}"])


def _fits_a_flag(label: object) -> bool:
    """Whether `--models label=name` can carry the label as it is."""
    text = str(label)
    return text == text.strip() and text.isprintable() and bool(text) and not set(text) & set(",=")


def _compare(folder: ComparisonFolder) -> list[str]:
    config, models = folder.config, folder.models
    named = [one.label if one.name == one.label else f"{one.label}={one.name}" for one in models]
    seeds = f"--seeds {config.get('seeds', 1)} --seed {config.get('seed', 0)}"
    scored = _listed(config, "cutoffs", "at") + _listed(config, "metrics", "metrics")
    lines = [
        f"murmura compare {_data(folder)}",
        _flag("models", *named),
        *(_settings(one.label, one.settings) for one in models if one.settings),
        " ".join([seeds, *scored, *_orders(folder), f"--out {AGAIN}"]),
    ]
    return [" \\\n  ".join(lines)]


def _fit(folder: ComparisonFolder) -> list[str]:
    config, (model,) = folder.config, folder.models
    lines = [
        f"murmura fit {_flag('model', model.name)} {_data(folder)}",
        *([_settings(model.name, model.settings)] if model.settings else []),
        f"--seed {config.get('seed', 0)} --out {AGAIN}",
    ]
    return [" \\\n  ".join(lines), " ".join([f"murmura evaluate {AGAIN}", *_listed(config, "cutoffs", "at")])]


def _from_file(folder: ComparisonFolder) -> list[str]:
    """A label that no flag can carry goes through a file."""
    exported = ("models", "seeds", "seed", "cutoffs", "metrics")
    config = {key: folder.config[key] for key in exported if key in folder.config}
    kept = {"data": folder.source, "protocol": folder.protocol, **config}
    text = yaml.safe_dump(kept, sort_keys=False).rstrip()
    run = " ".join([f"murmura compare --config {FILE}", *_orders(folder), f"--out {AGAIN}"])
    return [f"cat > {FILE} <<'END'", text, "END", run]


def _data(folder: ComparisonFolder) -> str:
    source, columns = folder.source, folder.source.get("columns")
    named = [f"{part}={name}" for part, name in columns.items()] if isinstance(columns, dict) else []
    parts = [
        _flag("data", source.get("name")),
        *([_flag("data-dir", source["dir"])] if source.get("dir") else []),
        *(["--skip-bad"] if source.get("skip_bad") else []),
        *([] if source.get("header") is None else ["--header" if source["header"] else "--no-header"]),
        *([_flag("columns", *named)] if named else []),
        *(_flag(key.replace("_", "-"), source[key]) for key in FLAGS if source.get(key) is not None),
        *(_flag("exclude", *hop) for hop in source.get("exclude") or []),
        _flag("protocol", folder.protocol),
    ]
    return " ".join(parts)


def _flag(name: str, *values: object) -> str:
    """A flag with one value, or with several between commas."""
    return f"--{name} {shlex.quote(','.join(map(str, values)))}"


def _settings(label: str, settings: dict[str, Any]) -> str:
    """The settings of one model on one line."""
    return " ".join(f"-S {shlex.quote(f'{label}.{key}={inline(value)}')}" for key, value in settings.items())


def _listed(config: dict[str, Any], key: str, flag: str) -> list[str]:
    return [_flag(flag, *config[key])] if config.get(key) else []


def _orders(folder: ComparisonFolder) -> list[str]:
    """A protocol's text says which order was seen, unless both were."""
    return ["--order real,day"] if folder.by_days else []


def inline(value: Any) -> str:
    """A plain value on one line, as YAML and `-S` read it; text that looks like a number is quoted."""
    look: dict[str, Any] = {"default_flow_style": True, "width": math.inf, "sort_keys": False}
    if isinstance(value, str):
        with suppress(ValueError):
            float(value)
            look["default_style"] = "'"
    text = yaml.safe_dump(value, allow_unicode=True, **look).removesuffix("...\n").strip()
    if not text.isprintable():  # PyYAML leaves line breaks of other alphabets as they are, and loses them
        text = yaml.safe_dump(value, allow_unicode=False, **look).removesuffix("...\n").strip()
    return str(text)


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
    means = [(model.label, mean([dict(part.seconds) for part in model.done])) for model in folder.models]
    rows = [(label, *((known.get(key), 2) for key in keys)) for label, known in means if known]
    heads = ("model", *(f"{key} (s)" for key in keys))
    return plain_table("seconds", "Time per run, in seconds", heads, rows) if rows else None


def environment_table(folder: ComparisonFolder) -> ReportTable:
    """What the runs ran on."""
    facts = dict(folder.environment)
    if isinstance(facts.get("command"), list):
        facts["command"] = " ".join(map(str, facts["command"]))
    facts |= {"status": folder.run.status, "at": folder.run.at or facts.get("at")}
    return _pairs("environment", "What it ran on", facts)


def _pairs(name: str, heading: str, facts: dict[str, Any]) -> ReportTable:
    """What is known, fact by fact."""
    rows = ((str(key), value_cell(value)) for key, value in facts.items() if value is not None)
    return plain_table(name, heading, ("what", Column("value", numeric=False)), rows)


def value_cell(value: Any) -> TableCell:
    """A plain value: a number, or text as YAML has it."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        return text_cell(value if isinstance(value, str) else inline(value))
    return number_cell(value, 0 if isinstance(value, int) else decimals_for([value]))
