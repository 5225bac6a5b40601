"""The operator's page: it asks for the token and shows the status; nothing is loaded from anywhere else."""

from __future__ import annotations

from importlib.resources import files

from starlette.responses import Response

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"


def page() -> Response:
    """One HTML file without outside parts."""
    content = (files("murmura.web") / "status.html").read_bytes()
    headers = {"content-security-policy": POLICY, "referrer-policy": "no-referrer", "cache-control": "no-cache"}
    return Response(content, headers=headers, media_type="text/html")
