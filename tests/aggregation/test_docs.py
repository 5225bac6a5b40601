"""The section on weights is true: its criterion runs; it names every criterion, score and setting there is."""

import re
from pathlib import Path

import numpy as np

from murmura.aggregation import CRITERIA
from murmura.aggregation.criteria import Criterion
from murmura.aggregation.weighting import Weighting
from murmura.core.settings import field_names
from tests.aggregation.worlds import gap, method, trained

FEDERATION = (Path(__file__).parents[2] / "docs" / "federation.md").read_text(encoding="utf-8")
PAGE = FEDERATION.partition("\n## Client weights\n")[2].partition("\n## ")[0]


def test_the_criterion_of_the_page_weighs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    made: dict[str, type[Criterion]] = {}
    exec(code, made)
    with CRITERIA.also("loyalty", made["Loyalty"]):
        fitted = trained(method("fcf", criteria="loyalty"))
    assert np.isfinite(gap(fitted, trained(method("fcf"))))
    assert "loyalty" in fitted.ledger.reveals


def test_the_page_names_everything_there_is() -> None:
    rows = " ".join(line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `"))
    named = set(re.findall(r"`([\w:]+)`", rows))
    assert named >= {*CRITERIA.built_in} - {"attribute"} | {"attribute:NAME"}
    assert named >= set(field_names(Weighting))
    assert named >= {"prioritised", "mean", "owa", "choquet"}
