"""Gradients by central differences."""

from collections.abc import Callable
from typing import Any

import pytest


def check_gradient(loss: Callable[[], Any], parameter: Any, h: float = 1e-6) -> None:
    """Compare a parameter's gradient with (f(x + h) - f(x - h)) / 2h, entry by entry, in float64.

    The difference errs by h^2 f''' / 6 and by the rounding of f over h: about 1e-9 for losses of order 1.
    """
    loss().backward()
    gradient, flat = parameter.grad.flatten().clone(), parameter.detach().view(-1)
    for place in range(len(flat)):
        kept = float(flat[place])
        flat[place] = kept + h
        above = float(loss().detach())
        flat[place] = kept - h
        below = float(loss().detach())
        flat[place] = kept
        assert float(gradient[place]) == pytest.approx((above - below) / (2 * h), rel=1e-5, abs=1e-8)
