"""What the independent client believes: each signature and proof is changed in turn, and it takes no part.

The attacks pass against the same client without its check, so that they are what the check is for.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from murmura.server.loopback import COORDINATOR
from murmura.wire.admission import Invitation
from murmura.wire.log import MerkleTree, leaf_hash
from tests.http.network import World, people

EXAMPLE = Path(__file__).parents[2] / "examples" / "independent_client.py"
VECTORS = EXAMPLE.parents[1] / "vectors"
USERS = 10


@pytest.fixture
def module() -> ModuleType:
    found = importlib.util.spec_from_file_location("independent_client", EXAMPLE)
    assert found is not None
    assert found.loader is not None
    made = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    return made


class Meeting:
    """A federation without sockets, nine devices of ours in it, and the client as the tenth."""

    def __init__(self, folder: Path, module: ModuleType) -> None:
        self.world = World(folder, people(USERS), "fcf", {"rounds": 3})
        self.devices = asyncio.run(self.join_nine())
        self.terms = self.world.coordinator.rounds.keeper.signed()
        own = self.world.servers.admission(USERS - 1)
        link = Invitation(COORDINATOR, self.world.coordinator.rounds.terms.hash, own).link()
        setattr(module, "ask", self.ask)  # noqa: B010
        setattr(module, "time", SimpleNamespace(time=self.world.clock, sleep=lambda _: None))  # noqa: B010
        self.client = module.Client(link, folder / "me.json")
        self.client.url = COORDINATOR

    async def join_nine(self) -> list[Any]:
        return [await self.world.join(place) for place in range(USERS - 1)]

    def ask(self, method: str, url: str, body: bytes | None = None, token: str = "", **_: Any) -> bytes:
        if url == f"{COORDINATOR}/terms":
            return self.terms
        headers = {"authorization": f"Bearer {token}"} if token else {}
        reply = asyncio.run(self.world.network(method, url, body or b"", headers, largest=1 << 20))
        assert reply.status == 200, reply.body
        return reply.body

    def begin(self) -> None:
        self.client.pin()
        likes = [str(self.world.data.items.labels[n]) for n in self.world.rows(USERS - 1).item]
        self.client.join(likes)
        self.world.coordinator.order("start")
        asyncio.run(self.world.turn())

    @property
    def shown(self) -> bytes:
        return self.world.coordinator.manifest()[1]

    def play(self) -> None:
        """Everyone reports; the next round is open."""

        async def visits() -> None:
            for device in self.devices:
                await device.visit()

        asyncio.run(visits())
        self.client.take_part(*self.client.manifest(self.shown), USERS)
        asyncio.run(self.world.turn())
        asyncio.run(self.world.turn())


@pytest.fixture
def meeting(tmp_path: Path, module: ModuleType) -> Meeting:
    return Meeting(tmp_path, module)


def flipped(message: bytes, place: int) -> bytes:
    changed = bytearray(message)
    changed[place] ^= 1
    return bytes(changed)


def refuses(attempt: Any, why: str) -> None:
    with pytest.raises(SystemExit) as caught:
        attempt()
    assert str(caught.value).endswith("; take no part.")
    assert why in str(caught.value)


@pytest.mark.parametrize("signer", range(3), ids=["coordinator", "seed", "vector"])
def test_terms_need_three_signatures(
    meeting: Meeting, module: ModuleType, signer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting.terms = flipped(meeting.terms, 64 * signer + 9)
    refuses(meeting.client.pin, "the terms must be signed by the right machine")
    monkeypatch.setattr(module, "verify", lambda *_: None)
    meeting.client.pin()


def test_terms_are_those_of_the_invitation(meeting: Meeting) -> None:
    meeting.terms = meeting.terms.replace(b'"minimum_cohort":10', b'"minimum_cohort":11')
    refuses(meeting.client.pin, "those of the invitation")


@pytest.mark.parametrize("signer", range(3), ids=["coordinator", "seed", "vector"])
@pytest.mark.parametrize("what", ["manifest", "head"])
def test_a_manifest_and_its_head_need_three_signatures(
    meeting: Meeting, module: ModuleType, what: str, signer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting.begin()
    shown = meeting.shown
    head = 196 + int.from_bytes(shown[192:196], "little") + 40
    forged = flipped(shown, (0 if what == "manifest" else head) + 64 * signer + 9)
    refuses(lambda: meeting.client.manifest(forged), f"the {what} must be signed by the right machine")
    monkeypatch.setattr(module, "verify", lambda *_: None)
    assert meeting.client.manifest(forged) is not None


def test_a_manifest_is_in_the_log(
    meeting: Meeting, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting.begin()
    shown = meeting.shown
    proof = 196 + int.from_bytes(shown[192:196], "little") + 250
    forged = flipped(shown, proof + 5)
    refuses(lambda: meeting.client.manifest(forged), "must be in the log")
    monkeypatch.setattr(module, "proves", lambda *_, **__: True)
    assert meeting.client.manifest(forged) is not None


@pytest.mark.parametrize("missed", [0, 1])
def test_the_log_extends_the_one_seen_before(
    meeting: Meeting, module: ModuleType, missed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the proof that the manifest brings, or by one that is asked for after a round was missed."""
    meeting.begin()
    first = meeting.client.memory.copy()
    for _ in range(1 + missed):
        meeting.play()
    seen = first["head"] if missed else meeting.client.memory["head"]
    meeting.client.memory |= {"head": seen, "last": [-1, ""] if missed else meeting.client.memory["last"]}
    before = meeting.client.memory.copy()
    assert meeting.client.manifest(meeting.shown) is not None
    meeting.client.memory = {**before, "head": [before["head"][0] or 1, "11" * 32]}
    refuses(lambda: meeting.client.manifest(meeting.shown), "the log must extend the one seen before")
    monkeypatch.setattr(module, "proves", lambda *_, **__: True)
    assert meeting.client.manifest(meeting.shown) is not None


