"""A model by its name on the command line, centralised or federated."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from murmura.algorithms import ALGORITHMS, algorithm
from murmura.baselines import BASELINES, baseline
from murmura.core.errors import SettingError
from murmura.core.settings import from_dict
from murmura.engine.method import Method

if TYPE_CHECKING:
    from murmura.runtimes.simulation import Simulated


def names() -> tuple[str, ...]:
    """Every model that can be named on the command line."""
    return (*BASELINES, *ALGORITHMS)


def method_class(name: str) -> type[Any]:
    """The settings class behind a name."""
    if name in BASELINES:
        return baseline(name)
    if name in ALGORITHMS:
        return algorithm(name)
    near = difflib.get_close_matches(name, names(), n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"it is one of {', '.join(names())}."
    raise SettingError(f"there is no model '{name}': {hint}")


def method(name: str, settings: dict[str, Any], workers: int = 1) -> Method:
    """The method of that name with these hyper-parameters, the others at their defaults."""
    if name in ALGORITHMS:
        return federated(name, settings, workers)
    centralised: Method = from_dict(method_class(name), settings)
    return centralised


def federated(name: str, settings: dict[str, Any], workers: int = 1) -> Simulated:
    """The federated method of that name with these settings, to be simulated."""
    from murmura.runtimes.inprocess import InProcess
    from murmura.runtimes.simulation import Simulated

    return Simulated(from_dict(algorithm(name), settings), InProcess(workers=workers))
