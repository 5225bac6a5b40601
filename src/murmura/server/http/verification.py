"""Whether a server shows browsers the page of this package: every file by its hash, and the policy with it.

It says what is shown to this machine now. Whoever serves a page can show another browser another one: a check
from many places, or a copy of the page on a server of one's own, is the answer to that.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from urllib.parse import urlsplit

from murmura.core.errors import SettingError
from murmura.device.trust import fetch_terms
from murmura.server.endpoints import UPLOADS
from murmura.server.http.page_files import VisitorPage, built_files
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import DOWNLOAD_BYTES, Transport

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
