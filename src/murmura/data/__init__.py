"""A file becomes interactions, then a split. One file per source."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from murmura.data.sources.registry import SOURCES as SOURCES
    from murmura.data.sources.registry import load as load

# imported on first use: a source needs polars, the name of this room does not
_PUBLIC = {"SOURCES": "sources.registry", "load": "sources.registry"}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"murmura.data has no '{name}'; it offers {', '.join(sorted(_PUBLIC))}.")
    return getattr(import_module(f"murmura.data.{_PUBLIC[name]}"), name)
