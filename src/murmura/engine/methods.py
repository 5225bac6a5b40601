"""A model by its name on the command line, centralised or federated: both are fitted and asked the same way."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, Protocol

from murmura.baselines import BASELINES, baseline
from murmura.core.arrays import Ints
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.lists import Lists
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import from_dict


class Recommender(Protocol):
    """What a fitted method offers."""

    def recommend(self, users: Ints, k: int = 10, workers: int = 1) -> Lists:
        """The k best unseen items of each user."""


class Method(Protocol):
    """A method with its hyper-parameters, ready to be fitted."""

    name: str
    seeded: bool

    def fit(
        self,
        train: Interactions,
        seed: int = 0,
        progress: Progress = SILENT,
        watch: Callable[[int, Any], bool] | None = None,
    ) -> Recommender:
        """Learn from the training part; methods that learn in epochs call `watch` after each."""


def names() -> tuple[str, ...]:
    """Every model that can be named on the command line."""
    return tuple(BASELINES)


def method_class(name: str) -> type[Any]:
    """The settings class behind a name."""
    if name in BASELINES:
        return baseline(name)
    near = difflib.get_close_matches(name, names(), n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"it is one of {', '.join(names())}."
    raise SettingError(f"there is no model '{name}': {hint}")


def method(name: str, settings: dict[str, Any]) -> Method:
    """The method of that name with these hyper-parameters, the others at their defaults."""
    built: Method = from_dict(method_class(name), settings)
    return built
