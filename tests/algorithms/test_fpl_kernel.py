"""The compiled path of FPL on arbitrary small federations: the plain loop's draws, rows, tally and values."""

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from murmura.algorithms.fpl.fpl import FPL, draw_triples
from murmura.core.consent import Consent
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.rng import Purpose, Rng, client_secrets
from murmura.core.schedule import Schedule
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.kernels import cohort_kernel
from murmura.kernels.client_blocks import FlatPopulation, mark_own
from murmura.kernels.fpl.triples import Draws, holds
from murmura.kernels.fpl.triples import draw_triples as compiled_triples
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd
from murmura.testing.checks import assert_close, assert_same_ledger
from tests.hypothesis_profiles import examples


@st.composite
def federations(draw: st.DrawFn) -> Interactions:
    people, items = draw(st.integers(1, 7)), draw(st.integers(1, 9))
    pairs = st.sets(st.tuples(st.integers(0, people - 1), st.integers(0, items - 1)), min_size=1, max_size=40)
    user, item = np.array(sorted(draw(pairs))).T
    users, things, time = Vocabulary(np.arange(people)), Vocabulary(np.arange(items)), 7 * item % 5
    return Interactions(users, things, user, item, np.ones(len(user)), time)


methods = st.fixed_dictionaries(
    {
        "factors": st.integers(1, 5),
        "triples": st.sampled_from([1, 2, 5, "mean", "own", {1: 0.5, 3: 0.5}]),
        "sampling": st.sampled_from(["clients", "interactions"]),
        "rate_decay": st.sampled_from([0.0, 0.3]),
        "version": st.sampled_from(["B", "equations"]),
        "optimiser": st.sampled_from(["sum", "sum", "per-contributor", "adam", "adagrad"]),
        "warm": st.integers(0, 2),
        "refresh": st.integers(0, 2),
        "prior": st.booleans(),
        "alpha": st.sampled_from([0.05, 0.5]),
    }
)
consents = st.builds(
    Consent,
    pi=st.sampled_from([0.0, 0.3, 0.8, 1.0]),
    disclosure=st.sampled_from(["sticky", "block", "per-item-per-round", "per-triple"]),
)


@examples(0.6, suppress_health_check=[HealthCheck.too_slow])
@given(federations(), methods, consents, st.data())
def test_both_paths_agree(data: Interactions, chosen: Any, consent: Consent, more: st.DataObject) -> None:
    clients = more.draw(st.sampled_from([1, data.n_users, (data.n_users + 1) // 2]))
    assume(chosen["triples"] != "own" or chosen["sampling"] == "clients")
    method = FPL(precision="float64", **chosen)
    schedule = Schedule(clients=clients, rounds_per_epoch=4, epochs=2)
    plain, compiled = (
        fit(Plan(method, data, schedule, consent=consent, seed=7), runtime=InProcess(path=path))
        for path in ("plain", "kernel")
    )
    assert_same_ledger(plain.ledger, compiled.ledger)
    # an optimiser that divides by the size of a gradient turns a rounding error of 0 into up to one step
    steps = 1e4 if method.optimiser in ("adam", "adagrad") else 1.0
    error = 64 * steps * 2.0**-52 * plain.ledger.totals["visits"] * max(1.0, 3 * len(data))
    for name in ("Q", "b"):
        assert_close(plain.model[name], compiled.model[name], error, name)
    assert_close(plain.ready["p"], compiled.ready["p"], error, "p")


def test_own_items_are_found_by_bits_and_by_search_alike() -> None:
    data = crowd(20, 70)
    rows = data.by_user
    bits = np.zeros((20, 2), np.uint64)
    mark_own(rows.start, rows.index, bits)
    none = np.zeros((0, 0), np.uint64)
    for u in range(20):
        own = set(rows.of(u).tolist())
        for j in range(70):
            assert holds(bits, rows.start, rows.index, u, j) == (j in own)
            assert holds(none, rows.start, rows.index, u, j) == (j in own)


def test_a_federation_too_large_for_bits_trains_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for room in (2**28, 0):
        monkeypatch.setattr(cohort_kernel, "BITS", room)
        fitted = fit(
            Plan(FPL(triples=5), crowd(50, 70), Schedule(clients="all", rounds=4)), runtime=InProcess()
        )
        found.append(fitted.model["Q"].tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("n", [1, 3, 300, 2000])
def test_triples_are_drawn_word_by_word_like_the_plain_ones(n: int) -> None:
    data = crowd(8, 20)
    listed, secrets = np.arange(0, 20, 2, dtype=np.int32), client_secrets(2, 8)  # half of the items on offer
    row, negative = np.empty(n, np.int64), np.empty(n, np.int32)
    rows, none = data.by_user, np.zeros((0, 0), np.uint64)
    people = FlatPopulation(
        rows.start, rows.index, np.ones(len(data)), False, True, False, secrets, listed, none
    )
    draws = Draws(row, negative, np.ones(n, np.uint8), np.empty(512, np.uint32))
    for u in (2, 3, 7):
        compiled_triples(people, u, n, np.uint64(6), np.uint64(Purpose.TRIPLES), draws)
        plain = draw_triples(listed, rows.of(u), n, Rng(secrets[u], 6).stream(Purpose.TRIPLES))
        assert (row - rows.start[u]).tolist() == plain[:, 0].tolist()
        assert negative.tolist() == plain[:, 1].tolist()


def test_triples_are_uniform_over_own_items_and_over_the_others() -> None:
    own, listed, n = np.array([2, 5, 6], np.int32), np.arange(10, dtype=np.int32), 21_000
    drawn = draw_triples(listed, own, n, Rng(client_secrets(0, 1)[0]).stream(Purpose.TRIPLES))
    positives = np.bincount(drawn[:, 0], minlength=3)
    negatives = np.bincount(drawn[:, 1], minlength=10)
    assert not negatives[own].any()
    assert np.abs(positives - n / 3).max() < 4 * np.sqrt(n * (1 / 3) * (2 / 3))
    others = np.setdiff1d(listed, own)
    assert np.abs(negatives[others] - n / 7).max() < 4 * np.sqrt(n * (1 / 7) * (6 / 7))


def test_the_tables_of_own_items_have_one_budget_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    taken = sum(table.nbytes for table in cohort_kernel._TABLES.values())
    monkeypatch.setattr(cohort_kernel, "BITS", taken + 3 * 8 * 10)
    first = cohort_kernel._own_table(10, 2)
    assert first.shape == (10, 2)
    assert cohort_kernel._own_table(10, 2).size == 0  # a second one has no room
    del first
    assert cohort_kernel._own_table(10, 2).shape == (10, 2)
