"""The data every benchmark runs on: MovieLens 1M under the `fpl` protocol, or made-up data of the same size."""

import os
from dataclasses import replace
from functools import cache

import numpy as np

from murmura.core.catalogue import Dataset, Split
from murmura.core.interactions import Interactions


def load() -> Dataset:
    """The real data when MURMURA_DATA has it, made-up data of its size otherwise."""
    from murmura.data.sources.registry import load as load_source
    from murmura.data.sources.synthetic import synth

    if os.environ.get("MURMURA_DATA"):
        return load_source("ml-1m")
    return synth(users=6040, items=3706, interactions=1_000_209)


def rated() -> Dataset:
    """The same with ratings from 1 to 5, made up where the data is."""
    dataset = load()
    if os.environ.get("MURMURA_DATA"):
        return dataset
    return replace(dataset, interactions=with_stars(dataset.interactions))


def with_stars(data: Interactions) -> Interactions:
    """Made-up ratings from 1 to 5."""
    stars = np.clip(np.round(3.5 + np.random.default_rng(0).normal(size=len(data))), 1, 5)
    return Interactions(data.users, data.items, data.user, data.item, stars)


@cache
def split() -> Split:
    """The newest fifth of each user's rows is the test part."""
    from murmura.engine.prepared import whole_split
    from murmura.engine.protocol import protocol

    dataset = load()
    return whole_split(dataset, protocol("fpl", dataset))


@cache
def train() -> Interactions:
    """The training part over the items that occur in it: both sides rank the same candidates."""
    return split().train.compact()


def name() -> str:
    """What the rows of the table were measured on."""
    return "ml-1m" if os.environ.get("MURMURA_DATA") else "made-up data of the size of ml-1m"
