"""Murmura's own."""

from murmura.runtimes.flower.client_app import app

__all__ = ["app"]
