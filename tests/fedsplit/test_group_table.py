"""Every group of several groupings tuned, and their tables."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from murmura.cli.app import app
from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.errors import RunError
from murmura.core.interactions import Interactions
from murmura.engine.run_folder import Run
from murmura.lab.groups import tuned_groups
from murmura.lab.groups.group_results import read_groups
from murmura.lab.groups.tuned_groups import Tuning, TuningRequest, tuned_table
from murmura.report.build import analyses
from tests.fedsplit.worlds import raters

pytestmark = pytest.mark.slow

QUICK = Tuning(trials=3, folds=3, passes=10, epochs=20)


def tuned(data: Interactions, folder: Path, groupings: int, tuning: Tuning = QUICK) -> tuple[Path, list[str]]:
    heard: list[str] = []
    dataset = Dataset("made", data, Catalogue(data.items))
    return tuned_table(
        dataset, TuningRequest(groupings, tuning, 1), folder, heard.append, {"name": "made"}
    ), heard


def world(seed: int = 0) -> Interactions:
    return raters(people=80, items=40, share=0.7, seed=seed)


def test_a_tuned_table_is_a_comparison_like_any_other(tmp_path: Path) -> None:
    runs, _ = tuned(world(), tmp_path, 2)
    found = read_groups(runs)
    assert [one.model for one in found.summaries()] == ["fedsplit", "fedsplit-seen"]
    summary, seen = found.summaries()
    assert (seen.alone, seen.groups) == (summary.alone, summary.groups)
    told = Run.open(runs / "fedsplit-seen-0-seed0").config["models"]["fedsplit-seen-0"]
    assert (told["name"], told["bias"]) == ("fedsplit", "seen")
    assert summary.groupings == 2
    assert summary.groups == sum(len(pair.after) for pair in found.pairs if pair.model == "fedsplit")
    assert 0 < summary.improved <= summary.groups
    assert {one.model for one in found.methods} == {"cnmf", "cnmf-groups", "fedsplit", "fedsplit-seen"}
    assert {one.rounds for one in found.methods} == {"–", "means only", "1"}
    (section,) = [one for one in analyses(runs) if one.name == "groups"]
    assert [table.name for table in section.tables] == ["group-errors", "groups", "groups-within"]
    assert f"{summary.improved} of {summary.groups} groups improved" in section.pictures[0].alt
    shown = CliRunner().invoke(app, ["groups", "table", str(runs), "--json"])
    assert [json.loads(line)["improved"] for line in shown.stdout.splitlines()] == [
        summary.improved,
        seen.improved,
    ]
    shown = CliRunner().invoke(app, ["groups", "table", str(runs)])
    assert f"all ratings in one place: MSE {found.central['MSE']:.3f}, RMSE" in shown.stdout


def test_the_same_call_repeats_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, heard = tuned(world(), tmp_path, 1)
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("per_group.csv")}
    monkeypatch.setattr(tuned_groups, "_rank", None)  # K is not looked for again
    again, heard_again = tuned(world(), tmp_path, 1)
    tasks = int(heard[0].split()[2])
    assert heard[0].startswith(f"0 of {tasks} choices are kept")
    assert heard_again[0].startswith(f"{tasks} of {tasks} choices are kept")
    assert again == runs
    assert written == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("per_group.csv")}


def test_more_groupings_go_on_from_fewer_and_end_as_if_asked_at_once(tmp_path: Path) -> None:
    _, first = tuned(world(), tmp_path / "one", 1)
    more, second = tuned(world(), tmp_path / "one", 2)
    assert second[0].startswith(f"{first[0].split()[2]} of ")
    assert len([line for line in second if "held-out MSE" in line]) == int(second[0].split(";")[1].split()[0])
    once, _ = tuned(world(), tmp_path / "both", 2)
    assert more.name == once.name
    for one, other in zip(read_groups(more).pairs, read_groups(once).pairs, strict=True):
        assert np.array_equal(one.after, other.after, equal_nan=True)


def test_nothing_is_taken_from_other_data_or_another_tuning(tmp_path: Path) -> None:
    tuned(world(), tmp_path / "shared", 1)
    for data, tuning in ((world(seed=1), QUICK), (world(), Tuning(trials=2, folds=3, passes=10, epochs=20))):
        mixed, heard = tuned(data, tmp_path / "shared", 1, tuning)
        alone, _ = tuned(data, tmp_path / f"alone-{tuning.trials}", 1, tuning)
        assert heard[0].startswith("0 of ")
        assert mixed.name == alone.name
        assert Run.open(mixed).config == Run.open(alone).config
        assert read_groups(mixed).central == read_groups(alone).central


@pytest.mark.smoke
def test_more_folds_than_ratings_are_as_many_as_there_are(tmp_path: Path) -> None:
    runs, heard = tuned(world(), tmp_path, 1, Tuning(trials=1, folds=400, passes=2, epochs=5))
    assert read_groups(runs).summaries()
    assert any("folds" in line and "in 400 folds" not in line for line in heard)


def test_a_place_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path):
        with pytest.raises(RunError, match="must be new, empty or hold an earlier tuning"):
            tuned(world(), place, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
