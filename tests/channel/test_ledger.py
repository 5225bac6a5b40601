"""The ledger: the papers' printed costs, and a plain count of what really left."""

import numpy as np
import pytest

from murmura.algorithms.fpl.fpl import FPL
from murmura.channel.ledger import communication_cost, normalised_freshness, spread
from murmura.core.codec import encode, encode_model
from murmura.core.consent import Consent
from murmura.core.contract import Algorithm, ClientState, History, RoundContext
from murmura.core.rng import Rng
from murmura.core.schedule import Schedule
from murmura.core.settings import settings
from murmura.core.update import Update
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd

BRAZIL = {"items": 47270, "interactions": 599958, "users": 17473}


@pytest.mark.parametrize(
    ("pi", "short", "long"),
    [(0.0, 28360614618, 28380614992), (0.4, 28360854601, 28388855125), (1.0, 28361214576, 28401215324)],
)
def test_the_communication_cost_is_the_one_printed_for_brazil(pi: float, short: int, long: int) -> None:
    """Table 3 of FPL, long version: T = 1, and T = X+ / |U| = 34.34 unrounded."""
    x, items = BRAZIL["interactions"], BRAZIL["items"]
    assert round(communication_cost(x, 1, items, 1, pi)) == short
    assert round(communication_cost(x, 1, items, x / BRAZIL["users"], pi)) == long


def test_the_total_cost_is_the_one_printed() -> None:
    """Thesis, table 4.4, pi = 1: 45 epochs of sFPL, 50 of sFPL+, 35 of pFPL+, in units of 10^12."""
    x, items = BRAZIL["interactions"], BRAZIL["items"]
    for epochs, triples, printed in ((45, 1.0, 1.27625), (50, x / 17473, 1.42006), (35, x / 17473, 0.99404)):
        assert round(epochs * communication_cost(x, 1, items, triples, 1.0) / 1e12, 5) == printed


def test_the_normalised_freshness_is_the_one_printed() -> None:
    """Table 3: rpe = 34 of 599,958 is 0.0057 %."""
    assert round(100 * normalised_freshness(34, BRAZIL["interactions"]), 4) == 0.0057
    assert normalised_freshness(599958, BRAZIL["interactions"]) == 1.0


@settings
class Overheard(FPL):
    """FPL with someone who writes down every message."""

    def client_step(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        after, update = super().client_step(context, state, history, rng)
        phase = next(p for p in self.phases(context.info) if p.name == context.phase)
        MESSAGES.append((context, encode(update, phase.sends), update, tuple(rng.secret.tolist())))
        return after, update


MESSAGES: list[tuple[RoundContext, bytes, Update, tuple[int, ...]]] = []


@pytest.mark.parametrize("mode", ["sticky", "per-item-per-round", "per-triple"])
def test_the_ledger_counts_what_someone_listening_counts(mode: str) -> None:
    MESSAGES.clear()
    data = crowd()
    algorithm: Algorithm = Overheard(triples="own", prior=True)
    consent = Consent(pi=0.4, disclosure=mode)  # type: ignore[arg-type]
    fitted = fit(
        Plan(algorithm, data, Schedule(clients=4, rounds_per_epoch=3, epochs=2), consent=consent, seed=2),
        runtime=InProcess(path="plain"),
    )
    info, totals = fitted.plan.info, fitted.ledger.totals
    assert totals["visits"] == len(MESSAGES) == 12 + 6 * 4
    assert totals["bytes_up"] == sum(len(message) for _, message, _, _ in MESSAGES)
    models = [
        encode_model(context.model, algorithm.publishes(info), info.listed) for context, _, _, _ in MESSAGES
    ]
    assert totals["bytes_down"] == sum(map(len, models))
    sent = [(who, i) for _, _, u, who in MESSAGES for t in u.tables.values() for i in t.index.tolist()]
    assert totals["rows_up"] == len(sent)
    assert fitted.ledger.item_rows.tolist() == [sum(i == k for _, i in sent) for k in range(info.items)]
    secrets = [tuple(s) for s in fitted.plan.people.secrets.tolist()]
    for u, secret in enumerate(secrets):
        own = set(data.by_user.of(u).tolist())
        ever = {i for who, i in sent if who == secret} & own
        if own:
            assert fitted.ledger.disclosed[u] == len(ever) / len(own)
    for name in ("visits", "rows_up", "bytes_up", "rows_down", "bytes_down"):
        assert sum(getattr(line, name) for line in fitted.ledger.lines) == totals[name]
    assert fitted.ledger.lines[-1].disclosed_mean == np.nanmean(fitted.ledger.disclosed)


def test_the_spread_is_over_people_who_have_something() -> None:
    found = spread(np.array([np.nan, 0.0, 0.5, 1.0]))
    assert found == {"mean": 0.5, "least": 0.0, "q10": 0.0, "median": 0.5, "q90": 1.0, "most": 1.0}
    assert spread(np.array([np.nan]))["mean"] == 0.0
