"""A comparison of exact sums has the row with noise beside them, or says why there is none."""

import re
from pathlib import Path

from murmura.core.channel import EPSILON
from murmura.data.sources.registry import load
from murmura.studies.compare.comparison_plan import plan, with_noisy_rows
from tests.cli.processes import murmura

EMBEDDED = "ml-latest-small-2016"


def test_the_row_is_of_the_same_people_and_choices() -> None:
    models = {
        "ease": {},
        "half": {"name": "fed-ease", "pi": 0.5, "reg": 100.0},
        "fed-ease": {},
        "fed-item-knn": {},
    }
    before = plan(load(EMBEDDED), "default", models)
    after, said = with_noisy_rows(before)
    *same, noisy = after.entries
    assert tuple(same) == before.entries
    assert not said
    assert (noisy.label, noisy.model) == (f"half epsilon {EPSILON:g}", "fed-ease")
    assert {key: noisy.settings[key] for key in ("pi", "epsilon")} == {"pi": 0.5, "epsilon": EPSILON}
    assert "reg" not in noisy.settings
    assert with_noisy_rows(after)[0].entries == after.entries  # whoever named one gets no other


def test_where_noise_would_leave_nothing_that_is_said(tmp_path: Path) -> None:
    rows = "".join(f"u{u},i{(7 * u + 3 * n) % 400},{n}\n" for u in range(60) for n in range(20))
    (tmp_path / "r.csv").write_text("user,item,time\n" + rows, encoding="utf-8")
    flags = ("--data", "r.csv", "--models", "mostpop,fed-ease,fed-mostpop")
    done = murmura("compare", *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = r"fed-ease epsilon 4 has no row: the strongest common direction is \S+ where noise alone makes \S+; "
    assert re.search(said + r"about \d+ people would do\.", " ".join(done.stderr.split()))
    assert "fed-mostpop epsilon 4" in done.stdout
    assert "fed-ease epsilon 4" not in done.stdout
