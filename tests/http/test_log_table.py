"""What a server keeps of a long log: packed manifests that come back whole, and a size that fits for a year."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from murmura.server.aggregator.commitments import LogWitness
from murmura.server.coordinator.public_log import PublicLog
from murmura.server.database import ServerDatabase
from murmura.server.log_table import PACKED
from murmura.wire.log import leaf_hash, manifest_entry, model_entry, unpack_entries
from murmura.wire.manifest import Manifest
from tests.http.wire_world import entries, terms

A_YEAR, LARGEST = 365 * 24 * 60, 500_000_000  # rounds, bytes


def lived(n: int) -> list[bytes]:
    """The log of so many rounds: everything that differs between two manifests is drawn."""
    rng, first = np.random.default_rng(3), entries()
    plain = json.loads(next(one for one in first if one.startswith(b"manifest"))[9:])
    made = [first[0]]
    for serial in range(n):
        drawn = {name: rng.bytes(32).hex() for name in ("previous", "hash", "base")}
        at = 1_700_000_000.0 + 60 * serial + float(rng.integers(0, 1000)) / 1000
        download = {**plain["model"], "hash": drawn["hash"]}
        changes = [{"base": drawn["base"], "bytes": int(rng.integers(1 << 18)), "hash": rng.bytes(32).hex()}]
        content = {
            **plain,
            **{"serial": serial, "round": serial, "nonce": rng.bytes(16).hex(), "previous": drawn["previous"]},
            **{"model": download, "changes": changes, "opened": at, "deadline": at + 60},
        }
        encoded = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
        made += [manifest_entry(encoded), model_entry(serial, rng.bytes(32))]
    return made


@pytest.fixture
def log(tmp_path: Path) -> PublicLog:
    return PublicLog(ServerDatabase(tmp_path / "coordinator.db", "coordinator"))


def test_packed_entries_come_back_whole(log: PublicLog) -> None:
    past = lived(60)
    for entry in past:
        log.append([entry])
    stored = [bytes(one) for (one,) in log._store.rows("SELECT entry FROM log ORDER BY place")]
    assert sum(one.startswith(PACKED) for one in stored) == 59  # all manifests but the first
    for again in (log, PublicLog(log._store)):  # also after a start
        assert (len(again), again.tree.root()) == (len(past), log.tree.root())
        shown: list[bytes] = []
        while len(shown) < len(past):
            shown += unpack_entries(again.page(len(shown)))
        assert shown == past
        assert again.tree.leaves == [leaf_hash(entry) for entry in past]


def test_the_newest_manifest_is_read_also_where_it_is_packed(log: PublicLog) -> None:
    first = entries()
    log.append(first)  # several at once
    last = [one for one in first if one.startswith(b"manifest")][-1][9:]
    assert log.newest(b"manifest") == last
    assert log.end().manifest == Manifest.decode(last).hash


def test_an_aggregator_packs_too_and_refuses_no_known_entry(tmp_path: Path) -> None:
    store = ServerDatabase(tmp_path / "aggregator.db", "aggregator")
    witness, past = LogWitness(store), entries()
    for place, entry in enumerate(past):
        witness.append(terms(), place, [entry])
    witness.append(terms(), 0, past)  # the same again
    assert unpack_entries(LogWitness(store).shown("0")) == past
    assert LogWitness(store).known() == {"size": len(past), "whole": len(past)}


@pytest.mark.slow
def test_a_year_at_a_round_a_minute_fits(log: PublicLog) -> None:
    rounds, past = 2_000, lived(2_000)
    pages = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    log.append(past[:3])
    before = log._store.value(pages)
    for at in range(3, len(past), 20):
        log.append(past[at : at + 20])
    assert (log._store.value(pages) - before) / rounds * A_YEAR < LARGEST
