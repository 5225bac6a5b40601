"""The settings a model takes when nobody gives any: by protocol and data set, chosen on the validation part."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import yaml


def defaults(protocol: str, data: str, model: str) -> dict[str, Any]:
    """The settings kept in the package for a model under a protocol; {} where the class's own are meant."""
    by_data = _all().get(protocol) or {}
    return dict((by_data.get(data) or {}).get(model) or (by_data.get("*") or {}).get(model) or {})


@cache
def _all() -> dict[str, Any]:
    text = resources.files("murmura.studies").joinpath("defaults.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text) or {}
