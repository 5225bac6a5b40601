"""Criteria of what a client has learned: they are measured after it has trained, on the update it would send.

Ferrara's thesis, section 5.5.1, has the divergence of the local model; its authors' code measures another one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmura.aggregation.client_criterion import ClientView, Criterion
from murmura.core.update import SparseRows


class ModelDivergence(Criterion):
    """phi = 1 / sqrt(||theta - theta_u||_2 + 1), over the whole vector of changes, as the thesis writes it."""

    name = "model_divergence"
    reveals = "how far the client's own data pull the model away from where it stands"
    needs_update: ClassVar[bool] = True

    def measure(self, view: ClientView) -> float:
        """1: the client would leave the model as it is."""
        return 1 / math.sqrt(_norm(rows.values for rows in _tables(view).values()) + 1)


class LayerDivergence(Criterion):
    """The same of the mean of the layers' norms, biases left out, as the thesis's authors' code has it.

    A layer is a table with more than one column; a table with one column is a bias.
    """

    name = "layer_divergence"
    reveals = ModelDivergence.reveals
    needs_update: ClassVar[bool] = True

    def measure(self, view: ClientView) -> float:
        """1: the client would leave every layer as it is."""
        norms = [_norm([rows.values]) for rows in _tables(view).values() if rows.values.shape[1] > 1]
        return 1 / math.sqrt(sum(norms) / max(len(norms), 1) + 1)


class UpdateNovelty(Criterion):
    """||U|| / (||U|| + ||model||): how much of where the model would stand is this client's doing.

    All a client can compare its update with is the model it received. The share is 0 for an update that changes
    nothing and grows with what the client adds to what is known; the opposite of divergence, which it rewards.
    """

    name = "update_novelty"
    reveals = ModelDivergence.reveals
    needs_update: ClassVar[bool] = True

    def measure(self, view: ClientView) -> float:
        """0: nothing new."""
        own = _norm(rows.values for rows in _tables(view).values())
        known = _norm(table for table in view.model.values() if table.dtype.kind == "f")
        return own / (own + known) if own > 0 else 0.0


def _tables(view: ClientView) -> dict[str, SparseRows]:
    assert view.update is not None, "a criterion that needs the update says so in needs_update"
    return dict(view.update.tables)


def _norm(parts: Iterable[NDArray[Any]]) -> float:
    """The L2 norm of all of them as one vector."""
    return math.sqrt(sum(float(np.square(part, dtype=np.float64).sum()) for part in parts))
