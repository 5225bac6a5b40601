"""docs/wire.md has every field, purpose, address and refusal there is, and the lengths the code has."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.channel.noise_terms import NoiseTerms
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo
from murmura.kernels.proofs.field import MODULUS as P
from murmura.kernels.proofs.pair_words import RankedItems
from murmura.server.endpoints import AGGREGATOR, COORDINATOR
from murmura.wire import wire
from murmura.wire.log import LogHead
from murmura.wire.manifest import LARGEST_ENVELOPE, Manifest
from murmura.wire.refusals import STATUS
from murmura.wire.terms import (
    AggregatorAddress,
    CatalogueRule,
    FederationTerms,
    ReleaseWindows,
)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "wire.md").read_text(encoding="utf-8")
PINNED = (FederationTerms, AggregatorAddress, CatalogueRule, ReleaseWindows, NoiseTerms, ChannelSettings)


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("record", [*PINNED, Manifest], ids=lambda one: one.__name__)
def test_every_field_is_documented(record: type) -> None:
    text = section("Manifest") if record is Manifest else section("Terms")
    assert [one.name for one in fields(record) if f"`{one.name}`" not in text] == []


@pytest.mark.parametrize(
    ("table", "title"),
    [(COORDINATOR, "Endpoints of the coordinator"), (AGGREGATOR, "Endpoints of an aggregator")],
    ids=["coordinator", "aggregator"],
)
def test_every_address_is_documented_and_no_other(table: tuple[object, ...], title: str) -> None:
    there = {f"{one.method} {one.path}" for one in table}  # type: ignore[attr-defined]
    assert set(re.findall(r"`((?:GET|POST|DELETE|OPTIONS) [^`]*)`", section(title))) == there


def test_every_refusal_is_documented_with_its_status() -> None:
    listed = re.findall(r"^\| (\d+) \| `([\w-]+)` \|", section("Refusals"), re.MULTILINE)
    assert {code: int(status) for status, code in listed} == STATUS


def test_every_purpose_of_a_signature_is_documented() -> None:
    rooms = [ROOT / "src/murmura" / room for room in ("server", "device", "wire")]
    sources = [path.read_text(encoding="utf-8") for room in rooms for path in room.rglob("*.py")]
    used = {name for text in sources for name in re.findall(r"\bsign\(\s*\"(\w+)\"", text)}
    assert len(used) > 10
    text = section("Names and signatures")
    assert [name for name in sorted(used) if f"`{name}`" not in text] == []


def test_the_lengths_are_those_of_the_code() -> None:
    head = wire.ShareHead(wire.SEED, bytes(32), bytes(16)).encode()
    parts = section("Shares and letters")
    assert f"head ({len(head)})" in parts
    assert f"the first {wire.SHARE_PRELUDE} bytes" in parts
    assert f"sealed pass ({wire.SHARE_PRELUDE - len(head)})" in parts
    assert f"64 each): {len(LogHead(0, bytes(32)).encode())} |" in section("The public log")
    assert f"at most {LARGEST_ENVELOPE:,} bytes" in section("Manifest")


def rows_of(name: str) -> dict[str, str]:
    """The rows of a method in the table of phases, by phase; an empty first cell is that of the row before."""
    rows: dict[str, str] = {}
    methods = ""
    for line in section("Methods").splitlines():
        cells = line.split(" | ")
        if len(cells) == 5 and (found := re.match(r"`(\w+)`", cells[1])):
            methods = cells[0] if "`" in cells[0] else methods
            rows |= {found[1]: line} if f"`{name}`" in methods else {}
    return rows


SUMS = ["fed-ease", "fed-item-knn", "fed-order"]
METHODS = ["cfpl", "pfpl+", "fcf", "fcf-paper", "kgflex", "fedsplit", "item-means", *SUMS]


@pytest.mark.parametrize("name", METHODS)
def test_the_table_of_methods_has_their_phases_and_what_they_publish(name: str) -> None:
    counts = np.full(5, 8) if name in SUMS else None
    info = FederationInfo(5, np.arange(5, dtype=np.int32), 10, 40, feature_count=7, counts=counts)
    method, rows = algorithm(name)().algorithm(), rows_of(name)
    for phase in method.phases(info):
        row = rows[phase.name]
        assert row.endswith(" |")
        how = row.split(" | ")[4]
        assert (phase.combine in how, "once" in how) == (True, phase.repeat is not None)
        assert phase.asks in row
        assert all(f"`{one}`" in row for one in phase.sends.scalars)
        assert all(f"`{one.name}` ({one.space}, " in row for one in phase.sends.tables)
        if name in SUMS:
            assert phase.sends.tables
            assert ("follows `counts`" in how) == (phase.follows == "counts")
            for one in phase.sends.tables:
                assert f", {one.dtype}, {'exact: ' if one.bound is None else one.bound}" in row
    for table in method.publishes(info).tables:
        assert f"`{table.name}` ({table.space}, " in section("Methods")


def test_counters_stand_where_the_page_says() -> None:
    """Its words in plain Python, for eight items of which one takes no part."""
    counts, least = np.array([9, 3, 1, 40, 3, 9, 70000, 2]), 2
    ranked = sorted((int(c), item) for item, c in enumerate(counts.tolist()) if c >= least)
    sizes = [next(k for k in range(64, 0, -1) if (count + 1) ** k <= P) for count, _ in ranked]
    words: list[int] = []
    place: dict[tuple[int, int], tuple[int, int]] = {}
    for a in range(len(ranked)):
        k, first = sizes[a], sizes.index(sizes[a])
        base = 1 + max(count for (count, _), size in zip(ranked, sizes) if size == k)
        own = (a - first) // k
        for b in range(a + 1, len(ranked)):
            place[a, b] = len(words) + (b - first) // k - own, base ** ((b - first) % k)
        words += [0] * ((len(ranked) - 1 - first) // k - own + 1)
    layout = RankedItems.of(counts.astype(np.int64), least)
    assert layout.pairs.words == len(words)
    for (a, b), (word, value) in place.items():
        both = np.array([ranked[a][1], ranked[b][1]], np.int32)
        packed = layout.pairs.pack(layout.own_ranks(both).astype(np.int64))
        assert packed.tolist() == [(at == word) * value for at in range(len(words))]
