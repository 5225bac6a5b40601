"""What counts as one method when the runs of a folder are set beside their groups alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.errors import RunError
from murmura.lab.groups.group_results import GroupingPair, GroupTable, central_splits, read_groups
from murmura.report.build import analyses
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.run import compare
from tests.fedsplit.worlds import raters

FAST: dict[str, Any] = {"factors": 2, "epochs": 5}


def made(folder: Path, models: dict[str, dict[str, Any]], seeds: int = 1) -> GroupTable:
    data = raters(people=50, items=40, share=0.7)
    grouped = {label: {**FAST, **given} for label, given in models.items()}
    list(compare(plan(Dataset("made", data, Catalogue(data.items)), "fedsplit", grouped, seeds=seeds), folder))
    return read_groups(folder)


def test_labels_that_end_in_numbers_are_methods_of_their_own(tmp_path: Path) -> None:
    split = {"name": "fedsplit"}
    found = made(tmp_path, {"cnmf-groups": {}, "r-1": split, "r-2": {**split, "bias": "seen"}})
    assert [(one.model, one.groupings) for one in found.summaries()] == [("r-1", 1), ("r-2", 1)]
    assert [one.model for one in found.methods] == ["cnmf-groups", "r-1", "r-2"]


def test_groupings_of_different_methods_are_not_one(tmp_path: Path) -> None:
    models: dict[str, dict[str, Any]] = {
        f"{label}-{n}": {"name": name, "grouping_seed": n, "bias": bias}
        for label, name, biases in (
            ("alone", "cnmf-groups", "aa"),
            ("same", "fedsplit", "aa"),
            ("r", "fedsplit", "as"),
        )
        for n, bias in enumerate({"a": "all", "s": "seen"}[letter] for letter in biases)
    }
    found = made(tmp_path, models)
    shown = [(one.model, one.groupings) for one in found.summaries()]
    assert shown == [("same", 2), ("r-0", 1), ("r-1", 1)]
    assert "alone" in {one.model for one in found.methods}


def test_seeds_of_one_grouping_are_not_more_groupings(tmp_path: Path) -> None:
    found = made(tmp_path, {"cnmf-groups": {"grouping_seed": 3}, "fedsplit": {"grouping_seed": 3}}, seeds=2)
    assert [(one.model, one.groupings) for one in found.summaries()] == [("fedsplit", 1)]
    assert len(found.pairs) == 2
    assert any(found.pairs[0].alone != found.pairs[1].alone)  # each beside the run of its own seed


@pytest.mark.slow
def test_groups_alone_and_the_centralised_model_are_found_under_any_label(tmp_path: Path) -> None:
    found = made(tmp_path, {"c": {"name": "cnmf"}, "alone": {"name": "cnmf-groups"}, "fedsplit": {}})
    assert [one.rounds for one in found.methods] == ["–", "means only", "1"]
    assert found.central["MSE"] > 0
    assert "groups" in [one.name for one in analyses(tmp_path)]


def test_rounds_of_training_and_bytes_in_each_are_counted(tmp_path: Path) -> None:
    found = made(tmp_path, {"cnmf-groups": {}, "fedmf": {"epochs": 3, "factors": 2}})
    ours = found.methods[-1]
    assert (ours.model, ours.rounds) == ("fedmf", "3")
    sent = ours.mean("kB up/client")
    assert sent is not None
    assert ours.kilobytes_a_round == sent / 3


def test_intervals_and_cut_offs_are_over_groups() -> None:
    after = np.array([0.5, 0.84, 0.9, 1.2])
    alone = np.array([0.7, 0.94, 0.8, 1.5])  # gains of .2, .1 and .3, one loss of .1
    pair = GroupingPair("m", (0,), np.arange(4.0), np.arange(4.0), alone, after)
    (found,) = GroupTable((pair,), ()).summaries()
    assert found.gain == pytest.approx(-0.2)
    assert found.gain_reach == pytest.approx(4.302653 * 0.1 / 3**0.5)  # t of 2 degrees of freedom
    assert found.loss_reach is None
    below, most = found.within.values()
    assert (below.share, most.share) == (0.5, 0.75)
    assert below.mean == pytest.approx(0.67)
    assert most.mean == pytest.approx(2.24 / 3)


@pytest.mark.slow
def test_what_was_named_first_is_drawn(tmp_path: Path) -> None:
    made(tmp_path, {"cnmf-groups": {}, "z": {"name": "fedsplit"}, "fedsplit-ridge": {}})
    (section,) = [one for one in analyses(tmp_path) if one.name == "groups"]
    assert section.pictures[0].title == "What z gains every group"


def test_every_split_of_a_centralised_model_has_a_test_part_of_its_own(tmp_path: Path) -> None:
    data = raters(people=50, items=40, share=0.7)
    dataset = Dataset("made", data, Catalogue(data.items))
    found = list(central_splits(dataset, "cnmf", 3, tmp_path, {"name": "made"}))
    assert [one["split_seed"] for one in found] == [42, 43, 44]
    assert len({one["mse"] for one in found}) == 3
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("metrics.json")}
    assert list(central_splits(dataset, "cnmf", 3, tmp_path, {"name": "made"})) == found
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("metrics.json")} == written
    tests = {(path.parent / "config.yaml").read_text() for path in tmp_path.glob("*/*/metrics.json")}
    assert len(tests) == 3


def test_a_folder_without_groups_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="must hold runs of cnmf-groups and of another method"):
        read_groups(tmp_path)
