"""The page's types and checks of signed records are those of the records that Python declares."""

from __future__ import annotations

from website.wire_types import PLACE, wire_types


def test_the_types_are_those_of_the_records() -> None:
    assert PLACE.read_text(encoding="utf-8") == wire_types(), "run python -m website.wire_types"
