"""Nobody silences a server for others: half-open and slow connections, bodies that never end, idle listeners.

Every attack also meets a server whose check the test has taken out, and silences it.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from murmura.server.http.connections import Places
from murmura.server.http.limits import BodyLimits, RequestLimits
from murmura.server.http.serving import ListenAddress
from tests.http.certificates import certificate
from tests.http.network import people
from tests.http.processes import served, write_table
from tests.web.server import (
    ANY,
    ENEMY,
    HONEST,
    KEY,
    MEGABYTE,
    NEVER,
    PATIENT,
    PLENTY,
    TABLE,
    UNCHECKED,
    Machine,
    asked,
    begin,
    connected,
    ended,
    patiently,
    send,
    status,
    toy,
)

SOON = 0.3  # seconds
LASTING = 5 * SOON  # what was not ended by then is not going to be
BODIES = replace(PATIENT, most=4 * MEGABYTE, share=MEGABYTE)
UPLOAD = bytes(MEGABYTE // 2)
pytestmark = pytest.mark.slow


@pytest.fixture
def unshed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has a place keeps it."""
    monkeypatch.setattr(Places, "_shed", lambda places: False)


def bodies(limits: BodyLimits) -> RequestLimits:
    return replace(PLENTY, bodies=limits)


def trickling(enemy: socket.socket, drop: bytes) -> bool:
    """Whether another drop was taken."""
    return send(enemy, drop) and not ended(enemy)


def trickles_on(enemy: socket.socket, drop: bytes) -> None:
    until = time.monotonic() + LASTING
    while time.monotonic() < until:
        assert trickling(enemy, drop)
        time.sleep(0.01)


@contextlib.contextmanager
def besieged(port: int, path: str, upload: bytes, sources: Sequence[str]) -> Iterator[None]:
    """A server that refuses an honest upload, since bodies without their last byte take all room.

    Where an honest one came first it is the enemy's that is refused; it comes again.
    """
    with contextlib.ExitStack() as stack:

        def come(source: str) -> socket.socket:
            one = stack.enter_context(connected(port, source=source))[0]
            send(one, begin(path) + bytes(MEGABYTE - 1))
            return one

        def silenced() -> bool:
            for place, source in enumerate(sources):
                if ended(enemies[place]):
                    enemies[place] = come(source)
            return asked(port, "POST", path, upload) == 429

        enemies = [come(source) for source in sources]
        patiently(silenced)
        yield


@pytest.mark.parametrize("checked", [True, False])
def test_four_bodies_without_their_last_byte_take_only_their_senders_share(checked: bool) -> None:
    limits = BODIES if checked else replace(BODIES, share=BODIES.most)
    with toy(bodies(limits)) as port:
        if checked:
            with connected(port, 4) as enemies:
                for one in enemies:
                    send(one, begin("/open") + bytes(MEGABYTE - 1))
                patiently(lambda: sum(map(ended, enemies)) == 3)
                assert asked(port, "POST", "/open", UPLOAD) == 200
        else:
            with besieged(port, "/open", UPLOAD, [ENEMY] * 4):
                assert asked(port, "POST", "/open", b"short") == 200  # what is small is never counted


@pytest.mark.smoke
@pytest.mark.parametrize("checked", [True, False])
def test_who_has_no_key_is_refused_by_the_first_bytes_of_a_body(checked: bool) -> None:
    """From four addresses, each with a share of its own."""
    sources = [f"127.0.0.{n}" for n in range(2, 6)]
    with toy(bodies(BODIES), table=TABLE if checked else UNCHECKED) as port, contextlib.ExitStack() as stack:
        if not checked:
            stack.enter_context(besieged(port, "/guarded", KEY + UPLOAD, sources))
            return
        enemies = [stack.enter_context(connected(port, source=source))[0] for source in sources]
        for one in enemies:
            send(one, begin("/guarded") + bytes(len(KEY)))
        assert [status(one) for one in enemies] == [403] * 4
        assert asked(port, "POST", "/guarded", KEY + UPLOAD) == 200


@pytest.mark.smoke
def test_a_body_is_checked_once_however_its_first_bytes_come() -> None:
    machine = Machine()
    with toy(machine=machine) as port, connected(port) as (one,):
        send(one, begin("/guarded", len(KEY) + 1))
        for byte in KEY:
            send(one, bytes([byte]))
        assert not ended(one)
        send(one, b"!")
        assert status(one) == 200
        assert asked(port, "POST", "/guarded", b"x" * len(KEY)) == 403
        assert (
            asked(port, "POST", "/guarded", KEY[:-1]) == 200
        )  # too short to be checked: the call's own matter
    assert machine.uploads == 2


