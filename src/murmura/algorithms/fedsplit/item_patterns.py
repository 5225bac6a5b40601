"""From how ratings of two items vary together to a few numbers per item, and from those to a person's ratings.

With x = r - mu - b_u - b_i, S_ij the sum of x_ui x_uj over the people who rated both i and j, and N_ij how many
those are, S_ij / (N_ij + shrink) estimates how two items covary; and who rates i also rating j says how alike
the items are, whatever the ratings. The leading directions of both are the patterns: a person's ratings are
then regressed on them with a ridge, which is the mean of a Gaussian process with these two covariances.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field
from threadpoolctl import threadpool_limits

from murmura.core.arrays import Floats
from murmura.core.settings import settings

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Part = Annotated[float, Field(ge=0, le=1)]
SPREAD = 20.0  # ratings added to an item's number where similarities by who rated are normalised


@settings
class PatternSettings:
    """What the server makes of co-statistics."""

    rating_patterns: Count = 20  # directions of what ratings say
    mask_patterns: Count = 20  # directions of who rated what
    rating_weight: Positive = 0.3  # the standard deviation, in stars, that each kind may explain of a rating
    mask_weight: Positive = 0.7
    shrink: Positive = 300.0  # pairs of ratings that count as no covariance at all
    own: Part = 0.3  # the part of an item's variance that is not noise

    @property
    def patterns(self) -> int:
        """How many numbers describe an item."""
        return self.rating_patterns + self.mask_patterns


def item_patterns(S: Floats, N: Floats, people: int, chosen: PatternSettings) -> Floats:
    """The patterns of every item, (items, patterns), centred over ratings: they do not double a user bias."""
    counts = np.diag(N).copy()
    with threadpool_limits(1, "blas"):
        covariance = S / (np.maximum(N, 0.0) + chosen.shrink)
        np.fill_diagonal(covariance, chosen.own * np.diag(covariance))
        size = np.sqrt(counts + SPREAD)
        together = (N - np.outer(counts, counts) / max(people, 1)) / np.outer(size, size)
        parts = (
            chosen.rating_weight * _unit(_leading(covariance, chosen.rating_patterns), counts),
            chosen.mask_weight * _unit(_leading(together, chosen.mask_patterns), counts),
        )
    found = np.hstack(parts)
    centred: Floats = found - (counts / max(counts.sum(), 1.0)) @ found
    return centred


def _leading(matrix: Floats, k: int) -> Floats:
    """The k leading eigenvectors, as long as the roots of their eigenvalues; zero beyond the positive ones."""
    from scipy.linalg import eigh

    n = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=(max(0, n - k), n - 1))
    found = np.zeros((n, k))
    found[:, : len(values)] = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    return found


def _unit(patterns: Floats, counts: Floats) -> Floats:
    """Scaled so that a rating's patterns have length 1 on average."""
    length = np.sqrt(counts @ np.square(patterns).sum(axis=1) / max(counts.sum(), 1.0))
    scaled: Floats = patterns / length if length > 0 else patterns
    return scaled
