"""Classifiers compared: rounds to targets, gains, noise and agreements of folders whose answers are known."""

import csv
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from murmura.core.errors import RunError
from murmura.lab.classification.classified_samples import (
    AGREEMENT,
    agreement,
    noise_tests,
    printed_like,
    read_learning,
    weighted_accuracy,
)
from murmura.lab.classification.learning_section import accuracy_curves, difference_curves
from murmura.report import build
from murmura.report.build import analyses
from murmura.report.page import Section
from murmura.report.table import ReportTable, TableCell
from murmura.studies.compare.folder import ComparisonFolder
from tests.report.classifiers import write_classifiers

SLOW = (0.505, 0.605, 0.795, 0.905)  # the first client; the tenth is .09 below
FAST = (0.605, 0.795, 0.905, 0.945)


def section(folder: Path, against: str = "") -> Section:
    return next(one for one in analyses(folder, against) if one.name == "learning")


def row(table: ReportTable, label: str) -> dict[str, TableCell]:
    cells = next(cells for cells in table.rows if cells[0].text == label)
    return {column.title: cell for column, cell in zip(table.columns, cells)}


def tables(found: Section) -> dict[str, ReportTable]:
    return {table.name: table for table in found.tables}


def test_rounds_of_the_baseline_and_the_gain_of_others(tmp_path: Path) -> None:
    folder = write_classifiers(tmp_path / "c", {"other": [FAST, FAST], "DS": [SLOW, SLOW]})
    table = tables(section(folder, "DS"))["rounds-70"]
    assert [cells[0].text for cells in table.rows] == ["DS", "other"]
    base, other = row(table, "DS"), row(table, "other")
    # .795 to .705 exceed .7 in round 3 with all clients; FAST gets there one round sooner
    assert [base[f"{share} %"].value for share in range(10, 100, 10)] == [3.0] * 9
    assert [other[f"{share} %"].value for share in range(10, 100, 10)] == [1.0] * 9
    assert base["Avg"].value is None
    assert other["Avg"].value == 1.0
    assert other["50 %"].mark == ""


def test_a_target_that_is_not_reached_counts_with_the_last_round_and_is_marked(tmp_path: Path) -> None:
    folder = write_classifiers(tmp_path / "c", {"DS": [SLOW], "other": [FAST]}, seeds=1)
    table = tables(section(folder))["rounds-90"]
    base, other = row(table, "DS"), row(table, "other")
    # .905 is above .9 for the first client alone: 10 % in round 4, 20 % never
    assert (base["10 %"].value, base["10 %"].mark) == (4.0, "")
    assert (base["20 %"].value, base["20 %"].mark) == (4.0, "†")
    assert (other["10 %"].value, other["10 %"].mark) == (1.0, "")  # round 3 against 4
    assert (other["20 %"].value, other["20 %"].mark) == (0.0, "†")  # round 4 against never, by 4
    assert "rounds-95" not in tables(section(folder))
    assert "exceeds 95 %" in " ".join(tables(section(folder))["learning"].notes)


def test_the_spread_is_over_common_seeds(tmp_path: Path) -> None:
    later = (0.505, 0.505, 0.605, 0.795)
    folder = write_classifiers(tmp_path / "c", {"DS": [SLOW, later], "other": [FAST]})
    table = tables(section(folder))["rounds-70"]
    base, other = row(table, "DS")["50 %"], row(table, "other")["50 %"]
    assert (base.value, base.low, base.high) == (3.5, 3.0, 4.0)
    assert (other.value, other.low) == (1.0, None)  # seed 0 alone: 3 against 2


def test_without_a_name_others_are_held_against_the_weights_of_fedavg(tmp_path: Path) -> None:
    entries = {"equal": [SLOW], "by size": [FAST]}
    size = {"by size": {"criteria": ["dataset_size"]}}
    folder = write_classifiers(tmp_path / "c", entries, size, seeds=1)
    assert section(folder).tables[0].rows[0][0].text == "by size"
    assert section(folder, "equal").tables[0].rows[0][0].text == "equal"
    plain = write_classifiers(tmp_path / "d", entries, seeds=1)
    assert section(plain).tables[0].rows[0][0].text == "equal"


def test_differences_are_tested_over_seeds_and_corrected(tmp_path: Path) -> None:
    base = [np.array(SLOW) + shift for shift in (0.0, 0.002, 0.004)]
    ahead = [curve + 0.03 + extra for curve, extra in zip(base, (0.0, 0.0004, -0.0004))]
    noisy = [curve + extra for curve, extra in zip(base, (0.03, -0.02, 0.005))]
    entries = {"DS": base, "ahead": ahead, "noisy": noisy, "same": base}
    folder = write_classifiers(
        tmp_path / "c", {k: [c.tolist() for c in v] for k, v in entries.items()}, seeds=3
    )
    found = {entry.label: entry for entry in read_learning(ComparisonFolder.open(folder))}
    tests = noise_tests(list(found.values()), found["DS"])
    assert tests["ahead"].beyond
    assert not tests["noisy"].beyond
    assert not tests["same"].beyond
    assert tests["same"].p == 1.0
    # by hand: mean .03, s .0004, t(2) at 1 - .05 / 3 / 2 = 7.6488
    half = 7.6488 * 0.0004 / np.sqrt(3)
    assert tests["ahead"].difference.mean == pytest.approx(0.03, abs=1e-6)
    assert tests["ahead"].difference.high == pytest.approx(0.03 + half, abs=2e-6)
    cells = row(tables(section(folder, "DS"))["learning"], "ahead")
    assert cells["beyond noise"].text == "yes"
    assert cells["effective clients"].value == 9.5
    assert (cells["smallest weight"].value, cells["largest weight"].value) == (0.8, 1.2)