@pytest.mark.parametrize("checked", [True, False])
def test_a_body_that_falls_silent_gives_its_room_back(checked: bool) -> None:
    limits = replace(BODIES, most=MEGABYTE, window=SOON if checked else NEVER)
    with toy(bodies(limits)) as port:
        if checked:
            with connected(port) as (enemy,):
                send(enemy, begin("/open") + bytes(MEGABYTE - 1))
                assert status(enemy) == 429
                patiently(lambda: asked(port, "POST", "/open", UPLOAD) == 200)
        else:
            with besieged(port, "/open", UPLOAD, [ENEMY]):
                time.sleep(LASTING)
                assert asked(port, "POST", "/open", UPLOAD) == 429


@pytest.mark.parametrize("path", ["/open", "/guarded"])
@pytest.mark.parametrize(("window", "seconds"), [(SOON, NEVER), (NEVER, SOON), (NEVER, NEVER)])
def test_a_body_that_trickles_is_ended(window: float, seconds: float, path: str) -> None:
    limits = replace(BODIES, window=window, seconds=seconds)
    with toy(bodies(limits)) as port, connected(port) as (enemy,):
        send(enemy, begin(path) + KEY)
        if SOON in (window, seconds):
            patiently(lambda: not trickling(enemy, b"x"))
        else:
            trickles_on(enemy, b"x")


@pytest.mark.usefixtures("unshed")
@pytest.mark.parametrize("said", [b"", b"GET /healthz HTTP/1.1\r\nhost: x\r\n"])
@pytest.mark.parametrize("checked", [True, False])
def test_fifteen_hundred_half_open_connections_take_their_address_s_places(checked: bool, said: bytes) -> None:
    limits = replace(ANY, most=1000, each=64 if checked else 1000)
    with toy(connections=limits) as port, connected(port, 1500) as enemies:
        for one in enemies:
            send(one, said)
        patiently(lambda: sum(map(ended, enemies)) == 1500 - limits.each)
        assert asked(port) == (200 if checked else 0)
        for one in enemies:
            one.close()
        patiently(lambda: asked(port, source=ENEMY) == 200)  # the places are given back


@pytest.mark.usefixtures("unshed")
@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("checked", [True, False])
def test_who_connects_and_says_nothing_is_ended(checked: bool, tls: bool, tmp_path: Path) -> None:
    seconds = SOON if checked else NEVER
    limits = replace(ANY, most=50, handshake=seconds, header=seconds)
    address = ListenAddress("127.0.0.1", 0, *certificate(tmp_path)) if tls else None
    with toy(connections=limits, address=address) as port, connected(port, 50) as enemies:
        if checked:
            patiently(lambda: all(ended(one) for one in enemies))
        else:
            time.sleep(LASTING)
            assert not any(ended(one) for one in enemies)
            assert asked(port) == 0


