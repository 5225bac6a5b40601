"""Requests that a page of another origin makes: allowed to one origin, where shares are taken.

A browser asks before it sends (CORS, the Fetch standard), and shows a page no answer that does not name its
origin. Devices that are no browsers are not bound by it, so nothing here decides who may take part.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from murmura.core.errors import SettingError
from murmura.wire.transport import VERSION_HEADER, HttpReply

KEPT = 600  # seconds for which a browser need not ask again


@dataclass(frozen=True)
class PageOrigin:
    """The one origin whose page may send shares here."""

    origin: str

    @staticmethod
    def of(url: str) -> PageOrigin:
        """The origin of an address."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
            raise SettingError(
                f"--page-origin must be an address such as https://films.example, but it is '{url}'."
            )
        return PageOrigin(f"{parts.scheme}://{parts.netloc}")

    @property
    def headers(self) -> dict[str, str]:
        """What every answer says, whoever asks."""
        return {"access-control-allow-origin": self.origin, "vary": "origin"}

    def preflight(self) -> HttpReply:
        """Which requests its page may make."""
        return HttpReply(
            204,
            b"",
            {
                "access-control-allow-methods": "POST",
                "access-control-allow-headers": f"content-type, {VERSION_HEADER}",
                "access-control-max-age": str(KEPT),
            },
        )
