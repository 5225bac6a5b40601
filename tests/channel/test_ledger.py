"""The ledger: the papers' printed costs, and a plain count of what really left."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from murmura.algorithms.fpl.fpl import FPL
from murmura.channel.ledger import communication_cost, normalised_freshness, spread
from murmura.core.codec import encode, encode_model
from murmura.core.consent import Consent
from murmura.core.contract import Algorithm, ClientState, FederationInfo, History, RoundContext
from murmura.core.rng import Rng
from murmura.core.schedule import Schedule
from murmura.core.settings import settings
from murmura.core.update import Update
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.lab.papers.experiments import Counts, costs
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd

BRAZIL = {"items": 47270, "interactions": 599958, "users": 17473}


def printed(experiment: str, measure: str) -> list[tuple[str, float, float]]:
    """Configuration, pi and value of every cell the experiment's file has for Brazil."""
    file = Path(__file__).parents[2] / "experiments" / f"{experiment}.yaml"
    cells = yaml.safe_load(file.read_text(encoding="utf-8"))["printed"]["foursquare-brazil"]
    return [(*_configuration(label), float(cell[measure])) for label, cell in cells.items()]


def _configuration(label: str) -> tuple[str, float]:
    name, _, pi = label.partition(" pi=")
    return name, float(pi)


def vectors(name: str, pi: float, rounds: float, triples: float) -> float:
    """CCE of a configuration on Brazil; `rounds` of an epoch with all clients, `triples` of a visit with +."""
    sequential = name.startswith("s")
    rpe, clients = (BRAZIL["interactions"], 1) if sequential else (rounds, BRAZIL["users"])
    return communication_cost(rpe, clients, BRAZIL["items"], triples if name.endswith("+") else 1, pi)


MEAN = BRAZIL["interactions"] / BRAZIL["users"]  # 34.34


def test_the_printed_costs_per_epoch_have_everything_unrounded() -> None:
    """Table 3 of FPL, long version: every cell, with 34.34 triples a visit and 34.34 rounds an epoch."""
    cells = printed("fpl-table3", "CCE")
    assert len(cells) == 24
    assert [round(vectors(name, pi, MEAN, MEAN)) for name, pi, _ in cells] == [value for _, _, value in cells]


def test_the_printed_total_costs_have_everything_unrounded() -> None:
    """Thesis, table 4.4, in units of 10^12: 45 epochs of sFPL and pFPL, 50 of sFPL+, 35 of pFPL+."""
    cells, epochs = printed("thesis-4.4", "TCC"), {"sFPL": 45, "pFPL": 45, "sFPL+": 50, "pFPL+": 35}
    assert len(cells) == 40
    for name, pi, value in cells:
        found = epochs[name] * vectors(name, pi, MEAN, MEAN) / 1e12
        assert round(found, 5) == pytest.approx(value / 1e12, abs=1e-9)


@pytest.mark.parametrize("model", ["sfpl", "sfpl+", "pfpl", "pfpl+"])
def test_the_costs_of_a_run_count_whole_rounds(model: str) -> None:
    """34 rounds an epoch where all take part: 0.98 % below the print; one client a round: the print."""
    cells = [(pi, value) for name, pi, value in printed("fpl-table3", "CCE") if name.lower() == model]
    counts = Counts(users=BRAZIL["users"], items=BRAZIL["items"], rows=BRAZIL["interactions"])
    for pi, value in cells:
        found = costs(counts, model, {"pi": pi, "disclosure": "per-triple"})
        assert found["freshness"] == (BRAZIL["interactions"] if model.startswith("s") else 34)
        below = 0 if model.startswith("s") else 1 - 34 / MEAN
        assert found["CCE"] / value == pytest.approx(1 - below, abs=1e-10)
    info = FederationInfo(
        BRAZIL["items"], np.arange(1, dtype=np.int32), BRAZIL["users"], BRAZIL["interactions"]
    )
    assert FPL(triples="mean").visit_triples(info, rows=7, rng=Rng(np.array([1, 2], np.uint32))) == 34


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


@pytest.mark.parametrize("mode", ["sticky", "block", "per-item-per-round", "per-triple"])
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
        encode_model(context.model, algorithm.publishes(info), info.listed)
        for context, _, _, _ in MESSAGES
        if context.model  # what is sent before training needs nothing of it
    ]
    assert len(models) == 6 * 4
    assert totals["bytes_down"] == sum(map(len, models))
    assert fitted.ledger.final_bytes == 12 * len(models[0])
    down = totals["bytes_down"] + fitted.ledger.final_bytes
    assert fitted.cost()["kB down/client"] == down / 1000 / 12
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
