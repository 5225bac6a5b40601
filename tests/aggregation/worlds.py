"""Small federations for weighted methods."""

from typing import Any

import numpy as np

from murmura.algorithms import algorithm
from murmura.core.channel import ChannelSettings
from murmura.core.contract import Algorithm
from murmura.core.interactions import Interactions
from murmura.core.schedule import Schedule
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd

SHORT = Schedule(clients=5, rounds_per_epoch=3, epochs=2)
PLAIN = InProcess(path="plain")


def method(name: str, **values: Any) -> Algorithm:
    """A preset's algorithm in double precision."""
    return algorithm(name)(precision="float64", **values).algorithm()


def trained(
    made: Algorithm,
    data: Interactions | None = None,
    schedule: Schedule = SHORT,
    channel: ChannelSettings | None = None,
    runtime: Any = PLAIN,
) -> FederatedModel:
    """What a short training leaves."""
    plan = Plan(made, crowd() if data is None else data, schedule, seed=5, channel=channel or ChannelSettings())
    return fit(plan, runtime=runtime)


def gap(one: FederatedModel, other: FederatedModel) -> float:
    """The largest difference between two public models, what weighting adds left out."""
    names = set(one.model) - {"weighting"}
    assert names == set(other.model) - {"weighting"}
    return max(float(np.abs(one.model[name] - other.model[name]).max()) for name in names)
