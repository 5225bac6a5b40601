"""The analyses on the page: each where it applies, in words and tables as well, and nothing elsewhere."""

import csv
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from murmura.core.catalogue import Catalogue, Dataset, Relation
from murmura.lab.analyses.item_exposure import bias, frequencies
from murmura.lab.sweep.run import plan_sweep, sweep
from murmura.lab.sweep.section import value_places
from murmura.report import build
from murmura.report.build import analyses
from murmura.report.drawing import CURVES, VARIABLES, curve_styles, power, ramp
from murmura.report.summary import summarise
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.folder import ComparisonFolder, Sweep, read_runs
from murmura.studies.compare.run import compare
from tests.studies.worlds import small_world

pytestmark = pytest.mark.slow

QUICK = {"epochs": 2, "factors": 3}


def world() -> Dataset:
    small = small_world()
    items = np.arange(40, dtype=np.int32)
    relation = Relation(("Food & <Drink>", "Arts"), items, items % 2)
    return Dataset(small.name, small.interactions, Catalogue(small.interactions.items, None, relation))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("analyses") / "pi"
    models = {"sfpl": dict(QUICK), "pfpl+": dict(QUICK)}
    ready, what = plan_sweep(world(), "default", models, "pi", [0, 0.5, 1], beside={"mostpop": {}})
    list(sweep(ready, what, folder))
    return folder


def test_a_sweep_over_pi(swept: Path) -> None:
    found = {one.name: one for one in analyses(swept)}
    assert list(found) == ["sweep", "popularity", "bias"]  # freshness does not change with pi
    assert [p.name for p in found["sweep"].pictures] == [
        *("sweep-accuracy", "sweep-coverage", "sweep-evenness", "sweep-costs", "sweep-cce"),
    ]
    assert [p.name for p in found["popularity"].pictures] == ["updates", "recommended"]
    assert [p.name for p in found["bias"].pictures] == ["bias-disparity"]  # nothing is printed for made-up data
    accuracy = found["sweep"].pictures[0]
    assert "Best F1@10 of each: sfpl " in accuracy.alt
    assert "disclosed fraction, measured" in accuracy.svg


def test_the_table_of_a_sweep_has_every_value(swept: Path) -> None:
    page = build(swept)
    with (page.with_name("report-tables") / "sweep.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["model"], row["pi"]) for row in rows] == [
        *(("sfpl", "0"), ("sfpl", "0.5"), ("sfpl", "1")),
        *(("pfpl+", "0"), ("pfpl+", "0.5"), ("pfpl+", "1")),
        ("mostpop", ""),
    ]
    assert [float(row["disclosed"]) for row in rows[3:6]] == pytest.approx([0, 0.5, 1])
    front = [row for row in rows if row["front"]]
    cheapest = min((row for row in rows if row["TCC"]), key=lambda r: (float(r["TCC"]), -float(r["P@10"])))
    assert cheapest in front
    for one in front:  # nothing beats it
        assert not any(
            float(row["TCC"]) <= float(one["TCC"])
            and float(row["P@10"]) >= float(one["P@10"])
            and (row["TCC"], row["P@10"]) != (one["TCC"], one["P@10"])
            for row in rows
            if row["TCC"]
        )


def test_a_sweep_shows_evenness_and_the_cost_of_an_epoch(swept: Path) -> None:
    (section,) = (one for one in analyses(swept) if one.name == "sweep")
    (table,) = section.tables
    titles = [column.title for column in table.columns]
    assert {"G@10", "mean |BD|", "CCE", "front, CCE"} <= {*titles}
    cells = [dict(zip(titles, row)) for row in table.rows]
    comparison = ComparisonFolder.open(swept)
    shown = bias(comparison, frequencies(comparison))
    assert shown is not None
    for place, label in enumerate(["sfpl pi=0", "sfpl pi=0.5", "sfpl pi=1"]):  # one seed: no interval to take
        assert cells[place]["mean |BD|"].value == pytest.approx(np.abs(shown.disparity(label)).mean())
    known = [(float(row["CCE"].value or 0), float(row["P@10"].value or 0)) for row in cells[:6]]
    front = [place for place, row in enumerate(cells[:6]) if row["front, CCE"].text]
    for place, (cost, gain) in enumerate(known):
        beaten = any(c <= cost and g >= gain and (c, g) != (cost, gain) for c, g in known)
        twin = (cost, gain) in known[:place]
        assert (place in front) == (not beaten and not twin)


