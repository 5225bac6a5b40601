"""How three machines come to terms: late aggregators and killed coordinators change nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

from murmura.server.loopback import VECTOR
from murmura.wire.refusals import UnreachableError
from tests.http.network import World, people


def test_an_aggregator_that_comes_later_agrees_to_what_the_other_one_signed(tmp_path: Path) -> None:
    world = World(tmp_path, people())

    def dies(method: str, url: str, body: bytes) -> bytes:
        if (method, url) == ("POST", f"{VECTOR}/terms"):
            raise UnreachableError("the vector aggregator is down.")
        return body

    world.network.tamper = dies
    asyncio.run(world.turn())
    offered = world.aggregators["seed"].agreement._terms
    assert offered is not None
    assert not world.coordinator.rounds.keeper.confirmed
    world.clock.now += 90
    world.start_coordinator()  # killed in between: it goes on with the same terms
    world.network.tamper = lambda method, url, body: body
    asyncio.run(world.turn())
    assert world.coordinator.rounds.terms.hash == offered.hash
    assert {one.terms.hash for one in world.aggregators.values()} == {offered.hash}
