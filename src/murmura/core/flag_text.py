"""How the text of a flag becomes a value; light, as the command line reads it before it loads anything."""

from __future__ import annotations

from typing import Any

from murmura.core.errors import SettingError


def parse_value(text: str) -> Any:
    """A value as YAML reads it (numbers, true, null, text, [lists]), and 1e-3 as the number it is."""
    import yaml

    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    try:
        return float(text) if isinstance(value, str) else value
    except ValueError:
        return value  # quotes are taken off; '1e-3' in quotes stays text


def parse_settings(given: list[str], labels: list[str]) -> dict[str, dict[str, Any]]:
    """`-S label.key=value` for each of the labels; with one label, `-S key=value` will do."""
    found: dict[str, dict[str, Any]] = {label: {} for label in labels}
    for one in given:
        path, equals, text = one.partition("=")
        label, dot, key = path.rpartition(".")
        if not equals or not path:
            raise SettingError(
                f"-S must be KEY=VALUE, but it is '{one}'; write for example -S {labels[0]}.k=100."
            )
        if not dot and len(labels) == 1:
            label = labels[0]
        if label not in found:
            raise SettingError(
                f"-S {one} must name one of the models {', '.join(labels)}; "
                f"write for example -S {labels[0]}.{key}={text}."
            )
        found[label][key] = parse_value(text)
    return found


def parse_models(text: str) -> dict[str, dict[str, Any]]:
    """`a,b,label=c`: labels to models."""
    models: dict[str, dict[str, Any]] = {}
    for one in filter(None, (part.strip() for part in text.split(","))):
        label, equals, name = one.partition("=")
        if label in models:
            raise SettingError(
                f"--models names '{label}' twice; give one a label of its own: {label}-2={name or label}."
            )
        models[label] = {"name": name if equals else label}
    if not models:
        raise SettingError("--models must name at least one model, but it is empty; see `murmura config show`.")
    return models


def parse_metrics(text: str) -> tuple[str, ...]:
    """`HR,nDCG`: metrics by name; nothing given: none, which leaves the usual ones."""
    return tuple(filter(None, (one.strip() for one in text.split(","))))


def parse_cutoffs(text: str) -> tuple[int, ...] | None:
    """`1,10`; nothing given: the protocol's."""
    if not text:
        return None
    try:
        cutoffs = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        cutoffs = (0,)
    if min(cutoffs) < 1:
        raise SettingError(
            f"--at must be whole numbers from 1, but it is '{text}'; write for example --at 1,10."
        )
    return cutoffs
