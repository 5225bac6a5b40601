"""The web server over the machines: routes, limits, events, the operator's page."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from murmura.server import endpoints
from murmura.server.dispatch import respond
from murmura.server.http.connections import Places, listen
from murmura.server.http.http_messages import EventStream
from murmura.server.http.http_protocol import Service
from murmura.server.http.limits import BodyBudget, BodyLimits, BodyReader, RateLimiter, RequestLimits
from murmura.server.http.machine_app import App
from murmura.server.http.serving import answering
from murmura.wire.admission import join_proof
from murmura.wire.refusals import STATUS, RefusedError
from tests.http.network import World, people
from tests.web.server import ANY, PATIENCE, listening

pytestmark = pytest.mark.anyio
PLENTY = RequestLimits(1000, 1000)
COORDINATOR: tuple[endpoints.Endpoint[Any], ...] = endpoints.COORDINATOR
AGGREGATOR: tuple[endpoints.Endpoint[Any], ...] = endpoints.AGGREGATOR


async def nothing() -> None:
    pass


@asynccontextmanager
async def served(app: App[Any]) -> AsyncIterator[httpx.AsyncClient]:
    """The app as a server would run it, its background loop included, in this thread."""
    opened = listen("127.0.0.1", 0, Places(100, 100))
    url = f"http://127.0.0.1:{opened.getsockname()[1]}"
    async with (
        app.running(),
        answering(Service(app, ANY), opened),
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=PATIENCE) as made,
    ):
        yield made


@contextmanager
def on_socket(app: App[Any]) -> Iterator[httpx.Client]:
    """The real server on a real socket."""
    with listening(app) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as made:
        yield made


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, people(), settings={"rounds": 2, "clients": 10})


@pytest.fixture
async def client(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with served(App(world.coordinator, COORDINATOR, PLENTY, nothing, 0.01)) as made:
        yield made


@pytest.fixture
async def aggregator(world: World) -> AsyncIterator[httpx.AsyncClient]:
    app = App(world.aggregators["seed"], AGGREGATOR, PLENTY, nothing, 0.01)
    async with served(app) as made:
        yield made


async def joined(client: httpx.AsyncClient, world: World, slot: int) -> dict[str, Any]:
    """A device takes its place by an invitation, as the web server sees it."""
    await world.servers.agree()
    own, name = world.servers.admission(slot), f"{slot + 1:064x}"
    proof = join_proof(own, world.coordinator.rounds.store.federation, name).hex()
    body = {"slot": slot, "token": name, "admission": own.shown.encode().hex(), "proof": proof}
    told: dict[str, Any] = (await client.post("/devices", json=body)).json()
    return told


def path_of(endpoint: endpoints.Endpoint[Any]) -> str:
    """An address of this row."""
    return re.sub(r"{(start|first|size|slot|done)}", "0", endpoint.path).format(
        name="0" * 64, base="0" * 64, what="start"
    )


def token(world: World) -> dict[str, str]:
    return {"authorization": f"Bearer {world.coordinator.operator_token}"}


async def test_every_endpoint_is_described(client: httpx.AsyncClient, aggregator: httpx.AsyncClient) -> None:
    for one, table in ((client, COORDINATOR), (aggregator, AGGREGATOR)):
        told = (await one.get("/openapi.json")).json()
        described = {(path, method) for path, methods in told["paths"].items() for method in methods}
        assert described == {(endpoint.path, endpoint.method.lower()) for endpoint in table}
        assert set(told["components"]["schemas"]["Refusal"]["properties"]["error"]["enum"]) == set(STATUS)


async def test_every_endpoint_answers_with_its_type_or_a_typed_no(
    client: httpx.AsyncClient, aggregator: httpx.AsyncClient
) -> None:
    finite = [(client, e) for e in COORDINATOR if e.answers != endpoints.EVENTS]
    for one, endpoint in (*finite, *((aggregator, e) for e in AGGREGATOR)):
        path = path_of(endpoint)
        reply = await one.request(endpoint.method, path)
        if reply.status_code < 400:
            assert reply.headers["content-type"].split(";")[0] == endpoint.answers, endpoint
        else:
            assert STATUS[reply.json()["error"]] == reply.status_code, endpoint


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "unknown"),
        ("GET", "/m", 404, "unknown"),
        ("GET", "/m/a/b", 404, "unknown"),
        ("PUT", "/round", 405, "method"),
        ("GET", "/devices/me", 405, "method"),
        ("GET", "/round", 503, "paused"),
        ("GET", "/round/last", 404, "unknown"),
        ("GET", "/m/zz", 400, "malformed"),
        ("GET", f"/m/{'0' * 64}", 404, "unknown"),
        ("GET", "/status", 401, "unauthorised"),
        ("POST", "/orders/start", 401, "unauthorised"),
        ("POST", "/tickets", 401, "unauthorised"),
        ("DELETE", "/devices/me", 401, "unauthorised"),
        ("GET", "/answer", 401, "unauthorised"),
    ],
)
async def test_every_no_is_typed_and_the_same_without_the_web_server(
    client: httpx.AsyncClient, world: World, method: str, path: str, status: int, code: str
) -> None:
    reply = await client.request(method, path)
    assert (reply.status_code, reply.json()["error"]) == (status, code)
    plain = respond(world.coordinator, COORDINATOR, method, path, b"", {})
    assert (plain.status, plain.body) == (status, reply.content)
    assert plain.headers["content-type"] == reply.headers["content-type"]


@pytest.mark.parametrize("shown", [None, "Bearer " + "0" * 64, "Bearer", "Basic " + "0" * 64])
@pytest.mark.parametrize(
    "endpoint", [e for e in COORDINATOR if e.guard in ("operator", "device")], ids=lambda e: e.name
)
async def test_what_is_guarded_takes_nobody_elses_token(
    client: httpx.AsyncClient, world: World, endpoint: endpoints.Endpoint[Any], shown: str | None
) -> None:
    await joined(client, world, 0)
    before = world.coordinator.status()
    reply = await client.request(
        endpoint.method,
        path_of(endpoint),
        content=bytes(48) if endpoint.takes else None,
        headers={} if shown is None else {"authorization": shown},
    )
    assert (reply.status_code, reply.json()["error"]) == (401, "unauthorised")
    assert world.coordinator.status() == before


async def test_another_version_is_refused_before_anything_else(client: httpx.AsyncClient, world: World) -> None:
    for version in ("0", "1", "2", "x", "1e0", "9" * 50):
        reply = await client.post("/devices", headers={"murmura-protocol": version})
        assert (reply.status_code, reply.json()["error"]) == (426, "version")
    assert len(world.coordinator.rounds.store.registered()) == 0


async def test_bodies_are_not_read_beyond_their_limit(client: httpx.AsyncClient, world: World) -> None:
    reply = await client.post("/devices", content=b"x" * 5000)
    assert (reply.status_code, reply.json()["error"]) == (413, "oversize")
    assert reply.headers["connection"] == "close"
    plain = respond(world.coordinator, COORDINATOR, "POST", "/devices", b"x" * 5000, {})
    assert (plain.status, plain.body) == (413, reply.content)
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1000
            yield bytes(1000)

    with contextlib.suppress(httpx.TransportError):  # it may go on sending where nobody reads
        reply = await client.post("/devices", content=endless())
        assert (reply.status_code, reply.json()["error"]) == (413, "oversize")
    body = BodyReader(BodyBudget(BodyLimits()), "a", None, 4096, 0.0)
    for _ in range(4):
        body.add(bytes(1000), 0.0)
    with pytest.raises(RefusedError, match="at most 4096 bytes"):
        body.add(bytes(1000), 0.0)
    assert body.length == 4000
    assert len(world.coordinator.rounds.store.registered()) == 0


def test_one_address_cannot_ask_without_end() -> None:
    now = 0.0
    rate = RateLimiter(2, 4, lambda: now)
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


def test_who_asks_twice_as_often_as_allowed_is_answered_every_second_time() -> None:
    now = 0.0
    rate = RateLimiter(2, 1, lambda: now)
    answered = []
    for step in range(20):
        now = step / 4
        with contextlib.suppress(RefusedError):
            rate.take("a")
            answered.append(step)
    assert answered == list(range(0, 20, 2))


async def test_floods_get_429(world: World) -> None:
    app = App(world.coordinator, COORDINATOR, RequestLimits(0.001, 5), nothing, 0.01)
    async with served(app) as made:
        replies = [await made.get("/federation") for _ in range(8)]
    assert [reply.status_code for reply in replies] == [200] * 5 + [429] * 3
    assert replies[-1].headers["retry-after"] == "1"


async def test_the_operator_starts_and_watches(client: httpx.AsyncClient, world: World) -> None:
    async def order(what: str) -> Any:
        return (await client.post(f"/orders/{what}", headers=token(world))).json()

    assert (await order("start"))["state"] == "running"
    assert (await order("pause"))["state"] == "paused"
    assert (await client.get("/rounds", headers=token(world))).json() == {"rounds": []}
    assert (await order("stop"))["state"] == "stopped"
    again = await client.post("/orders/start", headers=token(world))
    assert (again.status_code, again.json()["error"]) == (410, "late")


async def test_a_device_joins_and_leaves(client: httpx.AsyncClient, world: World) -> None:
    told = await joined(client, world, 3)
    assert (told["slot"], world.coordinator.rounds.store.registered().tolist()) == (3, [3])
    left = await client.delete("/devices/me", headers={"authorization": f"Bearer {told['token']}"})
    assert (left.json(), world.coordinator.rounds.store.registered().tolist()) == ({"left": True}, [])
    for body in (b"[]", b"{", b'{"seat": 3}', b"[" * 4000):
        reply = await client.post("/devices", content=body)
        assert (reply.status_code, reply.json()["error"]) == (400, "malformed")


async def test_metrics_are_prometheus_text(
    client: httpx.AsyncClient, aggregator: httpx.AsyncClient, world: World
) -> None:
    await joined(client, world, 0)
    for one in (client, aggregator):
        text = (await one.get("/metrics")).text
        for line in text.splitlines():
            assert re.fullmatch(r"# TYPE \w+ (counter|gauge)|\w+ [0-9.e+-]+", line), line
    assert "murmura_devices 1\n" in (await client.get("/metrics")).text


async def test_the_operators_page_loads_nothing_from_elsewhere(client: httpx.AsyncClient) -> None:
    reply = await client.get("/operator")
    assert reply.status_code == 200
    policy = dict(one.split(" ", 1) for one in reply.headers["content-security-policy"].split("; "))
    assert {policy[name] for name in ("default-src", "base-uri", "form-action", "frame-ancestors")} == {
        "'none'"
    }
    for name in ("style", "script"):
        (inline,) = re.findall(f"<{name}>(.*?)</{name}>", reply.text, re.DOTALL)
        hashed = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert policy[f"{name}-src"] == f"'sha256-{hashed}'"
    assert not re.search(r" (style|on\w+)=", reply.text)  # which no hash allows
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", reply.text)


def test_a_head_has_no_body(world: World) -> None:
    with on_socket(App(world.coordinator, COORDINATOR, PLENTY, nothing, 0.01)) as made:
        whole, head = made.get("/key"), made.head("/key")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == whole.headers["content-length"]
        assert made.get("/key") is not None  # the connection can be used again


async def test_the_round_has_an_etag(client: httpx.AsyncClient, world: World) -> None:
    await world.everyone()
    await world.turn()
    first = await client.get("/round")
    assert (first.status_code, first.headers["cache-control"]) == (200, "no-cache")
    again = await client.get("/round", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    other = await client.get("/round", headers={"if-none-match": f'"{"0" * 64}"'})
    assert (other.status_code, other.content) == (200, first.content)
    model = await client.get(f"/m/{world.coordinator.rounds.now.model}")
    assert "immutable" in model.headers["cache-control"]


async def test_events_announce_rounds(world: World) -> None:
    events = EventStream(world.coordinator.news, Places(1, 1))
    stream = events.stream()
    heard = [await anext(stream)]
    events.look()
    heard.append(await anext(stream))
    await world.everyone()
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    await world.turn()
    events.look()
    heard.append(await waiting)
    live = world.coordinator.rounds.live
    assert live is not None
    assert heard[1] == b"event: state\ndata: paused\n\n"
    assert heard[2] == f"event: round\ndata: {live.hash.hex()}\n\n".encode()


async def test_a_failure_in_the_background_does_not_end_the_server(world: World) -> None:
    calls = 0

    async def failing() -> None:
        nonlocal calls
        calls += 1
        raise ZeroDivisionError

    async with served(App(world.coordinator, COORDINATOR, RequestLimits(), failing, 0.001)) as made:
        while calls < 3:
            assert (await made.get("/healthz")).json() == {"ok": True}
            await asyncio.sleep(0.001)


def test_events_are_streamed_over_a_socket(world: World) -> None:
    app = App(world.coordinator, COORDINATOR, PLENTY, nothing, 0.01)
    with on_socket(app) as made, made.stream("GET", "/events") as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        lines = reply.iter_lines()
        heard = [next(lines) for _ in range(4)]
    assert heard == [": murmura", "", "event: state", "data: paused"]


def test_an_aggregator_answers_on_a_socket(world: World) -> None:
    machine = world.aggregators["seed"]
    with on_socket(App(machine, AGGREGATOR, PLENTY, nothing, 0.01)) as made:
        assert made.get("/key").json() == machine.identity()
        early = made.post("/reports", content=b"")
        assert (early.status_code, early.json()["error"]) == (503, "paused")
        long = made.post("/reports", content=bytes(10_000))
        assert (long.status_code, long.json()["error"]) == (413, "oversize")
        assert "retry-after" not in long.headers
        assert long.headers["x-content-type-options"] == "nosniff"
