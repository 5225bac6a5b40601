"""Intervals, marks and orders with known answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from murmura.evaluation.significance import bootstrap_interval, compare_values
from murmura.report.sections.differences import difference_table, seed_table
from murmura.report.sections.metrics import both, front
from murmura.report.summary import Results, named_tests, summarise
from murmura.report.table import ReportTable, TableCell
from murmura.studies.compare.folder import read_runs
from murmura.studies.compare.section import outcome, result_tables
from tests.report.folders import Made, drawn, federation, write_comparison

BY_ID = np.argsort([f"u{i}" for i in range(200)])  # users are kept in the order of their ids as text


def cell(table: ReportTable | None, row: str, column: str) -> TableCell:
    assert table is not None
    place = [c.title for c in table.columns].index(column)
    return next(line[place] for line in table.rows if line[0].text == row)


def results_of(path: Path) -> Results:
    return summarise(read_runs(path))


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """`best` is far above `worst` and a hair above `near`."""
    best = drawn(1, 0.3)
    near = best.copy()
    near[:2] = [max(0.0, best[0] - 0.1), best[1] + 0.1]
    near[2] = best[2] - 0.1 if best[2] else best[2]
    models = [Made("worst", [drawn(2, 0.1)], 10), Made("best", [best], 20), Made("near", [near], 90)]
    return write_comparison(tmp_path / "three", models)


def test_best_is_bold_and_only_the_clearly_worse_are_marked(three: Path) -> None:
    folder = read_runs(three)
    table = result_tables(folder, summarise(folder))[0]
    assert [row[0].text for row in table.rows] == ["worst", "best", "near"], "the order of the configuration"
    assert cell(table, "worst", "P@10").mark == "†"
    assert cell(table, "best", "P@10").best
    assert not cell(table, "best", "P@10").mark
    assert not cell(table, "near", "P@10").mark
    assert not cell(table, "near", "P@10").best
    assert cell(table, "near", "IC@10").best, "each metric has its own best"
    assert any("paired t-test" in note and "Holm" in note for note in table.notes)


def test_p_values_are_scipys_times_holms_factor(three: Path) -> None:
    folder = read_runs(three)
    values = {model.label: model.parts[0].per_user["P@10"] for model in folder.models}
    raw = {label: scipy.stats.ttest_rel(values[label], values["best"]).pvalue for label in ("worst", "near")}
    tests = {test.label: test for test in summarise(folder).against_best if test.metric == "P@10"}
    assert tests["worst"].p_t == pytest.approx(2 * raw["worst"])
    assert tests["near"].p_t == pytest.approx(raw["near"])
    assert tests["worst"].difference.mean == pytest.approx(float((values["worst"] - values["best"]).mean()))
    assert tests["worst"].ahead + tests["worst"].level + tests["worst"].behind == 200
    assert tests["near"].level >= 197


def test_the_interval_is_the_bootstrap_over_users(three: Path) -> None:
    line = next(line for line in results_of(three).lines if line.label == "best")
    expected = bootstrap_interval(drawn(1, 0.3)[BY_ID])
    assert (line.values["P@10"].low, line.values["P@10"].high) == (expected.low, expected.high)
    # a percentile interval of a mean of 200 is near mean ± 1.96 s / sqrt(200)
    reach = 1.96 * drawn(1, 0.3).std(ddof=1) / np.sqrt(200)
    assert line.values["P@10"].high - line.values["P@10"].mean == pytest.approx(reach, rel=0.15)


def test_several_seeds_are_averaged_per_user_and_spread_over_seeds(tmp_path: Path) -> None:
    seeds = [drawn(1, 0.2), drawn(2, 0.2), drawn(3, 0.2)]
    path = write_comparison(tmp_path / "c", [Made("a", seeds), Made("b", [drawn(9, 0.1)])], seeds=3)
    folder = read_runs(path)
    results = summarise(folder)
    line = results.lines[0]
    assert line.people.per_user["P@10"] == pytest.approx(np.mean(seeds, axis=0)[BY_ID])
    means = [float(one.mean()) for one in seeds]
    low, high = scipy.stats.t.interval(0.95, 2, np.mean(means), scipy.stats.sem(means))
    shown = cell(seed_table(results), "a", "P@10")
    assert [shown.low, shown.high] == pytest.approx([low, high])
    table = result_tables(folder, results)[0]
    assert cell(table, "a", "seeds").value == 3
    assert cell(table, "b", "seeds").value == 1
    assert cell(table, "a", "P@10").value == pytest.approx(np.mean(means))


def test_federated_models_are_tested_against_the_best_baseline_too(tmp_path: Path) -> None:
    folder = read_runs(federation(tmp_path / "c"))
    results = summarise(folder)
    assert results.costs == ("disclosed", "kB up/client", "kB down/client")
    assert {test.reference for test in results.against_baseline} == {"ease"}
    assert {test.label for test in results.against_baseline} == {"sfpl+ 1", "sfpl+ 0.5", "sfpl+ 0.1"}
    table = result_tables(folder, results)[0]
    assert cell(table, "sfpl+ 0.1", "P@10").mark == "†↓"
    assert cell(table, "mostpop", "P@10").mark == "†"
    assert cell(table, "sfpl+ 0.5", "disclosed").text == "0.500"
    assert cell(table, "ease", "disclosed").text == "–"
    tests = difference_table(results)
    assert tests is not None
    assert len(tests.rows) == len({row[:3] for row in tests.rows}), (
        "the best being a baseline, tests are not shown twice"
    )


def test_a_federated_model_above_the_best_baseline_points_up(tmp_path: Path) -> None:
    models = [Made("base", [drawn(1, 0.1)]), Made("fed", [drawn(2, 0.3)], cost={"disclosed": 1.0})]
    folder = read_runs(write_comparison(tmp_path / "c", models))
    assert cell(result_tables(folder, summarise(folder))[0], "fed", "P@10").mark == "↑"


def test_the_front_is_what_nobody_beats(tmp_path: Path) -> None:
    points = {
        "cheap": (1.0, 0.1),
        "mid": (2.0, 0.3),
        "waste": (3.0, 0.2),
        "dear": (4.0, 0.4),
        "twin": (4.0, 0.4),
    }
    models = [Made(n, [np.full(20, y)], cost={"kB up": x}) for n, (x, y) in points.items()]
    results = results_of(write_comparison(tmp_path / "c", models))
    lines = both(results, "P@10", "kB up")
    assert [line.label for line in front(lines, "kB up", "P@10")] == ["cheap", "mid", "dear", "twin"]


def test_the_main_cutoff_comes_first(tmp_path: Path) -> None:
    path = write_comparison(tmp_path / "c", [Made("a", [drawn(1, 0.2)])], cutoffs=(1, 10, 20))
    folder = read_runs(path)
    results = summarise(folder)
    assert results.cutoffs == (10, 1, 20)
    assert results.primary == "P@10"
    assert [table.name for table in result_tables(folder, results)] == [
        "results",
        "results-at-1",
        "results-at-20",
    ]


def test_users_are_paired_by_their_ids(tmp_path: Path) -> None:
    path = write_comparison(tmp_path / "c", [Made("a", [drawn(1, 0.3)]), Made("b", [drawn(1, 0.3)])])
    file = path / "b-seed0" / "per_user.csv"
    header, *rows = file.read_text().splitlines()
    file.write_text("\n".join([header, *reversed(rows[:-5])]) + "\n")  # another order, five users fewer
    tests = results_of(path).against_best
    assert {test.users for test in tests} == {195}
    assert all(test.level == 195 and test.p_t == 1 for test in tests)


def test_an_error_is_told_in_words_and_its_lowest_value_is_the_best(tmp_path: Path) -> None:
    """Numbers taken as errors: the lowest is best, and nobody 'reaches' so much of an error."""
    models = [Made("together", [drawn(1, 0.3)], cost={"disclosed": 0.5}), Made("central", [drawn(2, 0.1)])]
    results = results_of(write_comparison(tmp_path / "errors", models))
    lines = [replace(line, values={"RMSE/people": line.values["P@10"]}) for line in results.lines]
    errors = replace(results, lines=tuple(lines), metrics=("RMSE/people",), against_best=())
    means = {line.label: line.values["RMSE/people"].mean for line in lines}
    assert means["together"] > means["central"]
    first, second = outcome(errors)
    assert first.startswith("central has the best RMSE/people (root mean squared error of predicted ratings")
    times = f"{means['together'] / means['central']:.2f}"
    assert second.startswith(
        f"The best federated model, together, has {times} times the RMSE/people of central,"
    )


def test_named_pairs_are_one_family(three: Path) -> None:
    folder = read_runs(three)
    values = {model.label: model.parts[0].per_user["P@10"] for model in folder.models}
    pairs = [("best", "near"), ("near", "worst"), ("best", "worst")]
    tests = named_tests(summarise(folder), [*pairs, ("best", "nobody")], ["P@10", "IC@10"])
    assert [(test.metric, test.label, test.reference) for test in tests] == [("P@10", *pair) for pair in pairs]
    by_t = [float(scipy.stats.ttest_rel(values[one], values[other]).pvalue) for one, other in pairs]
    by_rank = [compare_values(values[one], values[other], "wilcoxon").p for one, other in pairs]
    for found, raw in (([one.p_t for one in tests], by_t), ([one.p_wilcoxon for one in tests], by_rank)):
        order = np.argsort(raw)
        factors = {place: 3 - rank for rank, place in enumerate(order)}
        expected = np.maximum.accumulate([raw[place] * factors[place] for place in order])
        assert [found[place] for place in order] == pytest.approx(np.minimum(1, expected), rel=1e-6)
    assert tests[2].difference.mean == pytest.approx(float((values["best"] - values["worst"]).mean()))
