"""What counts for whom, and what is checked before a body is read on; in process."""

from __future__ import annotations

import socket
from dataclasses import replace

import httpx
import pytest

from murmura.core.errors import DataError
from murmura.server.dispatch import respond
from murmura.server.endpoints import SMALL, Endpoint, HttpRequest
from murmura.server.http.connections import Places, listen
from murmura.server.http.limits import BodyBudget, BodyLimits, BodyReader, RateLimiter, origin
from murmura.server.http.machine_app import App
from murmura.wire.refusals import RefusedError
from murmura.wire.transport import VERSION_HEADER
from tests.web.server import KEY, PLENTY, TABLE, Machine, check_key, listening, nothing


def test_an_address_counts_for_all_its_owner_has() -> None:
    assert origin("192.0.2.1") == origin("::ffff:192.0.2.1") == "192.0.2.1"
    assert origin("2001:db8::1") == origin("2001:db8::ffff:2%eth0") != origin("2001:db8:0:1::1")
    assert origin("x" * 1000) == "x" * 64


def test_a_connection_sends_at_once_what_it_is_given() -> None:
    with listen("127.0.0.1", 0, Places(4, 4)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_refusal_says_what_there_is_too_much_of() -> None:
    rate = RateLimiter(1, 1, lambda: 0.0, "registrations")
    rate.take("a")
    with pytest.raises(RefusedError, match="at most 1 registrations a second"):
        rate.take("a")


@pytest.mark.parametrize("declared", [True, False])
def test_room_is_given_back_however_a_body_ends(declared: bool) -> None:
    budget = BodyBudget(BodyLimits(most=3 * SMALL, share=2 * SMALL))

    def read(size: int, largest: int) -> bytes | bytearray:
        body = BodyReader(budget, "a", str(size) if declared else None, largest, 0.0)
        try:
            for _ in range(size // 1024):
                body.add(bytes(1024), 0.0)
            return body.content()
        finally:
            body.close()

    for _ in range(10):
        assert len(read(3 * SMALL, 1 << 20)) == 3 * SMALL
        with pytest.raises(RefusedError, match="too much is being sent here at once"):
            read(3 * SMALL + 1024, 1 << 20)
        with pytest.raises(RefusedError, match="at most 8192 bytes"):
            read(3 * SMALL, 2 * SMALL)


def test_a_body_that_was_let_in_is_received_where_it_stays() -> None:
    budget = BodyBudget(BodyLimits(share=3 * SMALL))
    shown: list[bytes] = []

    def begun(size: int) -> BodyReader:
        body = BodyReader(budget, "a", str(size), 1 << 20, 0.0, (4, shown.append))
        body.add(b"abc", 0.0)
        assert (shown, body.in_place) == ([], False)  # nothing is known of it: it has no room yet
        body.add(b"de", 0.0)
        return body

    body, size = begun(3 * SMALL), 3 * SMALL
    assert (shown.pop(), body.in_place, len(body.unfilled())) == (b"abcd", True, size - 5)
    body.unfilled()[:5] = b"fghij"
    assert not body.fill(5, 0.0)
    with pytest.raises(RefusedError, match="too much is being sent here at once"):
        begun(3 * SMALL)  # the whole room counts as soon as it is there
    shown.clear()
    body.unfilled()[:] = bytes(size - 10)
    assert body.fill(size - 10, 0.0)
    assert bytes(body.content()) == b"abcdefghij" + bytes(size - 10)
    assert body.content() is body.content()
    body.close()
    begun(3 * SMALL).close()


def test_a_body_must_come_as_fast_as_it_has_to() -> None:
    limits = BodyLimits(seconds=100.0, window=10.0, speed=10.0)
    body = BodyReader(BodyBudget(limits), "a", None, 1 << 20, 0.0)
    assert body.deadline == 10.0
    body.add(bytes(99), 9.0)
    assert body.deadline == 10.0
    body.add(bytes(1), 9.5)
    assert body.deadline == 19.5
    body.add(bytes(1000), 95.0)
    assert body.deadline == 100.0  # whatever came, this is the end
    assert body.slow.code == "rate"


@pytest.mark.parametrize("size", [0, SMALL + 1])
def test_a_prelude_is_short(size: int) -> None:
    with pytest.raises(ValueError, match=f"1 to {SMALL} bytes"):
        Endpoint("x", "POST", "/", "", None, prelude=(size, check_key))


def test_what_is_refused_by_its_first_bytes_is_refused_alike_without_the_web_server() -> None:
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
        with listening(app) as port:
            reply = httpx.post(
                f"http://127.0.0.1:{port}/guarded", content=body, headers=headers, trust_env=False
            )
        plain = respond(machine, table, "POST", "/guarded", body, headers)
        assert (reply.status_code, reply.content) == (plain.status, plain.body) == (status, reply.content)
        assert machine.uploads == (2 if status == 200 else 0)