def test_nothing_is_answered_twice_and_nothing_older(meeting: Meeting) -> None:
    meeting.begin()
    first = meeting.shown
    meeting.play()
    second = meeting.shown
    meeting.play()
    refuses(lambda: meeting.client.manifest(first), "the log must extend the one seen before")
    meeting.client.memory["head"] = [0, ""]
    refuses(lambda: meeting.client.manifest(first), "must be new and follow the last one")
    assert meeting.client.manifest(second) is None
    meeting.client.memory["last"] = [-1, ""]
    refuses(lambda: meeting.client.manifest(second), "must be new and follow the last one")


def test_it_trains_the_golden_step(module: ModuleType) -> None:
    """From the received model to the vector, to the last word."""
    golden = json.loads((VECTORS / "training.json").read_text(encoding="utf-8"))
    (step,) = (one for one in golden["steps"] if one["method"] == "fcf")
    own = np.searchsorted(golden["listed"], golden["own"])
    Q = np.frombuffer(bytes.fromhex(step["model"]), "<f8", -1, 12).reshape(len(golden["listed"]), -1)
    x = np.zeros(1 + Q.size)
    x[1:].reshape(Q.shape)[own] = module.train(Q[own], step["settings"]["reg"])
    made = module.ring_vector(golden["channel"], x, golden["secret"], golden["round"])
    assert made.tolist() == step["vector"]


def test_it_reads_the_golden_proofs(module: ModuleType) -> None:
    log = json.loads((VECTORS / "wire.json").read_text(encoding="utf-8"))["good"]["log"]
    for one in log["inclusion"]:
        leaf, root, proof = (_bytes(one[name]) for name in ("leaf", "root", "proof"))
        assert module.proves(proof, one["index"], one["size"] - 1, root, leaf)
    for one in log["consistency"]:
        before, root, proof = (_bytes(one[name]) for name in ("before", "root", "proof"))
        equal = one["first"] == one["size"]  # of equal sizes the roots are compared
        assert (
            before == root
            if equal
            else module.proves(proof, one["first"] - 1, one["size"] - 1, root, old=before)
        )


def _bytes(text: str | list[str]) -> bytes:
    return bytes.fromhex(text if isinstance(text, str) else "".join(text))


def test_proofs_are_those_of_the_tree(module: ModuleType) -> None:
    """Every leaf of every tree up to 17 leaves, and every earlier tree; another root is refused."""
    leaves = [leaf_hash(bytes([n])) for n in range(17)]
    tree = MerkleTree(leaves)
    for size in range(1, 18):
        root = tree.root(size)
        for index in range(size):
            path = b"".join(tree.inclusion(index, size))
            assert module.proves(path, index, size - 1, root, leaves[index])
            assert not module.proves(path, index, size - 1, root, leaf_hash(b"other"))
            assert not module.proves(path + bytes(32), index, size - 1, root, leaves[index])
        for first in range(1, size):
            path = b"".join(tree.consistency(first, size))
            assert module.proves(path, first - 1, size - 1, root, old=tree.root(first))
            assert not module.proves(path, first - 1, size - 1, root, old=bytes(32))
            assert not module.proves(path[:-32], first - 1, size - 1, root, old=tree.root(first))
