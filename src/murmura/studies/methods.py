"""A model by its name on the command line, centralised or federated."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, cast

from murmura.algorithms import ALGORITHMS, algorithm
from murmura.baselines import BASELINES, baseline
from murmura.baselines.base import Baseline, Model
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.progress import Progress
from murmura.core.settings import from_dict
from murmura.engine.method import Method


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
    built = from_dict(method_class(name), settings)
    if name in BASELINES:
        centralised: Method = built
        return centralised
    from murmura.runtimes.inprocess import InProcess
    from murmura.runtimes.simulation import Simulated

    return Simulated(built, InProcess(workers=workers))


def check_data(ready: Method, train: Interactions, seed: int) -> None:
    """Refuse data a method cannot learn from, before anything is written."""
    from murmura.runtimes.simulation import Simulated

    if isinstance(ready, Simulated):
        ready.check(train, seed)


def carried(name: str, settings: dict[str, Any]) -> str | None:
    """What the updates of a federated method go through, and who can read them; None: nothing leaves."""
    if name not in ALGORITHMS:
        return None
    return from_dict(algorithm(name), settings).channel_settings().described()


def save_model(path: Path, ready: Method, model: Model) -> None:
    """Keep a fitted model as one file, complete or not at all."""
    from murmura.baselines import persistence
    from murmura.engine.fitted import Fitted

    if isinstance(model, Fitted):
        model.save(path)
    else:
        persistence.save_model(path, cast(Baseline, ready), model)


def load_model(path: Path, name: str, settings: dict[str, Any], train: Interactions) -> Model:
    """The model a file keeps; a federated one is joined with the data it was trained on."""
    from murmura.baselines import persistence
    from murmura.engine.fitted import Fitted

    if name in BASELINES:
        return persistence.load_model(path)[1]
    return Fitted.load(path, train, from_dict(algorithm(name), settings).algorithm())


def fit_resumably(
    ready: Method,
    train: Interactions,
    seed: int,
    progress: Progress,
    folder: Path,
    checkpoint_every: int | None = None,
) -> Model:
    """Fit; a federated method saves itself in `folder` on the way, by default after every epoch."""
    from murmura.runtimes.simulation import Simulated

    if not isinstance(ready, Simulated):
        return ready.fit(train, seed, progress)
    every = checkpoint_every or ready.epoch_rounds(train)
    return ready.fit(train, seed, progress, folder=folder, checkpoint_every=every)
