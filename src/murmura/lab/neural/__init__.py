"""Rivals that are networks, for the tables of papers: fitted by torch, from arrays to arrays.

The modules that import torch are imported only to fit; a fitted model answers in numpy, without torch.
"""

from importlib.util import find_spec

from murmura.core.errors import MissingExtraError


def require_torch(what: str) -> None:
    """Refuse in one sentence where torch is not installed."""
    if find_spec("torch") is None:
        raise MissingExtraError(what, "neural")
