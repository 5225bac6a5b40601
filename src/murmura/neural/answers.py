"""Trained networks answer in numpy: attention says what comes next, NeuMF's tower scores all items at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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


Matrix = NDArray[Any]  # as precise as the network it came from
Vector = NDArray[Any]


class Tower(NamedTuple):
    """The network of `neural.neumf_network` with everything that does not depend on the user worked out."""

    gmf: Matrix  # (items, factors) q_i * h
    first: Matrix  # (items, width 1) the item's half of W_1 [p', q'] + b_1
    entry: Matrix  # (embedding, width 1) the user's half of W_1
    layers: tuple[tuple[Matrix, Vector], ...]  # W_2, b_2, ...
    last: Vector  # h of the tower
    bias: Vector  # (1,)

    @staticmethod
    def of(network: dict[str, NDArray[Any]]) -> Tower:
        """From the parameters by name."""
        factors, half = network["user_gmf"].shape[1], network["user_mlp"].shape[1]
        output, first = network["output_weight"][:, 0], network["tower1_weight"]
        depth = sum(name.startswith("tower") for name in network) // 2
        return Tower(
            network["item_gmf"] * output[:factors],
            network["item_mlp"] @ first[half:] + network["tower1_bias"],
            np.ascontiguousarray(first[:half]),
            tuple((network[f"tower{n}_weight"], network[f"tower{n}_bias"]) for n in range(2, depth + 1)),
            output[factors:],
            network["output_bias"],
        )

    def score(self, gmf: Vector, mlp: Vector) -> Vector:
        """The score of every item for a user with these two vectors."""
        return self._score(gmf, self._climb(mlp)[-1])

    def loss(self, gmf: Vector, mlp: Vector, wanted: Vector, weight: Vector) -> tuple[float, Vector, Vector]:
        """The weighted cross entropy of all items against `wanted` (0 or 1); its gradient by both vectors."""
        floors = self._climb(mlp)
        score = self._score(gmf, floors[-1])
        loss = float(weight @ np.logaddexp(0, np.where(wanted > 0, -score, score)))
        sigmoid = np.exp(-np.logaddexp(0, -score))  # never overflows
        slope = (weight * (sigmoid - wanted)).astype(score.dtype)
        back = np.outer(slope, self.last) * (floors[-1] > 0)
        for (matrix, _), floor in zip(reversed(self.layers), reversed(floors[:-1])):
            back = (back @ matrix.T) * (floor > 0)
        return loss, slope @ self.gmf, self.entry @ back.sum(0)

    def _climb(self, mlp: Vector) -> list[Matrix]:
        """What each floor of the tower hands to the next: (items, width) each."""
        floors = [np.maximum(self.first + mlp @ self.entry, 0)]
        for matrix, bias in self.layers:
            floors.append(np.maximum(floors[-1] @ matrix + bias, 0))
        return floors

    def _score(self, gmf: Vector, top: Matrix) -> Vector:
        score: Vector = self.gmf @ gmf + top @ self.last + self.bias
        return score
