"""The visitor's page: the built files of the package, each at its own address, under a policy that binds them.

The policy names every address the page may talk to: what devices ask the coordinator for, and where the two
aggregators take uploads. A browser sends nothing to any other, whatever the code on the page says.

Whether a server shows the page of this package is checked by the hash of every file, and the policy with it.
That says what is shown to this machine now. Whoever serves a page can show another browser another one: a check
from many places, or a copy of the page on a server of one's own, is the answer to that.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from urllib.parse import urlsplit

from murmura.core.errors import SettingError
from murmura.device.trust import fetch_terms
from murmura.server.endpoints import ASK_AGAIN, COORDINATOR, HTML, JSON, SHARED, UPLOADS, HttpRequest
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import DOWNLOAD_BYTES, HttpReply, Transport

BUILD = "build.json"  # beside the files: their hashes, and that of the sources they were built from
TITLES = "/titles.json"  # what people call the items: served with the page, no part of the protocol
WORKER = "/sw.js"  # the service worker: it counts what leaves, and keeps the page for when there is no network
TYPES = {
    ".css": "text/css",
    ".html": HTML,
    ".js": "text/javascript",
    ".json": JSON,
    ".map": JSON,
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
HOST = re.compile(r"[A-Za-z0-9.\-\[\]:]{1,255}")
FEATURES = "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()"


@dataclass(frozen=True)
class PageFile:
    """One file as it travels."""

    content: bytes
    kind: str

    @cached_property
    def hash(self) -> str:
        """What `murmura verify` compares."""
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def packed(self) -> bytes:
        """For browsers that say they can unpack it; the same bytes each time."""
        return gzip.compress(self.content, 9, mtime=0)


@dataclass(frozen=True)
class VisitorPage:
    """What is served to browsers; `uploads` are the addresses at which the aggregators take shares."""

    parts: Mapping[str, PageFile]  # by path
    uploads: tuple[str, ...] = ()

    @staticmethod
    def of(titles: bytes, uploads: Iterable[str]) -> VisitorPage | None:
        """The page of this package with the names of a federation's items; None where it was not built."""
        built = built_files()
        if not built:
            return None
        return VisitorPage({**built, TITLES: PageFile(titles, JSON)}, tuple(uploads))

    def reply(self, path: str, request: HttpRequest) -> HttpReply:
        """A file, or that it is still the one the browser has."""
        part, packs = self.parts[path], "gzip" in request.headers.get("accept-encoding", "")
        tag = f'"{part.hash}{"-gzip" if packs else ""}"'
        headers = {
            "etag": tag,
            "vary": "accept-encoding, host",  # the policy names the host
            **({"content-encoding": "gzip"} if packs else {}),
            "cache-control": ASK_AGAIN,  # names stay when files change; the service worker keeps them
            **self.rules(path, request.headers.get("host", "")),
        }
        known = request.headers.get("if-none-match") == tag
        return (
            HttpReply(304, b"", headers)
            if known
            else HttpReply(200, part.packed if packs else part.content, headers)
        )

    def rules(self, path: str, host: str) -> dict[str, str]:
        """What a browser is told to hold a file to; `murmura verify` compares it."""
        return {
            "content-type": self.parts[path].kind,
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": FEATURES,
            "content-security-policy": self.policy(path, host),
        }

    def policy(self, path: str, host: str) -> str:
        """Whom the page may talk to: paths of this server one by one, and where shares are taken.

        The service worker passes on what the page asks for, and fetches the page itself.
        """
        here = host if HOST.fullmatch(host) else ""
        own = [f"{here}{one}" for one in spoken_paths()] if here and path != WORKER else ["'self'"]
        return "; ".join(
            (
                "default-src 'none'",
                "script-src 'self'",
                "style-src 'self'",
                "img-src 'self'",
                "manifest-src 'self'",
                "worker-src 'self'",
                f"connect-src {' '.join([*own, *self.uploads])}",
                "base-uri 'none'",
                "form-action 'none'",
                "frame-ancestors 'none'",
                "require-trusted-types-for 'script'",
                "trusted-types murmura",
            )
        )


def spoken_paths() -> list[str]:
    """What a device may ask the coordinator for: whole paths, and beginnings of those that name something."""
    shared = {one.name for one in SHARED}
    offered = [one for one in COORDINATOR if one.guard in ("none", "device") and one.name not in shared]
    paths = {one.path.partition("{")[0] for one in offered if one.answers != HTML}
    return sorted({*paths, TITLES})


@cache
def built_files() -> dict[str, PageFile]:
    """Every built file by its path; {} where the page was not built."""
    root = files("murmura.server.http") / "static"
    if not (root / BUILD).is_file():
        return {}
    found = {path: PageFile(part.read_bytes(), _kind(path)) for path, part in _walk(root, "")}
    return {**found, "/": found["/index.html"]}


def _kind(path: str) -> str:
    return TYPES.get(path[path.rfind(".") :], "application/octet-stream")


def _walk(folder: Traversable, above: str) -> Iterable[tuple[str, Traversable]]:
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.is_dir():
            yield from _walk(one, f"{above}/{one.name}")
        elif one.name != BUILD:
            yield f"{above}/{one.name}", one


POLICY = "content-security-policy"
# headers that would mark a visitor, move her, or tell of her
UNWANTED = ("set-cookie", "refresh", "report-to", "reporting-endpoints", "nel")


@dataclass(frozen=True)
class PageCheck:
    """What was found, file by file: path -> "" where it is as it should be, otherwise what is not."""

    found: dict[str, str]
    terms: FederationTerms  # whose aggregators the policy must name

    @property
    def aggregators(self) -> list[str]:
        """Where the page may send shares."""
        return [one.url for one in self.terms.aggregators]

    @property
    def different(self) -> dict[str, str]:
        """Only what is not as it should be."""
        return {path: why for path, why in self.found.items() if why}


async def verify_page(send: Transport, url: str, fingerprint: bytes | None = None) -> PageCheck:
    """Fetch every file of the page, and compare it with that of this package.

    Without the fingerprint of an invitation the server itself says which terms, and so which aggregators,
    are right.
    """
    built = built_files()
    if not built:
        raise SettingError(
            "this installation must have the page to compare with, but was built without; run `make web`, or "
            "install a release."
        )
    terms = await fetch_terms(send, url, fingerprint)
    checked = PageCheck({}, terms)
    page = VisitorPage(built, tuple(one + UPLOADS for one in checked.aggregators))
    return PageCheck({path: await _difference(send, url, path, page) for path in sorted(built)}, terms)


async def _difference(send: Transport, url: str, path: str, page: VisitorPage) -> str:
    try:
        reply = await send("GET", url + path, b"", {"accept-encoding": "identity"}, largest=DOWNLOAD_BYTES)
    except RefusedError as error:
        return str(error)
    if reply.status != 200:
        return f"is not there (status {reply.status})"
    if (found := hashlib.sha256(reply.body).hexdigest()) != page.parts[path].hash:
        return f"is another file, with SHA-256 {found}"
    rules = page.rules(path, urlsplit(url).netloc)
    if reply.headers.get(POLICY) != rules.pop(POLICY):  # two of them arrive as one with a comma
        return "comes without the policy that names whom the page may talk to, or with another one"
    for name, value in rules.items():
        text = "; charset=utf-8" if name == "content-type" and value.startswith("text/") else ""
        if reply.headers.get(name, "").lower() != (value + text).lower():
            return f"comes without the header {name} of this package, or with another one"
    if unwanted := [name for name in UNWANTED if name in reply.headers]:
        return f"comes with the header {unwanted[0]}, which the page has no use for"
    return ""
