"""Why an item is shown: the terms its score is the sum of, or the nearest of the person's own items.

"Because" is said only of what passes a test by removal: without it the item would not be in the list. Of a
feature that does not, "shares". Nearness of item vectors is a fact about the model, not a cause: "similar to".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.errors import SettingError
from murmura.core.model import Model, ScoreTerms

FIRST = 5  # terms that a sentence names; the others are added up


@dataclass(frozen=True)
class TermReason:
    """One of the terms that add up to the score of a shown item."""

    name: str
    term: float
    gain: float | None  # how much the feature tells about her choices; None: it is no feature of items
    because: bool  # whether the item would leave the list without it

    def words(self) -> str:
        """As a person reads it."""
        said = "because " if self.because else "" if self.gain is None else "shares "
        return said + self.name


def term_reasons(terms: ScoreTerms, offered: Ints, shown: Ints, k: int) -> list[list[TermReason]]:
    """The terms of every shown item, the most informative feature first; `offered` is what the list is of."""
    found = []
    for item in shown.tolist():
        parts = []
        for term in terms.of(item).tolist():
            value = float(terms.values[term, item])
            because = value > 0 and terms.drops(item, term, offered, k)
            gain = float(terms.gain[term]) if term < terms.features else None
            parts.append(TermReason(terms.names[term], value, gain, because))
        found.append(parts)
    return found


def sentence(score: float, reasons: list[TermReason]) -> str:
    """The first terms and the sum of the others; as written they add up to the score."""
    if not reasons:
        return "shares nothing with what you like"
    texts = [f"{one.words()} {one.term:.3f}" for one in reasons[:FIRST]]
    if rest := reasons[FIRST:]:
        left = round(score, 3) - sum(round(one.term, 3) for one in reasons[:FIRST])
        decisive = sum(one.because for one in rest)
        others = f"{len(rest)} other{'s' if len(rest) > 1 else ''}"
        texts.append(f"{others}{f' ({decisive} decisive)' if decisive else ''} {left:.3f}")
    return f"{score:.3f} = " + " + ".join(texts)


def item_vectors(model: Model) -> Floats:
    """The item vectors a model ranks with: (items, factors). A federated model's are public."""
    vectors = model.item_vectors
    if vectors is None:
        raise SettingError(
            "--why needs a model whose scores are sums (ease, item-knn, user-knn, kgflex) or with item "
            "vectors (federated, bpr-mf, mf, ials), but this one has neither; leave --why out."
        )
    return np.asarray(vectors, np.float64)


def nearest_own(vectors: Floats, own: Ints, shown: Ints) -> list[tuple[int, float]]:
    """For every shown item the own item with the largest cosine, of equal ones the lower; -1: there is none."""
    if not len(own):
        return [(-1, 0.0)] * len(shown)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norms > 0, norms, 1.0)
    cosines = unit[shown] @ unit[own].T  # (shown, own)
    nearest = cosines.argmax(axis=1)
    return list(zip(own[nearest].tolist(), cosines[np.arange(len(shown)), nearest].tolist()))
