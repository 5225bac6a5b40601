"""What a server does with a summed gradient: the published plain sum, and four steps that learn faster.

Kingma and Ba: Adam (ICLR 2015). Duchi, Hazan and Singer: Adaptive subgradient methods (JMLR 2011).
Ward, Wu and Bottou: AdaGrad stepsizes (ICML 2019): one state for all parameters, "adagrad-norm", which does not
make noise in seldom touched rows as large as anything else.
All of them need only the sum over clients, so a secure sum can feed them.

AdaGrad never forgets: one round of squares beyond all others would stop a row for good. `shorten_rows` lets no
row of a sum be longer than the clients of a round make it, by numbers that are public.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats, Ints
from murmura.core.update import Arrays, SparseRows

Optimiser = Literal["sum", "per-contributor", "adam", "adagrad", "adagrad-norm"]
Values = NDArray[Any]
_SMALL = 1e-8  # keeps a division by an unused state finite; the value both papers' implementations take


def begin(kind: Optimiser, theta: Values) -> dict[str, Values]:
    """What it remembers about parameters of the shape of `theta` before the first round."""
    if kind == "adagrad":
        return {"squares": np.zeros_like(theta)}
    if kind == "adagrad-norm":
        return {"squares": np.zeros(1, theta.dtype)}
    if kind == "adam":
        return {"mean": np.zeros_like(theta), "squares": np.zeros_like(theta), "steps": np.zeros(1, np.int64)}
    return {}


def move(
    kind: Optimiser, rate: float, theta: Values, memory: Arrays, sent: SparseRows
) -> tuple[Values, dict[str, Values]]:
    """The parameters after an ascent along the summed rows `sent`, and the new memory.

    For "per-contributor" the last column counts the clients that sent the row, each by its weight; a row that
    only clients of weight 0 sent stays.
    """
    index, gradient = sent.index, sent.values
    theta, new = theta.copy(), {name: array.copy() for name, array in memory.items()}
    if kind == "sum":
        theta[index] += rate * gradient
    elif kind == "per-contributor":
        rows, count = gradient[:, :-1], gradient[:, -1:]
        theta[index] += rate * np.divide(rows, count, out=np.zeros_like(rows), where=count > 0)
    elif kind == "adagrad-norm":
        new["squares"] += (gradient**2).sum() / theta.size
        theta[index] += rate * gradient / (np.sqrt(new["squares"]) + _SMALL)
    elif kind == "adagrad":
        new["squares"][index] += gradient**2
        theta[index] += rate * gradient / (np.sqrt(new["squares"][index]) + _SMALL)
    else:
        theta += _adam(rate, new, index, gradient)
    return theta, new


def longest_rows(touches: Floats) -> Floats:
    """How long rows of a sum may be, of which so many training examples on average are sums.

    An example adds a vector of about unit length to a row. Their number is Poisson-like around its mean n: four
    deviations and a constant for rows that are seldom touched leave honest rows as they are.
    """
    return touches + 4.0 * np.sqrt(touches) + 16.0


def shorten_rows(sent: SparseRows, longest: Floats, width: int | None = None) -> SparseRows:
    """The same rows, those longer than `longest` (rows,) shortened to it in their direction.

    Only their first `width` columns count and are shortened: what follows counts senders.
    """
    length = np.sqrt((sent.values[:, :width].astype(np.float64) ** 2).sum(axis=1))
    beyond = length > longest
    if not beyond.any():
        return sent
    values = sent.values.copy()
    values[beyond, :width] *= (longest[beyond] / length[beyond])[:, None].astype(values.dtype)
    return SparseRows(sent.index, values)


def split(theta: Values, vectors: str = "Q") -> dict[str, Values]:
    """Q and b of the rows (q_i, b_i), or what else the vectors are called."""
    return {vectors: np.ascontiguousarray(theta[:, :-1]), "b": np.ascontiguousarray(theta[:, -1])}


def join(model: Arrays, vectors: str = "Q") -> Values:
    """The rows (q_i, b_i) of Q and b."""
    return np.column_stack([model[vectors], model["b"]])


def _adam(rate: float, memory: dict[str, Values], index: Ints, gradient: Values) -> Values:
    """The step of every row: rows without a gradient follow their momentum. Changes `memory`."""
    for name, decay, value in (("mean", 0.9, gradient), ("squares", 0.999, gradient**2)):
        memory[name] *= decay
        memory[name][index] += (1 - decay) * value
    memory["steps"] += 1
    steps = int(memory["steps"][0])
    mean, squares = memory["mean"] / (1 - 0.9**steps), memory["squares"] / (1 - 0.999**steps)
    moved: Values = rate * mean / (np.sqrt(squares) + _SMALL)
    return moved
