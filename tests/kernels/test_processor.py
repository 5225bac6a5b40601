"""The processor that `make test-processors` plays is the one that libraries and compiled loops work for."""

import os

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from murmura.kernels.compiled import compile_target


@pytest.mark.skipif("OPENBLAS_CORETYPE" not in os.environ, reason="make test-processors")
def test_the_libraries_of_linear_algebra_play_it() -> None:
    np.linalg.eigh(np.eye(2))
    played = {
        (one["architecture"], one["num_threads"]) for one in threadpool_info() if one["user_api"] == "blas"
    }
    assert played == {(os.environ["OPENBLAS_CORETYPE"], int(os.environ["OPENBLAS_NUM_THREADS"]))}


@pytest.mark.skipif("NUMBA_CPU_NAME" not in os.environ, reason="make test-processors")
def test_compiled_loops_play_it() -> None:
    assert compile_target().startswith(f"{os.environ['NUMBA_CPU_NAME']} ")
