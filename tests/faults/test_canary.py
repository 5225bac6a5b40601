"""No individual update is stored or logged: all that devices sent is searched for, after crashes too."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from murmura.channel.key_pairs import seal
from murmura.channel.shares import SEED_BYTES
from murmura.device import upload
from murmura.wire import wire
from murmura.wire.transport import REPLY_BYTES, HttpReply
from tests.faults.canary import HEAD, WINDOW, nothing_of_one_person
from tests.faults.federation import LONG, PEOPLE, ROUNDS, scene
from tests.faults.machines import SECONDS


@pytest.mark.process
def test_seeds_shares_tokens_and_vectors_are_in_no_file_after_a_run_with_crashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: set[bytes] = set()
    sent: list[bytes] = []  # as it left, sealed
    plain: list[bytes] = []  # what is in it: seeds and vectors, tickets and marks

    def recorded(content: bytes, public: bytes, info: bytes) -> bytes:
        if info.startswith(b"murmura payload"):
            plain.append(content)
        else:
            shown = wire.SharePass.decode(content)
            plain.extend((shown.ticket, shown.mark, shown.signature))
        return seal(content, public, info)

    monkeypatch.setattr(upload, "seal", recorded)

    async def scenario() -> None:
        async with scene(tmp_path) as place:

            async def recording(
                method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
            ) -> HttpReply:
                if url.endswith("/reports"):
                    sent.append(body[HEAD:])
                    reports.add(body[HEAD - wire.ID_BYTES : HEAD])
                return await place.send(method, url, body, headers, largest=largest)

            for device in place.crowd.devices.values():
                device.send = recording
            for serial, name in enumerate(("vector", "seed", "coordinator")):
                reply = await place.manifest()
                await asyncio.gather(*(place.crowd.visit(slot, reply) for slot in range(PEOPLE - 1)))
                machine = place.machines.by_name[name]
                machine.kill()
                machine.start()
                await machine.answers(place.send)
                if name != "coordinator":
                    place.machines.advance(LONG + 1)
                    assert (await place.ended(serial)).state == "abandoned"  # its shares were in memory only
            await asyncio.wait_for(place.crowd.stay(), SECONDS)
            place.check()
            tokens = [device.identity.token for device in place.crowd.devices.values()]
            needles = {
                body[at : at + WINDOW]
                for body in (*sent, *plain)
                for at in range(0, len(body) - WINDOW + 1, WINDOW)
            }
            needles |= {seed for seed in plain if len(seed) == SEED_BYTES}
            assert len(reports) >= PEOPLE * ROUNDS
            needles |= reports
            needles |= {token.encode() for token in tokens} | {bytes.fromhex(token) for token in tokens}
            assert len(needles) > 30 * PEOPLE
            nothing_of_one_person(tmp_path, [], tuple(needles))

    asyncio.run(scenario())


def test_the_canary_is_found_where_it_is(tmp_path: Path) -> None:
    """An aggregator that wrote one vector into its log would be caught."""
    vector = np.arange(1, 200, dtype=np.uint32) * np.uint32(2654435761)
    nothing_of_one_person(tmp_path, [vector])
    (tmp_path / "a.log").write_bytes(b"took " + vector[24:60].tobytes())
    with pytest.raises(AssertionError, match="part of one person's update"):
        nothing_of_one_person(tmp_path, [vector])
