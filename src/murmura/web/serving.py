"""uvicorn with our limits: one process, TLS by certificate files."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from murmura.core.errors import SettingError

if TYPE_CHECKING:
    from starlette.applications import Starlette


@dataclass(frozen=True)
class ListenAddress:
    """Where a server listens."""

    host: str = "127.0.0.1"
    port: int = 8400
    certificate: Path | None = None
    private_key: Path | None = None

    @property
    def url(self) -> str:
        """As others would call it."""
        scheme = "https" if self.certificate else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}"

    def check(self) -> None:
        """Refuse half a pair of certificate files, and a port that is taken."""
        if (self.certificate is None) != (self.private_key is None):
            raise SettingError("TLS needs both --tls-cert and --tls-key, but only one is given.")
        for path in (self.certificate, self.private_key):
            if path is not None and not path.is_file():
                raise SettingError(f"{path} must be a certificate or key file, but there is none.")
        try:
            with socket.socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((self.host, self.port))
        except OSError as error:
            raise SettingError(
                f"{self.host}:{self.port} must be free to listen on, but is not ({error.strerror}); "
                "choose another --port."
            ) from None


def serve(app: Starlette, address: ListenAddress) -> None:
    """Answer until interrupted."""
    import uvicorn

    config = uvicorn.Config(
        app,
        host=address.host,
        port=address.port,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.private_key,
        log_level="warning",
        access_log=False,  # addresses of people are nobody's business
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
        backlog=2048,
        server_header=False,
    )
    asyncio.run(uvicorn.Server(config).serve())
