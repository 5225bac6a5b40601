"""Twelve thousand broken requests to every address of real servers: a typed no each, and nothing changes.

MURMURA_FAULT_REQUESTS=number sends as many. MURMURA_FAULT_SEED=seed repeats a run; the seed is printed.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import re
import socket
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from murmura.server import endpoints
from murmura.wire import wire
from murmura.wire.admission import OwnAdmission
from murmura.wire.log import pack_entries, terms_entry
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import STATUS
from murmura.wire.signed_records import ServerKey, canonical
from murmura.wire.transport import REPLY_BYTES, HttpReply, bearer
from tests.faults.federation import PEOPLE, Scene, scene
from tests.faults.machines import SECONDS
from tests.faults.malice import ordered
from tests.faults.payloads import Payload, fuzzed
from tests.faults.test_liars import key_of, opened

pytestmark = pytest.mark.process

REQUESTS = int(os.environ.get("MURMURA_FAULT_REQUESTS", "12000"))
GROWTH_MB = 64  # what a server's memory may grow by under all of this
MACHINES = ("coordinator", "seed", "vector")


def addresses() -> list[tuple[str, str, str]]:
    """Every address of every machine, and methods they do not take; a stream of events has no end."""
    found = []
    for machine in MACHINES:
        table = endpoints.COORDINATOR if machine == "coordinator" else endpoints.AGGREGATOR
        for one in table:
            path = re.sub(r"{\w+}", "{}", one.path)
            found += [(machine, m, path) for m in {one.method, "PUT", "POST"} if one.name != "events"]
        found.append((machine, "GET", "/{}"))
    return found


async def honest_messages(place: Scene) -> list[Payload]:
    """One device takes part; its messages have been taken, so that none of their bytes is new."""
    good: list[Payload] = []
    names = {place.url(name): name for name in MACHINES}

    async def recording(
        method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        host, path = re.fullmatch(r"(http://[^/]+)(/.*)", url).groups()  # type: ignore[union-attr]
        if method == "POST":
            good.append(Payload(names[host], method, path, body, dict(headers)))
        return await place.send(method, url, body, headers, largest=largest)

    reply, device = await place.manifest(), place.crowd.devices[0]
    device.send = recording
    await place.crowd.visit(0, reply)
    device.send = place.send
    m = opened(reply)
    name, terms, key = m.hash.hex(), device.identity.terms, key_of(place, "coordinator")
    described = await place.send("GET", f"{place.crowd.url}/m/{terms.catalogue.description}", b"", {})
    letter = wire.IndividualReport(m.hash, bytes(16), bytes(64), bytes(32), bytes(200)).encode()
    token, log = bearer(device.identity.token), bytes(8) + pack_entries([terms_entry(terms.encode())])
    for role in ("seed", "vector"):
        good += [
            Payload(role, "POST", "/terms", key.sign("terms", terms.encode()) + terms.encode()),
            Payload(role, "POST", f"/m/{terms.catalogue.description}", described.body),
            Payload(role, "POST", "/log", key.sign("log", log) + log),
            Payload(role, "POST", "/rounds", ordered(m, key)),
            Payload(role, "POST", f"/rounds/{name}/close", bytes(64)),
            Payload(role, "POST", f"/rounds/{name}/release", bytes(64 + 64 + 16 * PEOPLE)),
            Payload(role, "POST", f"/rounds/{name}/forget", bytes(64)),
            Payload(role, "POST", "/revocations", bytes(64 + 32)),
        ]
    own = OwnAdmission.create(ServerKey(bytes(range(32))), terms.federation)  # of another admitter
    entering = {"token": "0" * 64, "admission": own.shown.encode().hex(), "proof": bytes(64).hex()}
    return [
        *good,
        Payload("coordinator", "POST", "/devices", json.dumps({"slot": 3, "token": "0" * 64}).encode()),
        Payload("coordinator", "POST", "/devices", json.dumps({"slot": 3, **entering}).encode()),
        Payload("coordinator", "POST", "/revocations", bytes(64 + 32)),
        Payload("coordinator", "POST", "/rollback/0", b"", token),
        Payload("coordinator", "DELETE", "/devices/0", b"", token),
        Payload("coordinator", "POST", "/letters", letter),
        Payload("coordinator", "DELETE", "/devices/me", b"", {"authorization": "Bearer " + "0" * 64}),
        Payload("coordinator", "POST", "/orders/stop", b"", token),
    ]


def signed_lies(place: Scene, m: Manifest, n: int, rng: random.Random) -> list[Payload]:
    """Manifests, terms and entries of the log that the coordinator has signed and that make no sense."""
    key, lies = key_of(place, "coordinator"), []
    terms = place.crowd.devices[0].identity.terms
    wrong: list[Any] = [None, -1, 2**40, "x", [], {}, 1.5, True, "00", {"a": 1}, "é" * 50]
    fields = [one for one in vars(m) if one not in ("serial", "nonce", "previous", "hash")]
    for _ in range(n):
        plain = json.loads(replace(m, serial=m.serial + 1, nonce="33" * 16).encode())
        agreed = json.loads(terms.encode())
        for one in rng.sample(fields, rng.randint(1, 3)):
            plain[one] = rng.choice(wrong)
        for one in rng.sample(sorted(agreed), rng.randint(1, 3)):
            agreed[one] = rng.choice(wrong)
        offered = canonical(agreed)
        entry = rng.choice(
            [
                b"",
                b"model\0" + rng.randbytes(9),
                b"manifest\0" + canonical({**plain, "previous": "00" * 32}),
                b"manifest\0" + rng.randbytes(90),
                b"terms\0" + offered,
                rng.randbytes(90),
            ]
        )
        start = rng.choice([0, 1, 2, 3, 2**40, 2**64 - 1]).to_bytes(8, "little")
        log = start + rng.choice([pack_entries([entry]), entry, b"\xff\xff\xff\xff" + entry])
        path, body = rng.choice(
            [
                ("/rounds", ordered(canonical(plain), key)),
                ("/terms", key.sign("terms", offered) + offered),
                ("/log", key.sign("log", log) + log),
            ]
        )
        lies.append(Payload(rng.choice(["seed", "vector"]), "POST", path, body))
    return lies


def ask_all(payloads: list[Payload], url: str) -> Counter[tuple[str, int]]:
    """Send them one after the other over as few connections as the server allows; what was answered."""
    host, port = url.removeprefix("http://").split(":")
    seen: Counter[tuple[str, int]] = Counter()
    line = http.client.HTTPConnection(host, int(port), timeout=SECONDS)
    for one in payloads:
        chunked = one.headers.get("transfer-encoding") == "chunked"
        try:
            line.request(one.method, one.path, one.body, one.headers, encode_chunked=chunked)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all of it was sent; the answer is there
        except (http.client.InvalidURL, UnicodeEncodeError):
            continue
        try:
            reply = line.getresponse()
            said = reply.read()
        except (http.client.HTTPException, OSError):
            line.close()  # cut off in the middle of an oversize body
            seen["cut", 0] += 1
            continue
        seen[code_of(one, reply.status, said), reply.status] += 1
        if reply.will_close:
            line.close()
    line.close()
    return seen


def code_of(one: Payload, status: int, said: bytes) -> str:
    """The typed refusal, also of what is not HTTP."""
    if status < 400:
        return "taken"
    try:
        code = str(json.loads(said)["error"])
    except (ValueError, KeyError, TypeError):
        return f"untyped {one.method} {one.path}"
    return code if STATUS.get(code) == status else f"mistyped {code}"


def memory_mb(pid: int | None) -> float:
    """The most a process has ever held."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024  # type: ignore[union-attr]


