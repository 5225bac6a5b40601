"""Rows of few items, by keys and dense, from devices to two aggregators; and what is refused of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.channel import circuits
from murmura.channel.proven_shares import ProvenUpload, decide
from murmura.device import device as device_module
from murmura.device import upload as upload_module
from murmura.device.device import VisitOutcome
from murmura.kernels.proofs.declared_rows import BinnedRows, KeyRows
from murmura.kernels.proofs.field import Elements
from murmura.server.aggregator import collection as collection_module
from tests.http.network import World, people
from tests.http.released_sums import CHANNEL, same_model

PHASES = ("counts", "sketch", "sketch-2", "pairs")
SETTINGS: dict[str, object] = {"least": 2, "rank": 4, "words": 2, "cap": 10}


def world(folder: Path) -> World:
    return World(folder, people(), "fed-neighbours", SETTINGS, CHANNEL)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if keys were the shorter encoding of 30 items too."""
    monkeypatch.setattr(circuits, "is_sparse_shorter", lambda *_: True)


async def release(place: World, silent: str = "") -> list[list[VisitOutcome]]:
    """All exchanges; `silent`: the first device stays away from this one on, as it does once it was refused."""
    devices, found = await place.everyone(), list[list[VisitOutcome]]()
    for phase in PHASES:
        if phase == silent:
            del devices[0]
        await place.turn()
        found.append([await device.visit() for device in devices])
        if found[-1][0].kind == "refused":
            del devices[0]
        place.clock.now += 0 if len(devices) == len(found[0]) == 12 else 61
        await place.turn()
    place.clock.now += 61
    await place.turn()
    return found


def model(place: World) -> dict[str, Any]:
    return dict(place.coordinator.rounds.now.server.model)


@pytest.mark.parametrize("encoding", ["keys", "dense"])
def test_a_release_is_that_of_the_simulation(
    tmp_path: Path, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuits, "is_sparse_shorter", lambda *_: encoding == "keys")
    place = world(tmp_path)
    outcomes = asyncio.run(release(place))
    assert {one.kind for exchange in outcomes for one in exchange} == {"sent"}
    for exchange in outcomes:  # histories of 6 to 8 items: everybody sends as much
        assert len({one.bytes for one in exchange}) == 1
    same_model(place)
    assert model(place)["neighbours"].any()


@dataclass(frozen=True, eq=False)
class LyingUpload(ProvenUpload):
    """An upload that its device does not check."""

    def _check(self, proof: Elements, r: Elements) -> None:
        pass


@dataclass(frozen=True, eq=False)
class RawKey(LyingUpload):
    """As long as a key, but its seeds are dice."""

    def half(self) -> bytes:
        bins = self.circuit.bins if isinstance(self.circuit, KeyRows) else None
        assert bins is not None
        start, length = 32 + 16 + -(-2 * bins.count * bins.depth // 8), 16 * bins.count * bins.depth
        half = super().half()
        return half[:start] + np.random.default_rng(1).bytes(length) + half[start + length :]


@dataclass(frozen=True, eq=False)
class NoNumbers(LyingUpload):
    """Numbers of a key that are none of the field."""

    def half(self) -> bytes:
        half = super().half()
        end = 32 + len(half) - 32 - 8 * self.circuit.extras  # type: ignore[attr-defined]
        return half[: end - 8] + b"\xff" * 8 + half[end:]


def _too_heavy(own: BinnedRows) -> BinnedRows:
    """Rows that count a thousand times."""
    return replace(own, numbers=own.numbers * np.uint64(1000))


def _other_items(own: BinnedRows) -> BinnedRows:
    """The row of one item stands for another one in the same bin."""
    at = own.at.copy()
    bin = int(np.flatnonzero(own.index >= 0)[0])
    at[bin] = (at[bin] + 1) % own.bins.width
    return replace(own, at=at)


def _same(own: BinnedRows) -> BinnedRows:
    return own


LIES: list[tuple[str, type[ProvenUpload], Callable[[BinnedRows], BinnedRows]]] = [
    ("counts", RawKey, _same),
    ("counts", NoNumbers, _same),
    ("counts", LyingUpload, _too_heavy),
    ("sketch", RawKey, _same),
    ("sketch", LyingUpload, _too_heavy),
    ("pairs", NoNumbers, _same),
    ("pairs", LyingUpload, _other_items),
]


def lying(
    monkeypatch: pytest.MonkeyPatch,
    phase: str,
    kind: type[ProvenUpload],
    lie: Callable[[BinnedRows], BinnedRows],
) -> None:
    """The first device that is asked in this exchange lies."""
    asked: list[int] = []
    number = PHASES.index(phase) * 12

    def made(circuit: Any, vector: Any, secret: bytes) -> ProvenUpload:
        asked.append(1)
        if len(asked) != number + 1:
            return ProvenUpload(circuit, vector, secret)
        return kind(circuit, lie(vector), secret)

    monkeypatch.setattr(upload_module, "ProvenUpload", made)
    monkeypatch.setattr(device_module, "link_of", lambda before, *_: before)


@pytest.mark.parametrize(("phase", "kind", "lie"), LIES)
def test_a_false_key_is_refused_and_the_model_is_that_of_everybody_else(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    phase: str,
    kind: type[ProvenUpload],
    lie: Callable[[BinnedRows], BinnedRows],
) -> None:
    place, without = world(tmp_path / "with"), world(tmp_path / "without")
    with monkeypatch.context() as wicked:
        lying(wicked, phase, kind, lie)
        outcomes = asyncio.run(release(place))[PHASES.index(phase)]
    assert [one.kind for one in outcomes] == ["refused", *["sent"] * 11]
    assert "must" in outcomes[0].why
    asyncio.run(release(without, silent=phase))
    first, second = model(place), model(without)
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], strict=True)


def test_one_raw_key_destroys_the_sum_of_aggregators_that_do_not_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, honest = world(tmp_path / "with"), world(tmp_path / "without")
    with monkeypatch.context() as wicked:
        lying(wicked, "sketch", RawKey, _same)
        wicked.setattr(collection_module, "decide", lambda *given: replace(decide(*given), valid=True))
        outcomes = asyncio.run(release(place))
    assert {one.kind for one in outcomes[1]} == {"sent"}
    asyncio.run(release(honest))
    assert (model(place)["directions"] != model(honest)["directions"]).mean() > 0.5
