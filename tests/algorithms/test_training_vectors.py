"""The golden training steps are what this implementation computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.algorithms.training_vectors import training_vectors

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "training.json").read_text(encoding="utf-8")
)
ROUNDED = ("after", "rows", "update", "vector", "other_share")  # libraries add dot products in their own order
DIGITS = {"float32": 1e-5, "float64": 1e-12}


def test_the_file_is_what_the_code_computes() -> None:
    """Every draw and every double's vector to the last word; numbers to what dot products leave open."""
    made = training_vectors()
    told = "run python -m tests.algorithms.training_vectors vectors/training.json"
    assert {**made, "steps": 0} == {**VECTORS, "steps": 0}, told
    for step, known in zip(made["steps"], VECTORS["steps"], strict=True):
        digits, single = DIGITS[step["settings"]["precision"]], step["settings"]["precision"] == "float32"
        assert {**step, **dict.fromkeys(ROUNDED)} == {**known, **dict.fromkeys(ROUNDED)}, told
        assert step["rows"]["index"] == known["rows"]["index"]
        np.testing.assert_allclose(step["rows"]["values"], known["rows"]["values"], rtol=digits, atol=digits)
        np.testing.assert_allclose(step["after"], known["after"], rtol=digits, atol=digits)
        apart = np.subtract(step["vector"], known["vector"])
        assert np.abs(apart).max() <= single
        assert single or step["other_share"] == known["other_share"]


def test_the_opening_by_hand() -> None:
    """One for each own item, in steps of 1 / 2**15, at places 1 + (place among the items on offer)."""
    prior = next(step for step in VECTORS["steps"] if step["phase"] == "prior")
    assert prior["vector"] == [1, 0, 32768, 0, 32768, 0, 32768, 0]
