"""The network of NCF (He et al., WWW 2017) over a person's and an item's vector: scores, and their slopes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmura.core.rng import Stream

Numbers = NDArray[Any]  # float32 or float64


class Tape(NamedTuple):
    """What a pass leaves for the slopes."""

    layers: list[Numbers]  # the input, then what each layer gives
    last: Numbers  # what the scores are a weighted sum of


class ScoreTower(NamedTuple):
    """Layers of rectified sums over both vectors side by side; their first `product` numbers are multiplied.

    The score is a weighted sum of the products and of the last layer. All weights are one flat vector.
    """

    product: int
    sizes: tuple[int, ...]  # of the input, then of each layer

    @staticmethod
    def over(factors: int, product: int) -> ScoreTower:
        """Three layers, each half of the one before."""
        size = 2 * (factors - product)
        return ScoreTower(product, (size, *(max(1, size // part) for part in (2, 4, 8))))

    @property
    def weights(self) -> int:
        """How many there are."""
        return sum((a + 1) * b for a, b in pairwise(self.sizes)) + self.product + self.sizes[-1] + 1

    def parts(self, flat: Numbers) -> tuple[list[Numbers], Numbers]:
        """Views: a matrix for each layer, its last row the bias, and the weights of the score."""
        layers, first = [], 0
        for a, b in pairwise(self.sizes):
            layers.append(flat[first : first + (a + 1) * b].reshape(a + 1, b))
            first += (a + 1) * b
        return layers, flat[first:]

    def begin(self, stream: Stream, precision: str) -> Numbers:
        """Uniform within 1 / sqrt(inputs) of each layer."""
        flat = stream.words(self.weights).astype(np.float64) / 2.0**31 - 1.0
        layers, last = self.parts(flat)
        for part, inputs in [*((layer, len(layer) - 1) for layer in layers), (last, len(last) - 1)]:
            part /= np.sqrt(inputs)
        return flat.astype(precision)

    def scores(self, flat: Numbers, p: Numbers, rows: Numbers) -> tuple[Numbers, Tape]:
        """The logit of every item."""
        (layers, last), k = self.parts(flat), self.product
        x = np.concatenate([np.broadcast_to(p[k:], (len(rows), len(p) - k)), rows[:, k:]], axis=1)
        seen = [x]
        for W in layers:
            x = np.maximum(x @ W[:-1] + W[-1], 0)
            seen.append(x)
        h = np.concatenate([p[:k] * rows[:, :k], x], axis=1)
        return h @ last[:-1] + last[-1], Tape(seen, h)

    def slopes(
        self, flat: Numbers, p: Numbers, rows: Numbers, tape: Tape, slope: Numbers
    ) -> tuple[Numbers, Numbers, Numbers]:
        """From those of the scores: of the weights, of the person's vector and of every item's."""
        (layers, last), k, half = self.parts(flat), self.product, len(p) - self.product
        weights, dp, dq = np.empty_like(flat), np.empty_like(p), np.empty_like(rows)
        into, into_last = self.parts(weights)
        into_last[:-1], into_last[-1] = slope @ tape.last, slope.sum()
        back = slope[:, None] * last[:-1]
        dp[:k], dq[:, :k] = (back[:, :k] * rows[:, :k]).sum(0), back[:, :k] * p[:k]
        back = back[:, k:]
        for n in reversed(range(len(layers))):
            back = back * (tape.layers[n + 1] > 0)
            into[n][:-1], into[n][-1] = tape.layers[n].T @ back, back.sum(0)
            back = back @ layers[n][:-1].T
        dp[k:], dq[:, k:] = back[:, :half].sum(0), back[:, half:]
        return weights, dp, dq