def test_broken_requests_are_refused_in_bounded_memory_and_change_nothing(tmp_path: Path) -> None:
    seed = int(os.environ.get("MURMURA_FAULT_SEED", random.SystemRandom().randrange(10**6)))
    print(f"MURMURA_FAULT_SEED={seed}")

    async def scenario() -> None:
        async with scene(tmp_path, round_seconds=1000) as place:
            good = await honest_messages(place)
            m = opened(await place.manifest())
            lies = signed_lies(place, m, 1500, random.Random(seed))
            payloads = [*lies, *fuzzed(good, addresses(), REQUESTS - len(lies), seed)]
            running = place.machines.by_name
            before, held = (
                place.dump(),
                {n: memory_mb(one.process.pid) for n, one in running.items() if one.process},
            )
            by_machine = {n: [one for one in payloads if one.machine == n] for n in MACHINES}
            asked = [asyncio.to_thread(ask_all, by_machine[n], place.url(n)) for n in MACHINES]
            seen: Counter[tuple[str, int]] = sum(await asyncio.gather(*asked), Counter())
            print(dict(seen))
            assert sum(seen.values()) >= 10_000
            assert not any(status >= 500 for _, status in seen), seen
            assert place.dump() == before
            for name, one in running.items():
                assert one.process is not None
                assert memory_mb(one.process.pid) - held[name] < GROWTH_MB, name
                assert "Traceback" not in one.log.read_text()
            await place.crowd.stay()
            place.check()

    asyncio.run(scenario())


def test_endless_and_oversize_bodies_are_cut_off(tmp_path: Path) -> None:
    """A body without an end, one that claims a gigabyte, and many large ones at once."""

    def endless(url: str, path: str, head: str) -> int:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=SECONDS) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
            line.sendall(f"POST {path} HTTP/1.1\r\nhost: x\r\n{head}\r\n\r\n".encode())
            sent = 0
            try:
                while sent < 256 << 20:
                    line.sendall(b"10000\r\n" + bytes(65536) + b"\r\n")
                    sent += 65536
            except OSError:
                pass
            return sent

    async def scenario() -> None:
        async with scene(tmp_path, round_seconds=1000) as place:
            await honest_messages(place)
            running, before = place.machines.by_name, place.dump()
            held = {n: memory_mb(one.process.pid) for n, one in running.items() if one.process}
            for head in ("transfer-encoding: chunked", f"content-length: {1 << 30}"):
                for name, path in (
                    ("coordinator", "/devices"),
                    ("coordinator", "/letters"),
                    ("vector", "/reports"),
                ):
                    sent = await asyncio.to_thread(endless, place.url(name), path, head)
                    assert sent < 32 << 20, (name, path, head)
            chunked = "transfer-encoding: chunked"  # ten at once, to the one address that takes large bodies
            many = [asyncio.to_thread(endless, place.url("seed"), "/rounds", chunked) for _ in range(10)]
            await asyncio.gather(*many)
            assert place.dump() == before
            for name, one in running.items():
                assert one.process is not None
                limit = GROWTH_MB + (256 if name == "seed" else 0)
                assert memory_mb(one.process.pid) - held[name] < limit, name
            await place.crowd.stay()
            place.check()

    asyncio.run(scenario())
