"""The visitor's page as it is served: its files, its policy, and who may send shares."""

from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from murmura.core.errors import SettingError
from murmura.device.http_transport import HttpTransport
from murmura.server import endpoints
from murmura.server.http import page_files
from murmura.server.http.limits import PageOrigin
from murmura.server.http.machine_app import App
from murmura.server.http.page_files import TITLES, WORKER, PageFile, VisitorPage, spoken_paths
from murmura.wire.refusals import RefusedError
from murmura.wire.transport import HttpReply
from tests.http.network import World, people
from tests.web.test_app import COORDINATOR, PLENTY, nothing, served

pytestmark = pytest.mark.anyio
AGGREGATOR: tuple[endpoints.Endpoint[Any], ...] = endpoints.AGGREGATOR
UPLOADS = ("https://a.example/reports", "https://b.example/reports")
PARTS = {
    "/": PageFile(b"<!doctype html>", "text/html"),
    WORKER: PageFile(b"'worker'", "text/javascript"),
    "/assets/app.js": PageFile(b"'code'" * 100, "text/javascript"),
    TITLES: PageFile(b"{}", "application/json"),
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, people(), settings={"rounds": 2, "clients": 10})


@pytest.fixture
async def client(world: World) -> AsyncIterator[httpx.AsyncClient]:
    page = VisitorPage(PARTS, UPLOADS)
    async with served(App(world.coordinator, COORDINATOR, PLENTY, nothing, 0.01, page)) as made:
        yield made


def connects(reply: httpx.Response) -> list[str]:
    """Whom a reply lets the page talk to."""
    found = re.search(r"connect-src ([^;]*)", reply.headers["content-security-policy"])
    assert found is not None
    return found[1].split()


