"""Words of a page: what headings mean, and those that not everybody knows, explained where they occur."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

import yaml

GLOSSARY_FILE = "glossary"


@cache
def words(name: str) -> dict[str, Any]:
    """The texts of a section, from `words/<name>.yaml`."""
    file = resources.files("murmura.report").joinpath("words", f"{name}.yaml")
    found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def terms_of(headings: Iterable[str]) -> dict[str, str]:
    """The words of the glossary that occur."""
    text = "\n".join(headings)
    return {word: one["means"] for word, one in words(GLOSSARY_FILE).items() if re.search(one["where"], text)}
