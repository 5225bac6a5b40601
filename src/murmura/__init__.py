"""Murmura: a federated recommender, with honest evaluation against centralised rivals."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# public name -> where it lives; imported on first use, so that `import murmura` stays light
_PUBLIC = {
    "Catalogue": "core.catalogue",
    "Dataset": "core.catalogue",
    "Interactions": "core.interactions",
    "Split": "core.split",
    "Vocabulary": "core.interactions",
    "algorithm": "algorithms",
    "baseline": "baselines",
    "evaluate": "evaluation",
    "load": "data.sources",
    "prepare": "engine.protocol",
    "protocol": "engine.protocol",
    "simulated": "runtimes.simulation",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"murmura has no '{name}'; it offers {', '.join(sorted(_PUBLIC))}.")
    return getattr(import_module(f"murmura.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*_PUBLIC, "__version__"])