async def test_files_come_with_a_policy_that_names_every_address(client: httpx.AsyncClient) -> None:
    reply = await client.get("/")
    host = client.base_url.netloc.decode()
    assert (reply.status_code, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert connects(reply) == [*(host + path for path in spoken_paths()), *UPLOADS]
    assert not {"'self'", "*", host, f"{host}/"} & {*connects(reply)}  # not the whole server, nor anybody
    for said in (
        "default-src 'none'",
        "script-src 'self'",
        "require-trusted-types-for 'script'",
        "trusted-types m",
    ):
        assert said in reply.headers["content-security-policy"]
    assert "unsafe" not in reply.headers["content-security-policy"]
    other = await client.get("/", headers={"host": "other.example"})
    assert connects(other)[0] == "other.example" + spoken_paths()[0]
    assert "host" in other.headers["vary"]  # what a cache must not show under another name
    worker = await client.get(WORKER)
    assert connects(worker) == ["'self'", *UPLOADS]  # it fetches the page itself, too


async def test_what_devices_ask_for_may_be_asked_for_and_nothing_of_the_operator() -> None:
    said = spoken_paths()
    for path in ("/round", "/m/", "/tickets", "/devices", "/devices/me", "/log/entries/", TITLES):
        assert path in said
    assert not {"/status", "/rounds", "/operator", "/", "/orders/"} & {*said}


@pytest.mark.parametrize("host", ["", "evil.example; script-src *", "a b", "x" * 300])
def test_a_host_that_is_none_gets_no_way_into_the_policy(host: str) -> None:
    policy = VisitorPage(PARTS, UPLOADS).policy("/", host)
    assert "connect-src 'self' https://a.example/reports" in policy
    assert "evil" not in policy


async def test_files_are_packed_tagged_and_kept(client: httpx.AsyncClient) -> None:
    plain = await client.get("/assets/app.js", headers={"accept-encoding": "identity"})
    packed = await client.send(
        client.build_request("GET", "/assets/app.js", headers={"accept-encoding": "gzip"})
    )
    assert packed.content == plain.content == PARTS["/assets/app.js"].content
    assert (
        int(packed.headers["content-length"])
        == len(gzip.compress(plain.content, 9, mtime=0))
        < len(plain.content)
    )
    tag = {"if-none-match": plain.headers["etag"], "accept-encoding": "identity"}
    assert (await client.get("/assets/app.js", headers=tag)).status_code == 304
    assert plain.headers["cache-control"] == "no-cache"
    assert plain.headers["vary"] == packed.headers["vary"] == "accept-encoding, host"
    assert (await client.get("/assets/other.js")).status_code == 404
    assert (await client.post("/")).status_code in (404, 405)


async def test_only_one_origin_may_send_shares(world: World) -> None:
    allowed = PageOrigin.of("https://films.example/any/path")
    app = App(world.aggregators["seed"], AGGREGATOR, PLENTY, nothing, 0.01, allowed=allowed)
    async with served(app) as aggregator:
        asked = await aggregator.options("/reports", headers={"origin": "https://evil.example"})
        assert asked.status_code == 204
        assert asked.headers["access-control-allow-origin"] == "https://films.example"
        assert asked.headers["access-control-allow-methods"] == "POST"
        refused = await aggregator.post(
            "/reports", content=b"x" * 10, headers={"origin": "https://evil.example"}
        )
        assert refused.status_code == 503  # no terms are agreed yet
        assert (
            refused.headers["access-control-allow-origin"] == "https://films.example"
        )  # a refusal is read, too
        assert (await aggregator.options("/rounds")).status_code == 405
        assert "access-control-allow-credentials" not in asked.headers
    async with served(App(world.aggregators["seed"], AGGREGATOR, PLENTY, nothing, 0.01)) as aggregator:
        assert (await aggregator.options("/reports")).status_code == 405
        assert "access-control-allow-origin" not in (await aggregator.get("/key")).headers
    for bad in ("films.example", "ftp://x", "https://u:p@x"):
        with pytest.raises(SettingError, match="--page-origin must be an address"):
            PageOrigin.of(bad)


@dataclass(frozen=True)
class MeddlingPage(VisitorPage):
    """The honest files, with other headers."""

    more: Mapping[str, str] = field(default_factory=dict)

    def reply(self, path: str, request: endpoints.HttpRequest) -> HttpReply:
        reply = super().reply(path, request)
        return replace(reply, headers={**reply.headers, **self.more})


async def test_verify_finds_the_file_and_the_policy_that_differ(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = {path: part for path, part in PARTS.items() if path != TITLES}
    monkeypatch.setattr(page_files, "built_files", lambda: honest)
    await world.servers.agree()
    terms = world.coordinator.rounds.terms
    assert terms.seed_aggregator is not None
    assert terms.vector_aggregator is not None
    uploads = tuple(one.url + endpoints.UPLOADS for one in (terms.seed_aggregator, terms.vector_aggregator))

    async def checked(page: VisitorPage, fingerprint: bytes | None = None) -> dict[str, str]:
        async with (
            served(App(world.coordinator, COORDINATOR, PLENTY, nothing, 0.01, page)) as client,
            HttpTransport() as send,
        ):
            found = await page_files.verify_page(send, str(client.base_url).rstrip("/"), fingerprint)
            assert tuple(one + endpoints.UPLOADS for one in found.aggregators) == uploads
            return found.different

    assert await checked(VisitorPage(PARTS, uploads)) == {}
    changed = {**PARTS, "/assets/app.js": PageFile(b"'evil'", "text/javascript")}
    assert "is another file" in (await checked(VisitorPage(changed, uploads)))["/assets/app.js"]
    assert "policy" in (await checked(VisitorPage(PARTS, (*uploads, "https://evil.example"))))["/"]
    more: dict[str, str] = {"set-cookie": "id=1", "refresh": "0; url=https://evil.example", "nel": "{}"}
    more |= {"report-to": "{}", "permissions-policy": "camera=*", "content-type": "text/plain"}
    more |= {"referrer-policy": "unsafe-url", "cross-origin-opener-policy": "unsafe-none"}
    for name, value in more.items():
        assert f"header {name}" in (await checked(MeddlingPage(PARTS, uploads, {name: value})))["/"]
    second = VisitorPage(PARTS, uploads).policy("/", "host") + ", default-src *"
    assert "policy" in (await checked(MeddlingPage(PARTS, uploads, {"content-security-policy": second})))["/"]
    with pytest.raises(RefusedError, match="must be the one of the invitation"):
        await checked(VisitorPage(PARTS, uploads), b"x" * 32)
    assert await checked(VisitorPage(PARTS, uploads), terms.hash) == {}
    fewer = {path: part for path, part in PARTS.items() if path != WORKER}
    assert "is not there" in (await checked(VisitorPage(fewer, uploads)))[WORKER]