def test_some_rows_of_a_sweep_are_shown_alone(swept: Path) -> None:
    found = {one.name: one for one in analyses(swept, rows=["pfpl+"])}
    (table,) = found["sweep"].tables
    assert {row[0].text for row in table.rows} == {"pfpl+"}
    for one in found.values():
        assert not any("sfpl" in picture.alt or "mostpop" in picture.alt for picture in one.pictures)
    assert [line.label for line in summarise(read_runs(swept, ["pfpl+"])).lines] == [
        *("pfpl+ pi=0", "pfpl+ pi=0.5", "pfpl+ pi=1"),
    ]


def test_the_page_is_whole_and_needs_nothing_else(swept: Path) -> None:
    text = build(swept).read_text(encoding="utf-8")
    assert "Sweep over pi" in text
    assert "Food &amp; &lt;Drink&gt;" in text
    assert "<Drink>" not in text
    assert "mathdefault" not in text  # labels that only matplotlib's own fonts could draw
    assert not re.search(r'(src|href)="(?!#|data:)', text)
    for svg in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL):
        ET.fromstring(svg)
    assert not any(placeholder in text for placeholder in VARIABLES)
    assert build(swept).read_text(encoding="utf-8") == text


def test_a_sweep_over_clients_shows_freshness(tmp_path: Path) -> None:
    ready, what = plan_sweep(small_world(), "default", {"sfpl+": dict(QUICK)}, "clients", [1, 20, "all"])
    list(sweep(ready, what, tmp_path / "s"))
    found = {one.name: one for one in analyses(tmp_path / "s")}
    assert "fresh" in found
    assert "1 clients" in found["fresh"].pictures[0].alt
    assert "all clients" in found["fresh"].pictures[0].alt
    normalised = [row[3].value for row in found["fresh"].tables[0].rows]
    assert normalised == pytest.approx([1, 30 / 600, 10 / 600])


@pytest.mark.smoke
def test_an_ordinary_comparison_has_popularity_alone(tmp_path: Path) -> None:
    list(compare(plan(small_world(), "default", {"mostpop": {}, "user-knn": {}}), tmp_path / "c"))
    found = analyses(tmp_path / "c")
    assert [one.name for one in found] == ["popularity"]
    assert [picture.name for picture in found[0].pictures] == ["recommended"]
    assert analyses(tmp_path / "c" / "mostpop-seed0") == []


def test_an_unfinished_sweep_is_shown_as_far_as_it_came(tmp_path: Path) -> None:
    ready, what = plan_sweep(small_world(), "default", {"sfpl": dict(QUICK)}, "pi", [0.5, 1])
    lines = sweep(ready, what, tmp_path / "s")
    next(lines)
    lines.close()
    found = analyses(tmp_path / "s")
    assert len(found[0].tables[0].rows) == 1
    assert "1 of 2 models finished" in build(tmp_path / "s").read_text(encoding="utf-8")


@pytest.mark.smoke
def test_curves_are_told_apart_by_colour_and_marker() -> None:
    styles = list(curve_styles([f"model {n}" for n in range(2 * len(CURVES))]).values())
    assert len({(style["color"], style["marker"]) for style in styles}) == len(styles)
    assert ramp(2) == ["#d55e00", "#0072b2"]
    assert len(set(ramp(11))) == 11
    assert ramp(1) == ["#d55e00"]


@pytest.mark.smoke
def test_where_values_stand() -> None:
    def places(*values: object) -> list[float]:
        return list(value_places(Sweep("k", values, {})).values())

    assert places(0, 0.1, 0.2) == [0, 0.1, 0.2]
    assert places(1, 10, 100) == [0, 1, 2]  # too uneven to be read at their size
    assert places(1, "all") == [0, 1]
    assert places(5) == [0]
    assert places(3, 2, 1) == [0, 1, 2]


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("value", "text"),
    [(0.001, "0.001"), (1.0, "1"), (2e10, "2·10¹⁰"), (1e-5, "10⁻⁵"), (0.0, "0"), (50000.0, "50000")],
)
def test_numbers_on_a_logarithmic_axis(value: float, text: str) -> None:
    assert power(value) == text
