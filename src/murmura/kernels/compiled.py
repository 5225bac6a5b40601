"""The one place that knows the compiler."""

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compile_target() -> str:
    """What loops are compiled for here: machines of another target may round sums of training otherwise."""
    from llvmlite import binding

    chosen, features = (getattr(numba.config, name) for name in ("CPU_NAME", "CPU_FEATURES"))
    name = chosen or binding.get_host_cpu_name()
    if features is None:
        features = "" if chosen else binding.get_host_cpu_features().flatten()
    return f"{name} {hashlib.sha256(features.encode()).hexdigest()[:8]}, numba {numba.__version__}"


# What `fast` lets the compiler do: sum a row in several lanes at once and fuse a multiply with an add.
# NaN, infinity and signed zero keep their meaning; a result moves by at most n rounding errors of a sum of n.
LANES = {"reassoc", "contract"}


@overload
def compiled(function: F) -> F: ...
@overload
def compiled(*, fast: bool = ..., inline: bool = ...) -> Callable[[F], F]: ...
def compiled(function: F | None = None, *, fast: bool = False, inline: bool = False) -> F | Callable[[F], F]:
    """Compile a loop that threads may run side by side.

    Without `fast` the operations happen in the written order, so the result is the same on every machine.
    `fast` is for the dot products of training, where the order of a sum carries no meaning: results are equal
    on one machine, and agree between machines to the rounding of a sum. Divisions follow IEEE (x / 0 is inf).
    `inline` is for a body too long for the compiler to copy into its caller unasked, where a loop over it must
    run in lanes.
    """

    def compile_it(loop: F) -> F:
        options: dict[str, Any] = ({"fastmath": LANES} if fast else {}) | (
            {"forceinline": True} if inline else {}
        )
        return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", **options)(loop))

    return compile_it if function is None else compile_it(function)
