"""Murmura's own."""

from murmura.runtimes.flower.server_app import app

__all__ = ["app"]
