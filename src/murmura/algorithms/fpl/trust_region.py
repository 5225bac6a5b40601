"""How far a model of factors may go by what is public: an answer to liars within the bounds of a sum.

A sum has no individuals to look at, but the counts of the prior say how many people have an item, and so what
an honest model says of it. Rows of a sum are cut to what so many people add where they do not all pull one way,
and after each step biases and vectors are brought back to what counts allow:

    |row_i| <= sqrt(m (c_i / N + T / |I|)),   prior_i - FALL <= b_i <= prior_i + RISE,
    |q_i . v - fit(c_i)| <= SLACK,   |q_i| <= NEAR + FAR log10(c_i + 1)

v is the direction of what is popular, sum c_i q_i over its length: nearly that of the mean p_u, so that q_i . v
raises or lowers an item for everybody at once. In honest models it follows the count; `fit` is the parabola
through all items over log10(c_i + 1), which a few false rows do not move. The other directions, in which tastes
differ, stay free.

An item that few have can then not come first for everybody, nor one that many have disappear, whoever says so,
as long as the counts are true.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats
from murmura.core.update import Arrays

Values = NDArray[Any]
RISE, FALL = 0.8, 0.2  # of a bias beyond its prior; a smaller fall costs honest trainings nothing
NEAR, FAR = 0.1, 0.5  # the longest vector of an item nobody has, and what each power of ten of its count adds
SLACK = 0.6  # around what the count says of q_i . v
CENTRE, KNOWN = "centre", "known"  # what the server remembers of it: the prior's biases, log10(count + 1)


def region(counts: Floats, prior: Values) -> dict[str, Values]:
    """What the server keeps to itself."""
    return {CENTRE: prior, KNOWN: np.log10(np.maximum(counts, 0.0) + 1.0)}


def undirected_rows(touches: Floats) -> Floats:
    """How long rows of a sum may be that so many examples touch on average: as of unit steps anywhere."""
    longest: Floats = np.sqrt(touches)
    return longest


def project(theta: Values, memory: Arrays) -> Values:
    """(Q, b), b the last column, brought back into the region; before there are counts, the same one."""
    if CENTRE not in memory:
        return theta
    centre, known = memory[CENTRE], memory[KNOWN]
    Q, b = theta[:, :-1].astype(np.float64), theta[:, -1]
    Q = _aligned(Q, known)
    length, radius = np.sqrt((Q**2).sum(axis=1)), NEAR + FAR * known
    Q *= np.where(length > radius, radius / np.maximum(length, 1e-300), 1.0)[:, None]
    return np.column_stack([Q.astype(theta.dtype), np.clip(b, centre - FALL, centre + RISE)])


def _aligned(Q: Floats, known: Floats) -> Floats:
    """The vectors, moved along the popular direction where they point too far with or against it."""
    v = (10.0**known - 1.0) @ Q
    length = float(np.sqrt((v**2).sum()))
    if not length or np.ptp(known) == 0:
        return Q
    along = Q @ (v / length)
    fitted = np.polyval(np.polyfit(known, along, min(2, len(np.unique(known)) - 1)), known)
    moved: Floats = Q + np.outer(np.clip(along, fitted - SLACK, fitted + SLACK) - along, v / length)
    return moved