def test_one_seed_says_nothing_about_noise(tmp_path: Path) -> None:
    folder = write_classifiers(tmp_path / "c", {"DS": [SLOW], "other": [FAST]}, seeds=1)
    assert "one seed" in row(tables(section(folder))["learning"], "other")["beyond noise"].text


def test_which_samples_both_classify_rightly(tmp_path: Path) -> None:
    answers = {"DS": ["1100", "1111"], "other": ["1010", "1110"]}
    folder = write_classifiers(tmp_path / "c", {"DS": [SLOW, SLOW], "other": [FAST, FAST]}, answers=answers)
    entries = read_learning(ComparisonFolder.open(folder))
    found = agreement(entries[1], entries[0])
    assert found == {
        AGREEMENT[0]: [10, 30],
        AGREEMENT[1]: [10, 10],
        AGREEMENT[2]: [10, 0],
        AGREEMENT[3]: [10, 0],
    }
    cells = row(tables(section(folder))["agreement"], "other")
    assert [cells[key].value for key in ("both right", "only DS", "only it", "both wrong")] == [20, 10, 5, 5]
    assert cells["by chance"].value == (20 * 20 / 40 + 0) / 2
    printed = printed_like(entries, entries[0])
    assert printed["other"]["both wrong"].mean == 5
    assert "both wrong" not in printed["DS"]
    assert printed["DS"]["rounds/50>90"].mean == 4  # never: the last round


def test_folders_without_answers_leave_the_agreement_out_and_say_so(tmp_path: Path) -> None:
    folder = write_classifiers(tmp_path / "c", {"DS": [SLOW], "other": [FAST]}, seeds=1)
    found = tables(section(folder))
    assert "agreement" not in found
    assert "answers.csv" in " ".join(found["learning"].notes)


def test_clients_count_by_their_test_samples(tmp_path: Path) -> None:
    folder = write_classifiers(tmp_path / "c", {"DS": [SLOW]}, answers={"DS": ["11"]}, seeds=1)
    table = folder / "DS-seed0" / "answers.csv"
    table.write_text(table.read_text().replace("c0,11", "c0,11111111111"))
    (entry,) = read_learning(ComparisonFolder.open(folder))
    local = SLOW[-1] - 0.01 * np.arange(10)
    assert weighted_accuracy(entry)[0, -1] == pytest.approx(np.average(local, weights=[11] + [2] * 9))


def test_classes_and_what_is_mistaken_most_often(tmp_path: Path) -> None:
    found = tables(section(write_classifiers(tmp_path / "c", {"DS": [SLOW, SLOW]})))
    cells = row(found["classes"], "DS")
    assert (cells["0"].value, cells["1"].value, cells["most often"].text) == (0.9, 0.7, "1 for 0: 30.0 %")
    assert [[cell.value for cell in cells] for cells in found["confusion"].rows] == [
        ["0", 90, 10],
        ["1", 30, 70],
    ]


def test_a_damaged_folder_is_named(tmp_path: Path) -> None:
    folder = write_classifiers(tmp_path / "c", {"DS": [SLOW]}, answers={"DS": ["11"]}, seeds=1)
    (folder / "DS-seed0" / "answers.csv").write_text("user,right\nc0,11\n")
    with pytest.raises(RunError, match=r"answers\.csv"):
        analyses(folder)


def test_the_picture_says_where_each_ends(tmp_path: Path) -> None:
    folder = write_classifiers(tmp_path / "c", {"DS": [SLOW, FAST], "a <b>": [FAST, FAST]})
    picture = accuracy_curves(read_learning(ComparisonFolder.open(folder)))
    assert "DS 0.880" in picture.alt
    ET.fromstring(picture.svg)


def test_differences_are_seed_by_seed_over_common_seeds(tmp_path: Path) -> None:
    folder = write_classifiers(tmp_path / "c", {"DS": [SLOW, FAST], "LD": [FAST, FAST]})
    entries = read_learning(ComparisonFolder.open(folder))
    base, other = entries
    ends = [own.curve.weighted[-1] - then.curve.weighted[-1] for own, then in other.common(base)]
    picture = difference_curves(entries, base)
    assert picture is not None
    assert f"LD {np.mean(ends):.3f}" in picture.alt
    assert "DS 0.000" not in picture.alt
    ET.fromstring(picture.svg)
    assert difference_curves([base], base) is None


def test_the_page_and_its_tables(tmp_path: Path) -> None:
    folder = write_classifiers(tmp_path / "c", {"DS": [SLOW, SLOW], "LD > <MW>": [FAST, FAST]})
    page = build(folder)
    text = page.read_text(encoding="utf-8")
    assert "Learning to classify" in text
    assert "<MW>" not in text
    assert not re.search(r'(src|href)="(?!#|data:)', text)
    with (page.with_name("report-tables") / "rounds-70.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [(line["model"], float(line["50 %"])) for line in lines] == [("DS", 3.0), ("LD > <MW>", 1.0)]
