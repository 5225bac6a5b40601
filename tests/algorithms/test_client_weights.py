"""Compiled sums of weighted clients: those of the plain loop with every update times its client's weight."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from murmura.algorithms.fcf.fcf import FCF, FCFPaper
from murmura.algorithms.fpl.fpl import FPL
from murmura.algorithms.kgflex.hybrid import KGFlexHybrid
from murmura.algorithms.kgflex.kgflex import KGFlex
from murmura.core.arrays import Floats
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.contract import Algorithm, RoundContext, Total
from murmura.core.kernel import CohortRound, Kernel
from murmura.core.schedule import Schedule
from murmura.core.update import SparseRows, Update, add_up
from murmura.engine.federation import Federation
from murmura.engine.plan import Plan
from murmura.engine.visit import visit
from murmura.testing import crowd
from murmura.testing.checks import assert_close, assert_same_bits

ROUND, PEOPLE, COHORT = 3, 180, 150  # enough clients for two blocks of a sum
COUNTED: Any = {"optimiser": "per-contributor"}
METHODS: dict[str, Callable[..., Algorithm]] = {
    "one triple": partial(FPL, factors=6),
    "one triple, counted": partial(FPL, factors=6, **COUNTED),
    "own triples": partial(FPL, factors=5, triples="own", warm=1),
    "own triples, counted": partial(FPL, factors=5, triples="own", **COUNTED),
    "equations": partial(FPL, factors=9, triples=7, version="equations"),
    "fcf": partial(FCF, factors=6),
    "fcf-paper": partial(FCFPaper, factors=6),
    "kgflex": partial(KGFlex, factors=3),
    "kgflex, counted": partial(KGFlex, factors=3, visit="root", clip_update=0.5, **COUNTED),
    "hybrid": partial(KGFlexHybrid, factors=3, item_factors=4),
}
LIGHT = ("own triples, counted", "fcf", "fcf-paper")  # the others take `make test-all`
EACH = [pytest.param(name, id=name, marks=() if name in LIGHT else pytest.mark.slow) for name in METHODS]
CHANNELS = (
    ChannelSettings(channel="secure-sum"),
    ChannelSettings(channel="secure-sum", clip=0.4, coordinate=0.2, block="half"),
)


def weights() -> Floats:
    """A third of the clients count nothing, the others up to three times."""
    rng = np.random.default_rng(4)
    return rng.uniform(0, 3, COHORT) * (rng.random(COHORT) > 1 / 3)


class Round:
    """One round of some clients, by either path."""

    def __init__(self, name: str, precision: str = "float64", channel: ChannelSettings | None = None) -> None:
        plan = Plan(
            METHODS[name](precision=precision), crowd(PEOPLE, 40), Schedule(clients=COHORT, rounds=5),
            consent=Consent(pi=0.5), seed=5, channel=channel or ChannelSettings(),
        )  # fmt: skip
        kernel = plan.algorithm.kernel()
        assert kernel is not None
        self.plan, self.kernel, self.phase = plan, kernel, plan.itinerary.training[0]
        self.chain = plan.chains.get(self.phase.name)
        self.clients = np.sort(np.random.default_rng(1).choice(PEOPLE, COHORT, replace=False)).astype(np.int32)

    def compiled(self, weights: Floats | None, workers: int = 1) -> dict[str, Any]:
        """The sum, what the clients keep, and what the tally says."""
        f = Federation.begin(self.plan, self.kernel)
        cohort = CohortRound(
            self.plan.info, self.phase, ROUND, f.published, self.plan.people, self.clients, workers, self.chain,
            weights,
        )  # fmt: skip
        total, rows = self.plan.algorithm.kernel().cohort_sum(cohort, f.states, f.tally)  # type: ignore[union-attr]
        return {"total": total, "rows": dict(rows), "states": f.states, "tally": f.tally}

    def plain(self, weights: Floats) -> Total:
        """Visit by visit: the update, its weight, the channel, the sum."""
        plan, f, chain = self.plan, Federation.begin(self.plan), self.chain
        context = RoundContext(plan.info, self.phase.name, ROUND, f.published)
        updates, vectors = [], []
        for client, weight in zip(self.clients.tolist(), weights.tolist()):
            rng, history = plan.people.rng(client, ROUND), plan.people.history(client, ROUND)
            sent = visit(plan.algorithm, self.phase, context, f.client(client), history, rng, None).update
            updates.append(times(weight, sent))
            if chain is not None:
                vectors.append(chain.device(updates[-1], rng, ROUND).astype(np.int64))
        if chain is not None:
            return chain.sum_up(np.sum(vectors, axis=0), ROUND)
        return Total(add_up(updates), len(updates))

    @property
    def error(self) -> float:
        """The kit's: 64 rounding errors for each training example."""
        examples = COHORT * self.plan.algorithm.visit_examples(self.plan.info)
        return 64 * float(np.finfo(np.float64).eps) * examples


