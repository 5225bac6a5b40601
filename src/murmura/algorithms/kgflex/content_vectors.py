"""FCF whose item vectors are drawn towards what is publicly known of the items, ours.

The prior of q_i is not 0 but c_i, the item's place among the leading directions of all items' TF-IDF vectors
over their features: lambda |q_i - c_i|^2. An item that nobody has yet stays at c_i. Only the server needs it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import linalg, sparse
from threadpoolctl import threadpool_limits

from murmura.algorithms.fcf.baseline import SPREAD, Values
from murmura.algorithms.fcf.fcf import FCFPaper
from murmura.core.arrays import Floats
from murmura.core.contract import FederationInfo, ServerState
from murmura.core.features import ItemFeatures
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import settings
from murmura.kernels.item_weights import item_vectors


@settings
class ContentVectors(FCFPaper):
    """FCF with a prior of the item vectors from their features."""

    name: ClassVar[str] = "content-vectors"
    uses_features: ClassVar[bool] = True

    content: Annotated[float, Field(ge=0)] = 0.3  # how long c_i is; 0: the prior is 0

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Items on offer start around c_i, the others at it."""
        start = super().server_init(info, rng)
        assert info.features is not None
        C = (self.content * leading_directions(info.features, self.factors)).astype(self.precision)
        Q = C.copy()
        draws = SPREAD * rng.stream(Purpose.INIT).normals(info.items * self.factors)
        Q[info.listed] += draws.reshape(Q.shape).astype(self.precision)[info.listed]
        return ServerState({"Q": Q}, {**start.private, "prior": C})

    def _beyond_prior(self, server: ServerState) -> Values:
        """How far the item vectors have gone from c_i."""
        beyond: Values = server.model["Q"] - server.private["prior"]
        return beyond


def leading_directions(features: ItemFeatures, width: int) -> Floats:
    """The items over the `width` directions that explain most of their TF-IDF vectors, 0 beyond their rank.

    From the smaller of the two tables of inner products, which has at most as many rows as there are items; one
    thread, so that every run of a machine finds the same bits.
    """
    padded: Floats = np.zeros((features.items, width))
    if not len(features):
        return padded
    weights = item_vectors(features, None, "content-vectors").weights
    M = sparse.csr_matrix((weights.value, weights.column, weights.start), shape=(features.items, len(features)))
    tall = features.items > len(features)
    with threadpool_limits(1, "blas"):
        gram = ((M.T @ M) if tall else (M @ M.T)).toarray()
        n = min(width, len(gram))
        values, vectors = linalg.eigh(gram, subset_by_index=(len(gram) - n, len(gram) - 1))
        found = M @ vectors if tall else vectors * np.sqrt(np.maximum(values, 0.0))
    padded[:, :n] = found[:, ::-1]
    return padded
