"""The web server over the desks: routes, limits, events, the operator's page."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette

from murmura.runtimes.http import endpoints
from murmura.runtimes.http.desks import AggregatorDesk, CoordinatorDesk
from murmura.runtimes.http.refusals import STATUS, RefusedError
from murmura.web.app import Bulletin, Limits, make_app
from murmura.web.limits import Rate, Room
from tests.http.network import COORDINATOR, SEED, World, people


async def nothing() -> None:
    pass


@contextmanager
def running(app: Starlette) -> Iterator[httpx.Client]:
    """The real server on a real socket."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with httpx.Client(base_url=url, trust_env=False) as made:
            yield made
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, people(), settings={"rounds": 2, "clients": 10})


@pytest.fixture
def client(world: World) -> Iterator[httpx.Client]:
    desk = world.network.desks[COORDINATOR]
    with running(make_app(desk, Limits(1000, 1000), nothing, 0.01)) as made:
        yield made


@pytest.fixture
def helper(world: World) -> Iterator[httpx.Client]:
    with running(make_app(world.network.desks[SEED], Limits(1000, 1000), nothing, 0.01)) as made:
        yield made


def token(world: World) -> dict[str, str]:
    return {"authorization": f"Bearer {world.coordinator.operator_token}"}


def test_every_endpoint_has_a_function_and_is_described(client: httpx.Client, helper: httpx.Client) -> None:
    web = {"openapi", "page", "events"}
    for desk, table in ((CoordinatorDesk, endpoints.COORDINATOR), (AggregatorDesk, endpoints.AGGREGATOR)):
        for endpoint in table:
            assert endpoint.name in web or callable(getattr(desk, endpoint.name)), endpoint
    for one, table in ((client, endpoints.COORDINATOR), (helper, endpoints.AGGREGATOR)):
        told = one.get("/openapi.json").json()
        described = {(path, method) for path, methods in told["paths"].items() for method in methods}
        assert described == {(endpoint.path, endpoint.method.lower()) for endpoint in table}
        assert set(told["components"]["schemas"]["Refusal"]["properties"]["error"]["enum"]) == set(STATUS)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "unknown"),
        ("PUT", "/round", 405, "method"),
        ("GET", "/round", 503, "paused"),
        ("GET", "/m/zz", 400, "malformed"),
        ("GET", f"/m/{'0' * 64}", 404, "unknown"),
        ("GET", "/status", 401, "unauthorised"),
        ("POST", "/orders/start", 401, "unauthorised"),
        ("POST", "/tickets", 401, "unauthorised"),
        ("DELETE", "/devices/me", 401, "unauthorised"),
        ("GET", "/answer", 401, "unauthorised"),
    ],
)
def test_every_no_is_typed(client: httpx.Client, method: str, path: str, status: int, code: str) -> None:
    reply = client.request(method, path)
    assert (reply.status_code, reply.json()["error"]) == (status, code)


def test_another_version_is_refused_before_anything_else(client: httpx.Client, world: World) -> None:
    for version in ("0", "2", "x", "1e0", "9" * 50):
        reply = client.post("/devices", headers={"murmura-protocol": version})
        assert (reply.status_code, reply.json()["error"]) == (426, "version")
    assert len(world.coordinator.registered()) == 0


def test_bodies_are_not_read_beyond_their_limit(client: httpx.Client, world: World) -> None:
    reply = client.post("/devices", content=b"x" * 5000)
    assert (reply.status_code, reply.json()["error"]) == (413, "oversize")
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1000
            yield bytes(1000)

    with pytest.raises(RefusedError, match="at most 4096 bytes"):
        asyncio.run(Room(1 << 20).read(endless(), None, 4096))
    assert read <= 5000
    assert len(world.coordinator.registered()) == 0


def test_one_address_cannot_ask_without_end() -> None:
    now = 0.0
    rate = Rate(2, 4, lambda: now)
    for _ in range(4):
        rate.take("a")
    with pytest.raises(RefusedError):
        rate.take("a")
    rate.take("b")
    now = 1.0
    rate.take("a")
    rate.take("a")
    with pytest.raises(RefusedError):
        rate.take("a")


def test_floods_get_429(world: World) -> None:
    app = make_app(world.network.desks[COORDINATOR], Limits(0.001, 5), nothing, 0.01)
    with running(app) as made:
        statuses = [made.get("/federation").status_code for _ in range(8)]
    assert statuses == [200] * 5 + [429] * 3


def test_the_operator_starts_and_watches(client: httpx.Client, world: World) -> None:
    assert client.post("/orders/start", headers=token(world)).json()["state"] == "running"
    assert client.post("/orders/pause", headers=token(world)).json()["state"] == "paused"
    assert client.get("/rounds", headers=token(world)).json() == {"rounds": []}
    assert client.post("/orders/stop", headers=token(world)).json()["state"] == "stopped"
    again = client.post("/orders/start", headers=token(world))
    assert (again.status_code, again.json()["error"]) == (410, "late")


def test_metrics_are_prometheus_text(client: httpx.Client, helper: httpx.Client, world: World) -> None:
    client.post("/devices")
    for one in (client, helper):
        text = one.get("/metrics").text
        for line in text.splitlines():
            assert re.fullmatch(r"# TYPE \w+ (counter|gauge)|\w+ [0-9.e+-]+", line), line
    assert "murmura_devices 1\n" in client.get("/metrics").text


def test_the_page_loads_nothing_from_elsewhere(client: httpx.Client) -> None:
    reply = client.get("/")
    assert reply.status_code == 200
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", reply.text)


def test_the_round_has_an_etag(client: httpx.Client, world: World) -> None:
    async def begin() -> None:
        await world.everyone()
        await world.turn()

    asyncio.run(begin())
    first = client.get("/round")
    assert first.status_code == 200
    again = client.get("/round", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    model = client.get(f"/m/{world.coordinator.rounds.now.model}")
    assert "immutable" in model.headers["cache-control"]


def test_events_announce_rounds(world: World) -> None:
    async def listen() -> list[bytes]:
        bulletin = Bulletin(world.network.desks[COORDINATOR])
        stream = bulletin.stream()
        heard = [await anext(stream)]
        bulletin.look()
        heard.append(await anext(stream))
        await world.everyone()
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        await world.turn()
        bulletin.look()
        heard.append(await waiting)
        return heard

    heard = asyncio.run(listen())
    live = world.coordinator.rounds.live
    assert live is not None
    assert heard[1] == b"event: state\ndata: paused\n\n"
    assert heard[2] == f"event: round\ndata: {live.hash.hex()}\n\n".encode()


def test_a_failure_in_the_background_does_not_end_the_server(world: World, tmp_path: Path) -> None:
    calls = 0

    async def failing() -> None:
        nonlocal calls
        calls += 1
        raise ZeroDivisionError

    with running(make_app(world.network.desks[COORDINATOR], Limits(), failing, 0.001)) as made:
        while calls < 3:
            assert made.get("/healthz").json() == {"ok": True}
