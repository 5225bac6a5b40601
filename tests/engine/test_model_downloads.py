"""What a simulated client downloads is what it lacks; a training that was killed counts on where it was."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence
from murmura.algorithms.fpl.fpl import FPL
from murmura.core.channel import ChannelSettings
from murmura.core.codec import changed_rows, encode_model
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.schedule import Schedule
from murmura.engine.federated_model import FederatedModel
from murmura.engine.federation import Federation, ModelDownloads
from murmura.engine.fit import fit
from murmura.engine.itinerary import Position
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd
from murmura.testing.checks import assert_same_ledger

CORE = ChannelSettings(channel="secure-sum", block="core", core=4, minimum_cohort=1, download="float16")


def plan(channel: ChannelSettings = CORE) -> Plan:
    return Plan(
        FPL(prior=True, triples="own"),
        crowd(),
        Schedule(clients=3, rounds=9, epochs=1),
        seed=4,
        channel=channel,
    )


class Watched(InProcess):
    """Writes down who took part in which exchange, and the model there was."""

    def exchange(self, f: Federation, at: Position, called: Any) -> None:
        everyone = range(f.plan.info.clients)
        VISITS.append(
            (f.plan.itinerary.phase(at).name, list(everyone if called is None else called), f.server.model)
        )
        super().exchange(f, at, called)


VISITS: list[tuple[str, list[int], Any]] = []


@pytest.mark.parametrize("path", ["plain", "kernel"])
def test_every_client_downloads_what_changed_since_its_last_visit(path: Any) -> None:
    VISITS.clear()
    fitted = fit(plan(), runtime=Watched(path=path))
    info = fitted.plan.info
    downloads = CORE.downloads(fitted.plan.algorithm.publishes(info))
    models = [*(model for _, _, model in VISITS), fitted.model]
    held: dict[int, int] = {}
    down = 0

    def fetch(client: int, now: int) -> int:
        whole = len(encode_model(models[now], downloads, info.listed))
        if client not in held:
            return whole
        ever: dict[str, set[int]] = {"Q": set(), "b": set()}  # rows that changed, perhaps back again
        for old, new in zip(models[held[client] : now], models[held[client] + 1 : now + 1]):
            for name, rows in changed_rows(old, new, downloads, info.listed).items():
                ever[name] |= set(np.flatnonzero(rows).tolist())
        # a row of Q has 20 numbers of two bytes, one of b one, each with the row's four
        changes = 8 + 32 + (4 + len(ever["Q"]) * 44) + (4 + len(ever["b"]) * 6)
        return min(whole, changes) if ever["Q"] | ever["b"] else 0

    for place, (phase, clients, _) in enumerate(VISITS):
        for client in clients if phase == "train" else []:
            down += fetch(client, place)
            held[client] = place
    assert fitted.ledger.totals["bytes_down"] == down
    visits = sum(len(clients) for phase, clients, _ in VISITS if phase == "train")
    assert down < visits * downloads.model_bytes(len(info.listed))
    assert fitted.ledger.final_bytes == sum(fetch(client, 10) for client in range(info.clients))


def test_counts_before_training_need_nothing_of_the_model() -> None:
    first, second = fit(plan(), runtime=InProcess()).ledger.lines[:2]
    assert first.visits > 3
    assert (first.rows_down, first.bytes_down) == (0, 0)
    assert second.rows_down == 3 * len(plan().info.listed)


class KilledError(Exception):
    pass


class Dying(InProcess):
    """Killed before the round of that number."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def run(self, federation: Federation, rounds: range) -> None:
        if federation.rounds == self.at:
            raise KilledError
        super().run(federation, rounds)


def test_a_killed_training_counts_on(tmp_path: Path) -> None:
    def trained(runtime: InProcess, folder: Path | None = None) -> FederatedModel:
        return fit(plan(), runtime=runtime, folder=folder, checkpoint_every=None if folder is None else 2)

    with pytest.raises(KilledError):
        trained(Dying(6), tmp_path)
    resumed, whole = trained(InProcess(), tmp_path), trained(InProcess())
    assert_same_ledger(resumed.ledger, whole.ledger)
    assert resumed.ledger.final_bytes == whole.ledger.final_bytes > 0


def test_without_a_channel_every_visit_brings_the_whole_model() -> None:
    fitted = fit(plan(ChannelSettings()), runtime=InProcess())
    info = fitted.plan.info
    whole = fitted.plan.algorithm.publishes(info).model_bytes(len(info.listed))
    assert fitted.ledger.totals["bytes_down"] == 9 * 3 * whole
    assert fitted.ledger.final_bytes == info.clients * whole
    assert np.isclose(fitted.cost()["kB down/client"], (27 + info.clients) * whole / 1000 / info.clients)


def test_a_model_of_another_declaration_is_fetched_whole() -> None:
    everyone, listed = np.arange(3, dtype=np.int32), np.arange(4, dtype=np.int32)
    items, more = TableSpec("items", "item", 4, 1), TableSpec("more", "dense", 2, 20)
    held = ModelDownloads.begin(MessageSpec((items,)), listed, 3)
    held.fetch(everyone)
    small = {"items": np.zeros((4, 1), np.float32)}
    large = {**small, "more": np.zeros((2, 20), np.float32)}
    both = MessageSpec((items, more))
    held.moved(small, large, both)
    assert held.fetch(everyone) == (3 * 4, 3 * both.model_bytes(4))
    held.moved(large, {**large, "items": np.eye(4, 1, dtype=np.float32)}, both)
    assert held.missing(everyone) == (3, 3 * (8 + 32 + (4 + 8) + 4))  # one row of one number, and its own


def test_a_training_killed_once_counts_are_public_counts_on(tmp_path: Path) -> None:
    def trained(runtime: InProcess, folder: Path | None = None) -> FederatedModel:
        channel = ChannelSettings(channel="secure-sum", ring=32, minimum_cohort=1)
        sums = Plan(Cooccurrence(ease=0.0, knn=1.0, least=2), crowd(), seed=4, channel=channel)
        return fit(sums, runtime=runtime, folder=folder, checkpoint_every=None if folder is None else 1)

    with pytest.raises(KilledError):
        trained(Dying(1), tmp_path)
    resumed, whole = trained(InProcess(), tmp_path), trained(InProcess())
    assert_same_ledger(resumed.ledger, whole.ledger)
