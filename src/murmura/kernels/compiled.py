"""The one place that knows the compiler."""

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeVar, cast, overload

import numba
from numba.core import types
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

F = TypeVar("F", bound=Callable[..., Any])


def compile_target() -> str:
    """What loops are compiled for here: machines of another target may round sums of training otherwise."""
    from llvmlite import binding

    chosen, features = (getattr(numba.config, name) for name in ("CPU_NAME", "CPU_FEATURES"))
    name = chosen or binding.get_host_cpu_name()
    if features is None:
        features = "" if chosen else binding.get_host_cpu_features().flatten()
    return f"{name} {hashlib.sha256(features.encode()).hexdigest()[:8]}, numba {numba.__version__}"


if sys.platform == "win32":

    def lock_shared_file(file: IO[bytes]) -> None:
        """No lock: two processes compile the same loop then."""

else:
    import fcntl

    def lock_shared_file(file: IO[bytes]) -> None:
        """Have a file for oneself until it is closed; waits for whoever has it."""
        fcntl.flock(file, fcntl.LOCK_EX)


# What `fast` lets the compiler do: sum a row in several lanes at once and fuse a multiply with an add.
# NaN, infinity and signed zero keep their meaning; a result moves by at most n rounding errors of a sum of n.
LANES = {"reassoc", "contract"}


EVERY_LOOP = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": None,
    "no_cfunc_wrapper": True,
}
COMPILED = (
    "core/**/*.py",
    "kernels/**/*.py",
    "algorithms/*/loop*.py",
    "lab/*/loop*.py",
)  # loops, and the constants in them


@cache
def compiled_sources() -> str:
    """A name for all sources that end up in compiled loops."""
    root = Path(__file__).parents[1]
    files = sorted(path for places in COMPILED for path in root.glob(places))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


class LoopCache(FunctionCache):
    """Compiled loops on disk, for all processes and later runs.

    The compiler's own cache looks only at the file of a loop itself. Here a loop is compiled anew when any
    source was edited that it may take a constant or another loop from. Of processes that need it at once one
    compiles it.
    """

    def __init__(self, loop: Callable[..., Any]) -> None:
        super().__init__(loop)  # type: ignore[no-untyped-call]
        own = Path(loop.__code__.co_filename)  # of another package, perhaps
        written = own.read_bytes() if own.exists() else b""
        self._cache_file._source_stamp = compiled_sources() + hashlib.sha256(written).hexdigest()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What is on disk for these types; nothing of what names a type that has since moved."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError):
            self._cache_file.flush()  # type: ignore[no-untyped-call]
            return None

    @contextmanager
    def one_process(self) -> Iterator[None]:
        """Wait until no other process compiles this loop; on a disk without locks both do."""
        with ExitStack() as held:
            with suppress(OSError):
                self._impl.locator.ensure_cache_path()
                path = Path(self.cache_path) / f"{self._impl.filename_base}.lock"
                lock_shared_file(held.enter_context(path.open("ab")))
            yield


class InnerLoop(CPUDispatcher):
    """A loop as other loops call it: without what unpacks Python's arguments, which is long to compile."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What the compiler asks for at a call: one version for all constants and signed whole numbers."""
        _, given = self._compiler.fold_argument_types(args, kws)  # type: ignore[attr-defined]
        return super().get_call_template(tuple(map(general_type, given)), {})


def general_type(given: Any) -> Any:
    """The type a loop is compiled for: a constant is a number like others, a short whole number a long one."""
    kind = types.unliteral(given)  # type: ignore[no-untyped-call]
    return types.int64 if kind == types.int32 else kind


class Loop(CPUDispatcher):
    """A loop as Python calls it."""

    _cache: Any

    def __init__(self, loop: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(py_func=loop, targetoptions=EVERY_LOOP | options)
        self._inner = InnerLoop(py_func=loop, targetoptions=self.targetoptions | {"no_cpython_wrapper": True})
        with suppress(RuntimeError):  # no file to keep it beside: it is compiled in each process
            self._cache = LoopCache(loop)

    def compile(self, sig: Any) -> Any:
        """Load it from disk, or compile it once for all processes."""
        alone = self._cache.one_process() if isinstance(self._cache, LoopCache) else nullcontext()
        with global_compiler_lock, alone:
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """For a call in another loop."""
        return self._inner.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """For a call in another loop."""
        return self._inner.get_overload(sig)


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
        return cast(F, Loop(loop, options))

    return compile_it if function is None else compile_it(function)
