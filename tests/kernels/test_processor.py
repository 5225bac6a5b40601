"""The processor that `make test-processors` plays is the one that libraries and compiled loops work for."""

import os

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from murmura.kernels.compiled import compile_target

ASKED = os.environ.get("OPENBLAS_CORETYPE", "")


@pytest.mark.skipif(
    not {"OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS"} <= {*os.environ}, reason="make test-processors"
)
def test_the_libraries_of_linear_algebra_play_it() -> None:
    np.linalg.eigh(np.eye(2))
    name = "Haswell" if ASKED == "Zen" else ASKED  # Zen's loops are Haswell's, and the wheels say so
    libraries = [one for one in threadpool_info() if one["user_api"] == "blas"]
    assert {one["architecture"] for one in libraries} == {name}
    assert {one["num_threads"] for one in libraries} == {int(os.environ["OPENBLAS_NUM_THREADS"])}


@pytest.mark.skipif("NUMBA_CPU_NAME" not in os.environ, reason="make test-processors")
def test_compiled_loops_play_it() -> None:
    assert compile_target().startswith(f"{os.environ['NUMBA_CPU_NAME']} ")
