"""A trained network of attention in numpy: what the end of a history says comes next."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Bools, Longs, Singles
from murmura.core.model import Arrays
from murmura.neural.histories import Windows

EPSILON = 1e-5  # added to a variance before its root, in training too


def last_states(network: Arrays, heads: int, read: Windows) -> Singles:
    """(rows, dim) the state at the end of every window; its product with the items' vectors is their scores."""
    width, d = read.column.shape[1], network["item"].shape[1]
    x: Singles = np.float32(d**0.5) * network["item"][read.column] + network["place"][:width]
    blocks = sum(name.startswith("query") for name in network)
    step = np.arange(width)
    earlier: Bools = (step <= step[:, None])[None]
    for n in range(1, blocks + 1):
        asking = x
        if n == blocks:  # nothing but the last place is asked for any more
            asking, earlier = x[np.arange(len(x)), read.size - 1][:, None], _within(step, read.size)
        x = asking + _attention(network, n, heads, asking, x, earlier)
        inner = np.maximum(
            _norm(network, f"feed{n}", x) @ network[f"inner{n}_weight"] + network[f"inner{n}_bias"], 0
        )
        x = x + inner @ network[f"outer{n}_weight"] + network[f"outer{n}_bias"]
    return _norm(network, "last", x[:, 0])


def _within(step: Longs, size: Longs) -> Bools:
    inside: Bools = step < size[:, None, None]
    return inside


def _attention(network: Arrays, n: int, heads: int, asking: Singles, x: Singles, seen: Bools) -> Singles:
    """What the places of `asking` gather from those of `x` that they may see, head by head."""
    at, every = _norm(network, f"attend{n}", asking), _norm(network, f"attend{n}", x)
    query, key, value = (
        (source @ network[f"{name}{n}_weight"]).reshape(len(x), -1, heads, x.shape[2] // heads).swapaxes(1, 2)
        for name, source in (("query", at), ("key", every), ("value", every))
    )
    weight = query @ key.swapaxes(2, 3) / np.float32(key.shape[3] ** 0.5)
    weight = np.where(seen[:, None], weight, np.float32(-np.inf))
    weight = np.exp(weight - weight.max(3, keepdims=True))
    weight /= weight.sum(3, keepdims=True)
    gathered: Singles = (weight @ value).swapaxes(1, 2).reshape(asking.shape)
    return gathered


def _norm(network: Arrays, name: str, x: Singles) -> Singles:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
    normed: Singles = scaled * network[f"{name}_scale"] + network[f"{name}_shift"]
    return normed
