"""The one place that knows the compiler."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a loop: no fast-math (results are the same everywhere), threads may run it side by side."""
    return cast(F, numba.njit(cache=True, nogil=True)(function))
