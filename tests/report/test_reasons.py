"""Reasons on the page: bars that add up, their fidelity, and features before and after."""

import re
from pathlib import Path

import pytest

from murmura.core.errors import RunError
from murmura.data.sources.registry import load
from murmura.engine.run_folder import Run
from murmura.lab.analyses.fidelity import FIDELITY, MOST, Bar, ExplainedItem, read_reasons, reasons_picture
from murmura.lab.analyses.preservation import PRESERVATION
from murmura.report import build
from murmura.report.build import analyses
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.run import compare
from murmura.studies.configuration import FitConfig, check_config
from murmura.studies.fit.run import fit_run
from tests.studies.test_fidelity import QUICK, write_world

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reasons")
    table = write_world(folder)
    models = {"mostpop": {}, "kgflex": dict(QUICK), "kgflex-hybrid": dict(QUICK)}
    list(compare(plan(load(table), "default", models, source={"name": table}), folder / "c"))
    return folder / "c"


def test_what_is_kept_adds_up_to_the_score_of_the_first_item(compared: Path) -> None:
    assert not (compared / "mostpop-seed0" / "reasons.csv").exists()
    for label in ("kgflex", "kgflex-hybrid"):
        run = Run.open(compared / f"{label}-seed0")
        header, rows = run.read_table("recommendations.tsv", "\t")
        assert header == ["user", "rank", "item", "score"]
        first = {row[0]: (row[2], float(row[3])) for row in rows if row[1] == "1"}
        found = read_reasons(run)
        assert len(found) == 3
        for one in found:
            item, score = first[one.user]
            assert one.item == item
            assert one.score == pytest.approx(score, rel=1e-4)


def test_a_page_has_the_bars_and_what_was_analysed(compared: Path) -> None:
    sections = {one.name: one for one in analyses(compared)}
    assert [picture.name for picture in sections["reasons"].pictures] == ["reasons-0", "reasons-1"]
    assert sections["reasons"].tables == ()
    assert "features" not in sections
    FIDELITY.of_folder(compared)
    PRESERVATION.of_folder(compared)
    sections = {one.name: one for one in analyses(compared)}
    assert [table.name for table in sections["reasons"].tables] == ["fidelity"]
    assert [row[0].value for row in sections["reasons"].tables[0].rows] == ["kgflex", "kgflex-hybrid"]
    (picture,), (table,) = sections["features"].pictures, sections["features"].tables
    assert "category: c" in picture.svg
    assert [row[1].value for row in table.rows[:5]] == ["5", "10", "50", "100", "all"]
    text = build(compared).read_text(encoding="utf-8")
    assert 'id="reasons-1"' in text
    assert "people like you" in text
    assert {"features.csv", "fidelity.csv"} <= {file.name for file in (compared / "report-tables").iterdir()}


def test_the_run_of_one_model_has_its_bars_too(compared: Path, tmp_path: Path) -> None:
    table = str(compared.parent / "world.csv")
    config = check_config({"data": table, "model": {"name": "kgflex", **QUICK}})
    assert isinstance(config, FitConfig)
    fit_run(config, tmp_path / "one")
    (section,) = analyses(tmp_path / "one")
    assert section.pictures[0].title == "Why these items: kgflex"
    (found,) = FIDELITY.of_folder(tmp_path / "one")
    (other,) = [one for one in FIDELITY.of_folder(compared) if one.label == "kgflex"]
    assert found.falls == pytest.approx(other.falls)  # the model it keeps, and the one that is trained again


@pytest.mark.smoke
def test_many_terms_are_drawn_as_a_few_that_add_up() -> None:
    bars = tuple(Bar(f"colour: {n}", 0.1 * n - 0.4, n == 3) for n in range(20))
    one = ExplainedItem("ann", "film", bars)
    shown = one.shown()
    assert len(shown) == MOST + 1
    assert shown[-1].name == "12 others"
    assert sum(bar.term for bar in shown) == pytest.approx(one.score)
    picture = reasons_picture(0, "kgflex", [one])
    assert picture is not None
    numbers = [
        float(n.replace("\N{MINUS SIGN}", "-")) for n in re.findall(r" (\N{MINUS SIGN}?\d+\.\d+)", picture.alt)
    ]
    total, *terms = numbers
    assert sum(terms) == pytest.approx(total, abs=0.001 * len(terms))
    assert reasons_picture(0, "kgflex", []) is None


@pytest.mark.smoke
def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "reasons.csv").write_text("user,item,name,term,because\n1,2,a,much,0\n", encoding="utf-8")
    with pytest.raises(RunError, match=r"reasons\.csv is damaged"):
        read_reasons(Run(tmp_path))
