"""A device says why, with the features it has downloaded and nothing else."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from murmura.core.channel import ChannelSettings
from murmura.core.interactions import Interactions
from murmura.device.device import VisitOutcome
from murmura.device.visits import OwnRanking, sentence
from murmura.testing import crowd
from tests.http.network import World


def answers(folder: Path, data: Interactions, method: str, **settings: object) -> tuple[list[int], list[str]]:
    """What the fourth device shows after the last round, and why; no request may be made for it."""
    channel = ChannelSettings(channel="secure-sum", minimum_cohort=2)
    world = World(folder, data, method, {"clients": "all", "epochs": 2, **settings}, channel)

    async def scenario() -> tuple[list[int], list[str]]:
        devices = await world.everyone()
        await world.play(devices)
        one = devices[3]
        assert one.manifest is not None
        info = (await one.cache.description()).info
        model, rows = await one.cache.model(one.manifest), world.rows(3)
        own = one.identity
        ranking = OwnRanking(own.terms, one.manifest, info, model, one.storage.memory.state, rows, own.secret)
        before = len(world.network.log)
        (shown,) = ranking.recommend(3)
        why = ranking.explain(shown)
        assert len(world.network.log) == before
        return shown.tolist(), why

    return asyncio.run(scenario())


@pytest.mark.parametrize("method", ["kgflex", "kgflex-hybrid"])
def test_a_device_tells_the_terms_of_what_it_shows(tmp_path: Path, method: str) -> None:
    shown, why = answers(tmp_path, crowd(), method, factors=3)
    assert len(shown) == len(why) == 3
    assert all(re.match(r"-?\d+\.\d{3} = ", one) or one.startswith("shares nothing") for one in why)
    assert re.search(r"(because|shares) (colour|size|maker → home): \w+ -?\d", "\n".join(why))
    told = sentence({"event": "recommended", "for": "you", "items": shown, "why": why})
    assert told.splitlines()[1] == f"  {shown[0]}: {why[0]}"


def test_a_device_of_another_method_says_nothing(tmp_path: Path) -> None:
    shown, why = answers(tmp_path, crowd(), "cfpl", factors=3)
    assert (len(shown), why) == (3, [])


def test_a_device_takes_no_part_where_the_features_its_method_needs_are_not_published(tmp_path: Path) -> None:
    channel = ChannelSettings(channel="secure-sum", minimum_cohort=2)
    world = World(tmp_path, replace(crowd(), features=None), "kgflex", {"clients": "all", "epochs": 2}, channel)

    async def scenario() -> VisitOutcome:
        devices = await world.everyone()
        await world.turn()
        return await devices[3].visit()

    outcome = asyncio.run(scenario())
    assert (outcome.kind, outcome.why) == (
        "refused",
        "kgflex needs item features, but the description names none; take no part.",
    )
    live = world.coordinator.rounds.live
    assert live is not None
    assert world.aggregators["vector"].count(live.manifest.hash) == 0
