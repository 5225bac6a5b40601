"""Whether a server shows browsers the page of this package: every file by its hash, and the policy with it.

It says what is shown to this machine now. Whoever serves a page can show another browser another one: a check
from many places, or a copy of the page on a server of one's own, is the answer to that.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from urllib.parse import urlsplit

from murmura.core.errors import SettingError
from murmura.runtimes.http.device.trust import fetch_terms
from murmura.runtimes.http.endpoints import UPLOADS
from murmura.runtimes.http.protocol.refusals import RefusedError
from murmura.runtimes.http.protocol.transport import DOWNLOAD_BYTES, Transport
from murmura.web.page import VisitorPage, built_files

POLICY = "content-security-policy"


@dataclass(frozen=True)
class PageCheck:
    """What was found, file by file: path -> "" where it is as it should be, otherwise what is not."""

    found: dict[str, str]

    @property
    def different(self) -> dict[str, str]:
        """Only what is not as it should be."""
        return {path: why for path, why in self.found.items() if why}


async def verify_page(send: Transport, url: str) -> PageCheck:
    """Fetch every file of the page, and compare it with that of this package."""
    built = built_files()
    if not built:
        raise SettingError(
            "this installation must have the page to compare with, but was built without; run `make web`, or "
            "install a release."
        )
    terms = await fetch_terms(send, url, None)
    aggregators = [one for one in (terms.seed_aggregator, terms.vector_aggregator) if one is not None]
    page = VisitorPage(built, tuple(one.url + UPLOADS for one in aggregators))
    return PageCheck({path: await _difference(send, url, path, page) for path in sorted(built)})


async def _difference(send: Transport, url: str, path: str, page: VisitorPage) -> str:
    try:
        reply = await send("GET", url + path, b"", {"accept-encoding": "identity"}, largest=DOWNLOAD_BYTES)
    except RefusedError as error:
        return str(error)
    if reply.status != 200:
        return f"is not there (status {reply.status})"
    if (found := hashlib.sha256(reply.body).hexdigest()) != page.parts[path].hash:
        return f"is another file, with SHA-256 {found}"
    if reply.headers.get(POLICY) != page.policy(path, urlsplit(url).netloc):
        return "comes without the policy that names whom the page may talk to, or with another one"
    return ""
