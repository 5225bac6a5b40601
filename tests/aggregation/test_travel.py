"""Weights through the channel and over the network: only sums travel, and give the model of the formula."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from murmura.aggregation.weighted import Weighted, weighted
from murmura.aggregation.weighting import Weighting
from murmura.core.channel import ChannelSettings
from murmura.core.contract import History, IndividualUpdates, RoundContext
from murmura.core.rng import Rng, client_secrets, server_secret
from murmura.core.schedule import Schedule
from murmura.server.loopback import Loopback
from murmura.wire.terms import FederationTerms
from murmura.wire.wire import IndividualReport
from tests.aggregation.worlds import gap, method, trained
from tests.http.network import SEEDED, World, people

ONE = Schedule(clients=8, rounds=1)
CLIP, BITS = 300.0, 24
CRITERIA = "dataset_size,long_tail"


@pytest.mark.parametrize("channel", ["secure-sum", "readable"])
@pytest.mark.parametrize(("name", "rate"), [("sfpl+", "alpha"), ("fcf", "gamma"), ("kgflex", "alpha")])
def test_sums_through_a_channel_give_the_formula_within_its_rounding(
    name: str, rate: str, channel: str
) -> None:
    way = ChannelSettings(channel=channel, clip=CLIP, bits=BITS, minimum_cohort=1)  # type: ignore[arg-type]
    exact = trained(method(name, criteria=CRITERIA, criteria_sent="values"), schedule=ONE)
    made = method(name, criteria=CRITERIA)
    assert isinstance(made, Weighted)
    sent = trained(made, schedule=ONE, channel=way)
    # a value of n clients is off by n steps of its bound: of the updates C, of shares the cap, of criteria 1
    n, step, largest = 8, 2.0 ** (1 - BITS), 10.0  # what clients send here, weighted, is below this
    normalises = sum(1 / mean for mean in (0.05, 0.05))  # no criterion has a smaller mean here
    error = getattr(made, rate) * n * step * (CLIP + largest * (made.weighting.weight_cap + normalises))
    assert gap(exact, sent) <= error < gap(exact, trained(method(name), schedule=ONE))
    assert gap(sent, trained(made, schedule=ONE, channel=way, runtime=Loopback(arrival=1))) == 0


def test_half_precision_of_the_download_is_that_of_the_model_alone() -> None:
    """The sums that normalise arrive within the digits of float16, whatever the number of clients."""
    for clients in (3, 12):
        made = method("fcf", criteria="dataset_size")
        schedule = Schedule(clients=clients, rounds=1)
        exact = trained(made, schedule=schedule)
        half = trained(made, schedule=schedule, channel=ChannelSettings(download="float16"))
        first = trained(method("fcf"), schedule=schedule)
        narrow = trained(method("fcf"), schedule=schedule, channel=ChannelSettings(download="float16"))
        assert gap(exact, half) <= 4 * clients * max(gap(first, narrow), 2.0**-11)


def test_a_dropout_between_the_two_exchanges_leaves_the_weights_of_those_who_came(tmp_path: Path) -> None:
    channel = ChannelSettings(channel="secure-sum", minimum_cohort=8, clip=CLIP, bits=BITS)
    settings = {"criteria": "dataset_size", "rounds": 1, "clients": "all", "precision": "float64"}
    world = World(tmp_path, people(), "fcf", settings, channel)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.one_round(devices)
        await world.turn()
        for device in devices[2:]:  # the first two have told their criteria and are gone
            assert (await device.visit()).kind == "sent"
        world.clock.now += 61
        for _ in range(2):  # the second time everybody signs how it ended
            await world.turn()

    asyncio.run(scenario())
    assert world.coordinator.about()["state"] == "finished"
    found = world.coordinator.rounds.now.server.model["Q"]
    exact = _formula(world, range(2, 12))
    step = 2.0 ** (1 - BITS)
    assert np.abs(found - exact).max() <= 0.02 * 12 * step * (CLIP + 10 * (10 + 1 / 0.05))
    assert np.abs(_formula(world, range(12)) - exact).max() > 1e-4  # it makes a difference who came


def _formula(world: World, came: range) -> np.ndarray:
    """The model after one round of these clients, weighed by a server that reads them."""
    itinerary = world.setup.itinerary()
    assert isinstance(itinerary.algorithm, Weighted)
    made = weighted(itinerary.algorithm.inner, Weighting(criteria=("dataset_size",), criteria_sent="values"))
    info, updates = itinerary.info, {}
    server = made.server_init(info, Rng(server_secret(SEEDED)))
    for client in came:
        rows, rng = world.rows(client), Rng(client_secrets(SEEDED, 12)[client], 0)
        history = History(rows.item, rows.value, np.ones(len(rows.item)))
        context = RoundContext(info, "train", 0, server.model)
        state = made.client_init(info, history, Rng(rng.secret))
        updates[client] = made.client_step(context, state, history, rng)[1]
    return made.server_step("train", server, IndividualUpdates(updates))[0].model["Q"]


def test_values_are_read_by_name_and_the_terms_tell_the_whole_method(tmp_path: Path) -> None:
    channel = ChannelSettings(channel="readable", minimum_cohort=8)
    settings = {"criteria": "dataset_size", "criteria_sent": "values", "rounds": 1, "clients": "all"}
    world = World(tmp_path, people(), "fcf", settings, channel)
    read: list[IndividualReport] = []

    def watched(method: str, url: str, body: bytes) -> bytes:
        if url.endswith("/letters"):
            read.append(IndividualReport.decode(body))
            terms = FederationTerms.decode(world.coordinator.rounds.terms.encode())
            assert terms.algorithm() == world.setup.preset.algorithm()
        return body

    world.network.tamper = watched

    async def scenario() -> None:
        await world.play(await world.everyone())

    asyncio.run(scenario())
    assert len(read) == 12
