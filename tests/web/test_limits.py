"""What counts for whom, and what is checked before a body is read on; in process."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from murmura.core.errors import DataError
from murmura.runtimes.http.dispatch import respond
from murmura.runtimes.http.endpoints import SMALL, Endpoint, HttpRequest
from murmura.runtimes.http.protocol.refusals import RefusedError
from murmura.runtimes.http.protocol.transport import VERSION_HEADER
from murmura.web.app import App
from murmura.web.asgi import PIECE
from murmura.web.connections import listen
from murmura.web.limits import BodyBudget, BodyLimits, Places, RateLimiter, origin
from tests.web.server import KEY, PLENTY, TABLE, Machine, check_key, nothing


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_an_address_counts_for_all_its_owner_has() -> None:
    assert origin("192.0.2.1") == origin("::ffff:192.0.2.1") == "192.0.2.1"
    assert origin("2001:db8::1") == origin("2001:db8::ffff:2%eth0") != origin("2001:db8:0:1::1")
    assert origin("x" * 1000) == "x" * 64


def test_a_connection_sends_at_once_what_it_is_given() -> None:
    with listen("127.0.0.1", 0, Places(4, 4)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_places_are_given_back() -> None:
    places = Places(3, 2, exempt=lambda address: address == "proxy")
    assert [places.enter("a") for _ in range(3)] == [True, True, False]
    assert [places.enter(one) for one in ("b", "b")] == [True, False]  # three in all
    places.leave("a")
    places.leave("b")
    assert [places.enter("proxy"), places.enter("proxy"), places.enter("a")] == [True, True, False]
    for one in ("a", "proxy", "proxy"):
        places.leave(one)
    assert [places.enter("proxy") for _ in range(4)] == [True, True, True, False]  # no limit of its own


def test_a_refusal_says_what_there_is_too_much_of() -> None:
    rate = RateLimiter(1, 1, lambda: 0.0, "registrations")
    rate.take("a")
    with pytest.raises(RefusedError, match="at most 1 registrations a second"):
        rate.take("a")


@pytest.mark.anyio
async def test_room_is_given_back_however_a_body_ends() -> None:
    budget = BodyBudget(BodyLimits(most=3 * SMALL, share=2 * SMALL))

    async def body(size: int) -> AsyncIterator[bytes]:
        for _ in range(size // 1024):
            yield bytes(1024)

    for _ in range(10):
        assert len(await budget.read(body(3 * SMALL), "a", None, 1 << 20)) == 3 * SMALL
        with pytest.raises(RefusedError, match="too much is being sent here at once"):
            await budget.read(body(3 * SMALL + 1024), "a", None, 1 << 20)
        with pytest.raises(RefusedError, match="at most 8192 bytes"):
            await budget.read(body(3 * SMALL), "a", None, 2 * SMALL)


@pytest.mark.parametrize("size", [0, SMALL + 1])
def test_a_prelude_is_short(size: int) -> None:
    with pytest.raises(ValueError, match=f"1 to {SMALL} bytes"):
        Endpoint("x", "POST", "/", "", None, prelude=(size, check_key))


@pytest.mark.anyio
async def test_what_is_refused_by_its_first_bytes_is_refused_alike_without_the_web_server() -> None:
    def careless(machine: Machine, request: HttpRequest) -> None:
        raise DataError("this is a fault of the data.")

    cases = [
        (check_key, KEY + b"more", {}, 200),
        (check_key, b"x" * 40, {}, 403),
        (check_key, KEY[:-1], {}, 200),  # too short for the check: the call sees it
        (check_key, b"x" * 40, {VERSION_HEADER: "0"}, 426),
        (careless, KEY, {}, 400),
    ]
    for check, body, headers, status in cases:
        table = tuple(replace(one, prelude=(len(KEY), check)) if one.prelude else one for one in TABLE)
        machine = Machine()
        app = App(machine, table, PLENTY, nothing, 0.01)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://machine") as client:
            reply = await client.post("/guarded", content=body, headers=headers)
        plain = respond(machine, table, "POST", "/guarded", body, headers)
        assert (reply.status_code, reply.content) == (plain.status, plain.body) == (status, reply.content)
        assert machine.uploads == (2 if status == 200 else 0)


@pytest.mark.anyio
async def test_a_long_reply_is_written_in_pieces() -> None:
    """So that whoever does not read it holds one of them, not a model."""
    app, sent = App(Machine(), TABLE, PLENTY, nothing, 0.01), []

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/large", "headers": [], "query_string": b""}
    await app(scope, None, send)  # type: ignore[arg-type]
    sizes = [len(one["body"]) for one in sent[1:]]  # type: ignore[arg-type]
    assert (sum(sizes), max(sizes)) == (64 << 20, PIECE)
    assert [one["more_body"] for one in sent[1:]] == [True] * (len(sizes) - 1) + [False]