def times(weight: float, update: Update) -> Update:
    tables = {name: SparseRows(t.index, weight * t.values) for name, t in update.tables.items()}
    return Update(tables, {name: weight * x for name, x in update.scalars.items()})


@pytest.mark.slow
@pytest.mark.parametrize("name", EACH)
def test_a_weighted_sum_is_that_of_the_plain_loop(name: str) -> None:
    """Weights also multiply the count of contributors; a row that only clients of weight 0 send is there."""
    it = Round(name)
    plain, compiled = it.plain(weights()), it.compiled(weights())["total"]
    assert compiled.count == plain.count == COHORT
    for table, rows in plain.update.tables.items():
        assert compiled.update.tables[table].index.tolist() == rows.index.tolist()
        assert_close(rows.values, compiled.update.tables[table].values, it.error, table)


@pytest.mark.slow
@pytest.mark.parametrize("channel", CHANNELS, ids=("dense", "half"))
@pytest.mark.parametrize("name", [one for one in EACH if one.id != "hybrid"])
def test_weights_come_before_the_channel(name: str, channel: ChannelSettings) -> None:
    it = Round(name, channel=channel)
    assert it.kernel.covers(it.phase, channel=True)
    assert_same_bits(it.plain(weights()), it.compiled(weights())["total"], name)


@pytest.mark.slow
@pytest.mark.parametrize("channel", [None, CHANNELS[1]], ids=("sum", "channel"))
@pytest.mark.parametrize("name", EACH)
def test_weights_of_one_give_the_bits_of_no_weights(name: str, channel: ChannelSettings | None) -> None:
    if name == "hybrid" and channel is not None:
        pytest.skip("a channel clips both tables of the hybrid as one, which its kernel cannot")
    for precision in ("float32", "float64"):
        it = Round(name, precision, channel)
        assert_same_bits(it.compiled(None), it.compiled(np.ones(COHORT)), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", EACH)
def test_weights_change_the_sum_alone_for_any_number_of_workers(name: str) -> None:
    """What clients keep and what the tally counts as sent does not depend on what the server makes of it."""
    it = Round(name)
    alike, weighted = it.compiled(None), it.compiled(weights())
    assert_same_bits(weighted, it.compiled(weights(), workers=3), name)
    for part in ("rows", "states", "tally"):
        assert_same_bits(alike[part], weighted[part], part)
    (table, rows), *_ = alike["total"].update.tables.items()
    assert not np.allclose(rows.values, weighted["total"].update.tables[table].values)


@pytest.mark.slow
def test_as_many_weights_as_clients_are_needed() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        Round("fcf").compiled(np.ones(COHORT - 1))


@pytest.mark.slow
def test_a_kernel_weighs_only_if_it_says_so() -> None:
    class Stranger(Kernel):
        """Knows nothing of weights."""

    assert not Stranger.weighs
    assert all(Round(name).kernel.weighs for name in METHODS)
