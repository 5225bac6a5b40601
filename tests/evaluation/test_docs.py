"""docs/metrics.md and the table of metrics say the same; the room stays light to import."""

import subprocess
import sys
from pathlib import Path

import pytest

from murmura.evaluation import METRICS
from murmura.evaluation.registry import ACCURACY, TARGETS, target_key

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
RATINGS = ("RMSE", "MSE", "MAE")
CLASSIFIED = (ACCURACY, target_key(TARGETS[0]))


def sections() -> dict[str, str]:
    """The text under each `### \\`key\\`` heading."""
    parts = PAGE.read_text(encoding="utf-8").split("\n### `")[1:]
    return {part.split("`", 1)[0]: part.split("\n## ")[0] for part in parts}


def test_every_metric_is_documented_and_nothing_else() -> None:
    assert list(sections()) == [*METRICS, *RATINGS, *CLASSIFIED]


@pytest.mark.parametrize("key", CLASSIFIED)
def test_accuracies_have_a_formula_and_every_target_a_name(key: str) -> None:
    assert "=" in sections()[key]
    assert all(f"`{target_key(target)}`" in sections()[CLASSIFIED[1]] for target in TARGETS)


@pytest.mark.parametrize("key", [*METRICS, *RATINGS])
def test_a_section_has_a_formula_and_says_how_others_differ(key: str) -> None:
    text = sections()[key]
    assert "=" in text.split("\n\nDiffers:")[0]
    differs = text.split("\n\nDiffers:")[1]
    for other in ("Elliot", "WarpRec", "LensKit"):
        assert other in differs, other


@pytest.mark.process
@pytest.mark.smoke
def test_importing_the_room_loads_nothing_heavy() -> None:
    code = (
        "import sys; import murmura.evaluation, murmura.evaluation.significance;"
        "print(*sorted(m for m in ('numba', 'scipy', 'polars', 'pydantic') if m in sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
