"""Small federations of organisations, beside the simulations they must equal."""

from pathlib import Path
from typing import Any

import numpy as np

from murmura.algorithms import algorithm
from murmura.core.interactions import Interactions
from murmura.engine.federated_model import FederatedModel
from murmura.runtimes.simulation import FederatedMethod, groups_of
from murmura.server.described import describe_federation
from murmura.server.organisations.folder import SiloTerms, cut_silos

SEED = 7
CHANNEL = {"channel": "readable", "minimum_cohort": 2}


def interactions(ratings: bool = False) -> Interactions:
    """Some forty people with a dozen items each."""
    rng = np.random.default_rng(0)
    pairs = np.unique(np.column_stack([rng.integers(0, 40, 500), rng.integers(0, 30, 500)]), axis=0)
    value = rng.integers(1, 6, len(pairs)).astype(np.float64) if ratings else None
    return Interactions.of(pairs[:, 0], pairs[:, 1], value, 1_000 * np.arange(len(pairs)))


def cut(
    name: str, settings: dict[str, Any], folder: Path, silos: int = 2, ratings: bool = False
) -> tuple[SiloTerms, FederatedModel]:
    """The silos of a federation as folders silo-0, silo-1, ... beside its terms, and the simulation."""
    data, preset = interactions(ratings), algorithm(name)(**settings)
    terms = SiloTerms(preset, describe_federation(data, preset, SEED))
    terms.write(folder / "terms")
    for number, people in enumerate(cut_silos(data, groups_of(data, preset, SEED), terms, silos, SEED)):
        people.write(folder / f"silo-{number}", terms)
    return terms, FederatedMethod(preset).fit(data, SEED)