@pytest.mark.parametrize("before", [b"", b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"])
@pytest.mark.parametrize("trickle", [b"x", b"\r\n"])
@pytest.mark.parametrize("checked", [True, False])
def test_a_header_that_trickles_is_ended(checked: bool, trickle: bytes, before: bytes) -> None:
    """The first of a connection, and one after an answer; also one that never begins."""
    limits = replace(ANY, header=SOON if checked else NEVER)
    with toy(connections=limits) as port, connected(port) as (enemy,):
        send(enemy, before)
        send(enemy, b"GET /healthz HTTP/1.1\r\nname: " if trickle == b"x" else b"")
        if checked:
            patiently(lambda: not trickling(enemy, trickle))
        else:
            trickles_on(enemy, trickle)


@pytest.mark.smoke
@pytest.mark.parametrize("where", ["header", "trailer"])
def test_a_header_without_end_is_not_held_in_memory(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither before a body nor behind one in chunks; without the check 8 MB are taken."""
    start = {
        "header": b"GET /healthz HTTP/1.1\r\nname: ",
        "trailer": b"POST /open HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nname: ",
    }[where]
    with toy(bodies(BODIES), ANY) as port:
        for checked in (True, False):
            if not checked:
                monkeypatch.setattr("murmura.server.http.http_protocol.HEADER_BYTES", 1 << 40)
            with connected(port) as (enemy,):
                send(enemy, start)
                assert all(send(enemy, bytes(1 << 16).replace(b"\0", b"x")) for _ in range(128)) is not checked


@pytest.mark.usefixtures("unshed")
@pytest.mark.parametrize("checked", [True, False])
def test_eight_hundred_streams_of_events_take_their_address_s_places(checked: bool) -> None:
    limits = replace(PLENTY, streams=800, streams_each=64 if checked else 800)
    with toy(limits, ANY) as port, connected(port, 800) as enemies:
        for one in enemies:
            send(one, b"GET /events HTTP/1.1\r\nhost: x\r\n\r\n")
        found = [status(one) for one in enemies]
        assert found == [200] * limits.streams_each + [429] * (800 - limits.streams_each)
        assert asked(port, path="/events") == (200 if checked else 429)
        assert asked(port) == 200
        for one in enemies:
            one.close()
        patiently(lambda: asked(port, path="/events", source=ENEMY) == 200)


@pytest.mark.usefixtures("unshed")
@pytest.mark.parametrize("checked", [True, False])
def test_a_listener_who_does_not_read_is_ended(checked: bool) -> None:
    count = 0

    def news() -> str:
        nonlocal count
        count += 1
        return f"{count}" * MEGABYTE

    requests, limits = replace(PLENTY, streams=1), replace(ANY, stalled=SOON if checked else NEVER)
    with toy(requests, limits, machine=Machine(news=news)) as port, connected(port) as (enemy,):
        send(enemy, b"GET /events HTTP/1.1\r\nhost: x\r\n\r\n")
        assert enemy.recv(12) == b"HTTP/1.1 200"
        if checked:
            patiently(lambda: asked(port, path="/events") == 200)
        else:
            time.sleep(LASTING)
            assert asked(port, path="/events") == 429


@pytest.mark.usefixtures("unshed")
@pytest.mark.parametrize("checked", [True, False])
def test_who_does_not_read_a_download_is_ended(checked: bool) -> None:
    limits = replace(ANY, most=1, stalled=SOON if checked else NEVER)
    with toy(connections=limits) as port, connected(port) as (enemy,):
        send(enemy, b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n")
        assert enemy.recv(12) == b"HTTP/1.1 200"
        if checked:
            patiently(lambda: asked(port) == 200)
        else:
            time.sleep(LASTING)
            assert asked(port) == 0
        assert (received(enemy) < 64 * MEGABYTE) is checked


@pytest.mark.parametrize("checked", [True, False])
def test_replies_that_nobody_reads_take_bounded_memory(checked: bool) -> None:
    """Each another one of 4 MB: whoever asked for most of them is ended, and others get theirs."""
    limits = replace(ANY, unread=(16 if checked else 4096) * MEGABYTE)
    with toy(connections=limits) as port, connected(port, 20) as enemies:
        for one in enemies:
            send(one, b"GET /own HTTP/1.1\r\nhost: x\r\n\r\n")
            assert one.recv(12) == b"HTTP/1.1 200"
        with connected(port, source=HONEST) as (honest,):
            send(honest, b"GET /own HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            assert received(honest) > 4 * MEGABYTE
        got = [received(one, 4 * MEGABYTE) for one in enemies]
        assert sum(size >= 4 * MEGABYTE for size in got) == (3 if checked else 20)


def received(one: socket.socket, enough: int = 64 * MEGABYTE) -> int:
    """The bytes that still come, until there are enough."""
    total = 0
    try:
        while part := one.recv(1 << 20):
            total += len(part)
            if total >= enough:
                break
    except ConnectionError:
        pass
    return total


@contextlib.contextmanager
def raining(port: int) -> Iterator[None]:
    """All of it at once, from one address."""
    size = 64 * MEGABYTE
    with connected(port, 4) as large, connected(port, 1500) as half, connected(port, 100) as listeners:
        for one in large:
            send(one, begin("/rounds", size))
            sent = 0
            while sent < size - 1 and send(one, bytes(min(MEGABYTE, size - 1 - sent))):
                sent += MEGABYTE
        for one in half:
            send(one, b"POST /reports HTTP/1.1\r\n")
        for one in listeners:
            send(one, b"GET /events HTTP/1.1\r\nhost: x\r\n\r\n")
        yield


@pytest.mark.process
def test_real_servers_go_on_answering_everyone_else(tmp_path: Path) -> None:
    table = write_table(people(), tmp_path / "likes.csv")
    options = ("--like", table, "-S", "clients=12", "--admission", "open")
    with served(tmp_path, *options) as place, contextlib.ExitStack() as stack:
        place.agreed()
        ports = [int(url.rpartition(":")[2]) for url in (place.url, *place.helpers)]
        for port in ports:
            stack.enter_context(raining(port))
        for port in ports:
            assert asked(port) == 200
            assert asked(port, "POST", "/rounds", bytes(1 << 16)) in (400, 403, 405)
        assert asked(ports[0], "POST", "/devices") == 200
        assert asked(ports[0], path="/federation") == 200
