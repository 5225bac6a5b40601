"""NeuMF's answer in numpy: one user's vectors against all items at once, and what to change in her vectors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
