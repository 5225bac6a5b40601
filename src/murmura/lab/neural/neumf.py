"""He, Liao, Zhang, Nie, Hu and Chua: Neural collaborative filtering (WWW 2017), NeuMF.

The network is trained with torch (`neumf_network` has the formulas); it answers in numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from murmura.baselines.base import Pairs, popularity
from murmura.core.arrays import Floats, Ints, Singles
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays
from murmura.core.settings import Count, NonNegative, Positive, settings
from murmura.lab.neural import require_torch
from murmura.lab.neural.histories import Histories
from murmura.lab.neural.networks import NetworkBaseline, NetworkModel

if TYPE_CHECKING:
    from murmura.lab.neural.training_loop import Fit

Matrix = NDArray[Any]  # as precise as the network it came from
Vector = NDArray[Any]

FOLD_IN = 50  # at most so many steps towards a stranger's vectors


@dataclass(frozen=True, eq=False)
class NeuMfModel(NetworkModel):
    """Two vectors per user, two per item, and the tower over one pair of them."""

    read: Histories

    def score(self, users: Ints) -> Singles:
        """The score of every item, one user after the other; -inf where training had no row of the item."""
        scores = np.empty((len(users), len(self.read.item)), np.float32)
        for row, user in enumerate(users.tolist()):
            scores[row] = self._tower.score(self.network["user_gmf"][user], self.network["user_mlp"][user])
        return self.spread(scores, self.read.item)

    def score_history(self, items: Ints) -> Singles:
        """The likeliest vectors for the history, and their scores; popularity when it is empty.

        The items stay as they are. The loss is that of training, with the expectation over all negatives that
        could be drawn in place of those drawn; the prior is the normal distribution of the users' vectors.
        """
        own = np.isin(self.read.item, items)
        n = int(own.sum())
        if not n:
            return popularity(self.train)
        weight = np.where(own, 1, self.method.negatives * n / max(1, len(own) - n)).astype(np.float32)
        score = self._tower.score(*self._fold_in(own.astype(np.float32), weight))
        whole: Singles = self.spread(score[None], self.read.item)[0]
        return whole

    def _fold_in(self, wanted: Singles, weight: Singles) -> tuple[Singles, Singles]:
        from scipy.optimize import minimize

        gmf, mlp = self.network["user_gmf"], self.network["user_mlp"]
        trained = np.concatenate([gmf, mlp], 1)[self.read.lengths > 0].astype(np.float64)
        mean, spread, cut = trained.mean(0), trained.std(0) + 1e-6, gmf.shape[1]

        def vectors(t: Floats) -> tuple[Singles, Singles]:
            both = (mean + spread * t).astype(np.float32)
            return both[:cut], both[cut:]

        def loss(t: Floats) -> tuple[float, Floats]:
            value, by_gmf, by_mlp = self._tower.loss(*vectors(t), wanted, weight)
            return value + 0.5 * float(t @ t), spread * np.concatenate([by_gmf, by_mlp]) + t

        steps = {"maxiter": FOLD_IN}
        return vectors(minimize(loss, np.zeros(len(mean)), jac=True, method="L-BFGS-B", options=steps).x)

    @cached_property
    def _tower(self) -> Tower:
        return Tower.of(self.network)


class Tower(NamedTuple):
    """The network of `neumf_network` with everything that does not depend on the user worked out."""

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


@settings
class NeuMf(NetworkBaseline):
    """A factorisation and a tower of layers, trained side by side on positives and drawn negatives.

    `layers` are the widths of the tower: the first, even, is that of the user's and the item's embedding put
    together. `batch` counts positives, each with `negatives` items the user has not met in training.
    """

    name = "neumf"
    model = NeuMfModel

    factors: Count = 16  # length of the vectors of the factorisation
    # widths of the tower
    layers: Annotated[str, Field(pattern="^([2468]|[1-9][0-9]*[02468])(-[1-9][0-9]*)+$")] = "64-32-16"
    negatives: Count = 4  # items drawn for each training row
    epochs: Count = 20  # passes over the training rows
    batch: Count = 1024  # training rows of one step
    learning_rate: Positive = 0.001  # of Adam
    l2: NonNegative = 0.0  # weight of the squared weights

    def trained(self, read: Histories, fit: Fit) -> Arrays:
        """Adam on the cross entropy of pairs."""
        from murmura.lab.neural import neumf_network

        layers = tuple(map(int, self.layers.split("-")))
        return neumf_network.train(read, self.factors, layers, self.negatives, fit)

    def drawn_negatives(self, train: Interactions, seed: int, epoch: int) -> Pairs:
        """The items drawn beside every training pair, by the generator of that seed and epoch."""
        require_torch(self.name)
        from murmura.lab.neural import neumf_network

        return neumf_network.drawn_negatives(Histories.of(train), self.negatives, seed, epoch)
