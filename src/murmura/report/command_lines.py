"""The command lines that make the same folder again, from its configuration alone."""

from __future__ import annotations

import math
import shlex
from typing import Any

import yaml

from murmura.runs.comparison import ComparisonFolder
from murmura.runs.parts import printable

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
    if "models" not in folder.config:
        run = _fit(folder)
    elif all(map(_fits_a_flag, folder.config["models"])):
        run = [_compare(folder)]
    else:
        run = _from_file(folder)
    return "\n".join([*versions, *run, f"murmura report {AGAIN}"])


def _fits_a_flag(label: object) -> bool:
    """Whether `--models label=name` can carry the label as it is."""
    text = str(label)
    return text == text.strip() and text.isprintable() and bool(text) and not set(text) & set(",=")


def _compare(folder: ComparisonFolder) -> str:
    config, models = folder.config, folder.models
    named = [one.label if one.name == one.label else f"{one.label}={one.name}" for one in models]
    flags = [_settings(one.label, one.settings) for one in models if one.settings]
    lines = [
        f"murmura compare {_data(folder)}",
        f"--models {shlex.quote(','.join(named))}",
        *flags,
        f"--seeds {config.get('seeds', 1)} --seed {config.get('seed', 0)}{_scored(config)}{_orders(folder)} "
        f"--out {AGAIN}",
    ]
    return " \\\n  ".join(lines)


def _orders(folder: ComparisonFolder) -> str:
    """A protocol's text says which order was seen, unless both were."""
    return " --order real,day" if folder.beside else ""


def _settings(label: str, settings: dict[str, Any]) -> str:
    """The settings of one model on one line."""
    return " ".join(f"-S {shlex.quote(f'{label}.{key}={inline(value)}')}" for key, value in settings.items())


def _fit(folder: ComparisonFolder) -> list[str]:
    config, (model,) = folder.config, folder.models
    lines = [
        f"murmura fit --model {shlex.quote(model.name)} {_data(folder)}",
        *([_settings(model.name, model.settings)] if model.settings else []),
        f"--seed {config.get('seed', 0)} --out {AGAIN}",
    ]
    return [" \\\n  ".join(lines), f"murmura evaluate {AGAIN}{_cutoffs(config)}"]


def _from_file(folder: ComparisonFolder) -> list[str]:
    """A label that no flag can carry goes through a file."""
    config = folder.config
    kept: dict[str, Any] = {
        "data": folder.source,
        "protocol": folder.protocol,
        **{key: config[key] for key in ("models", "seeds", "seed", "cutoffs", "metrics") if key in config},
    }
    text = yaml.safe_dump(kept, sort_keys=False).rstrip()
    return [
        f"cat > {FILE} <<'END'",
        text,
        "END",
        f"murmura compare --config {FILE}{_orders(folder)} --out {AGAIN}",
    ]


def _data(folder: ComparisonFolder) -> str:
    source = folder.source
    parts = [f"--data {shlex.quote(str(source.get('name')))}"]
    if source.get("dir"):
        parts.append(f"--data-dir {shlex.quote(str(source['dir']))}")
    if source.get("skip_bad"):
        parts.append("--skip-bad")
    if source.get("header") is not None:
        parts.append("--header" if source["header"] else "--no-header")
    if isinstance(columns := source.get("columns"), dict) and columns:
        parts.append(f"--columns {shlex.quote(','.join(f'{part}={name}' for part, name in columns.items()))}")
    told = {key: source[key] for key in FLAGS if source.get(key) is not None}
    parts += [f"--{key.replace('_', '-')} {shlex.quote(str(value))}" for key, value in told.items()]
    parts += [f"--exclude {shlex.quote(','.join(map(str, hop)))}" for hop in source.get("exclude") or []]
    return " ".join([*parts, f"--protocol {shlex.quote(folder.protocol)}"])


def _scored(config: dict[str, Any]) -> str:
    metrics = config.get("metrics") or []
    return _cutoffs(config) + (f" --metrics {shlex.quote(','.join(map(str, metrics)))}" if metrics else "")


def _cutoffs(config: dict[str, Any]) -> str:
    found = config.get("cutoffs") or []
    return f" --at {','.join(map(str, found))}" if found else ""


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
