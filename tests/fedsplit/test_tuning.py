"""Groups that tune themselves, and the tables over groups."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from murmura.cli.app import app
from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.errors import RunError
from murmura.core.interactions import Interactions
from murmura.engine.run import Run
from murmura.kernels.cnmf import CnmfSettings
from murmura.report.analyses import analyses
from murmura.studies.group_results import read_groups
from murmura.studies.group_table import Asked, tuned_table
from murmura.studies.group_tuning import RANGES, Folds, Ratings, Tuning, tune, tune_all
from tests.fedsplit.worlds import raters

QUICK = Tuning(trials=6, folds=3, passes=15, epochs=30)


def some(data: Interactions, people: int, name: str = "some") -> Ratings:
    rows = data.by_user
    user = data.user[rows.order]
    own = user < people
    return Ratings(name, user[own], rows.index[own], rows.value[own], 3.2)


def test_every_rating_is_held_out_once() -> None:
    ratings = some(raters(), 9)
    folds = Folds(ratings, QUICK)
    sizes = [len(value) for *_, value in folds.parts]
    assert sum(sizes) == len(ratings.value)
    assert max(sizes) - min(sizes) <= 1
    assert all(len(train.value) + size == sum(sizes) for (train, *_), size in zip(folds.parts, sizes))
    assert folds.most == 8


def test_what_is_chosen_is_the_best_of_the_box_and_the_same_again() -> None:
    ratings = some(raters(), 12)
    chosen, loss = tune(ratings, QUICK)
    assert (chosen, loss) == tune(ratings, QUICK)
    assert all(low <= getattr(chosen, name) <= high for name, (low, high) in RANGES.items())
    assert 2 <= chosen.factors <= 11
    trial = CnmfSettings(**{**{n: getattr(chosen, n) for n in RANGES}, "factors": chosen.factors, "epochs": 1})
    assert Folds(ratings, QUICK).loss(trial) == loss
    more = tune(ratings, Tuning(trials=20, folds=3, passes=15, epochs=30))[1]
    assert more <= loss


def test_three_people_have_two_factors() -> None:
    assert tune(some(raters(), 3), QUICK)[0].factors == 2


def test_a_finished_group_is_not_tuned_again(tmp_path: Path) -> None:
    groups = [some(raters(seed=n), 6, str(n)) for n in range(2)]
    first = sorted(tune_all(groups[:1], QUICK, tmp_path, 1), key=lambda one: one[0])
    kept = json.loads((tmp_path / "0.json").read_text("utf-8"))
    (tmp_path / "0.json").write_text(json.dumps({**kept, "loss": 0.123}), "utf-8")
    both = {name: loss for name, _, loss in tune_all(groups, QUICK, tmp_path, 1)}
    assert both["0"] == 0.123
    assert first[0][2] == kept["loss"]
    with pytest.raises(RunError, match="of the same tuning, but was of another"):
        list(tune_all(groups, Tuning(trials=7), tmp_path, 1))


def test_a_tuned_table_is_a_comparison_like_any_other(tmp_path: Path) -> None:
    data = raters(people=80, items=40, share=0.7)
    dataset = Dataset("made", data, Catalogue(data.items))
    heard: list[str] = []
    found = tuned_table(dataset, Asked(2, QUICK, 1), tmp_path, heard.append, {"name": "made"})
    assert [one.model for one in found.summaries()] == ["fedsplit", "fedsplit-seen"]
    summary, seen = found.summaries()
    assert (seen.alone, seen.groups) == (summary.alone, summary.groups)
    told = Run.open(tmp_path / "runs" / "fedsplit-seen-0-seed0").config["models"]["fedsplit-seen-0"]
    assert (told["name"], told["bias"]) == ("fedsplit", "seen")
    assert summary.groupings == 2
    assert summary.groups == sum(len(pair.after) for pair in found.pairs if pair.model == "fedsplit")
    assert 0 < summary.improved <= summary.groups
    assert {one.model for one in found.errors()} == {"cnmf", "cnmf-groups", "fedsplit", "fedsplit-seen"}
    assert {one.rounds for one in found.errors()} == {"–", "means only", "1"}
    again = tuned_table(dataset, Asked(2, QUICK, 1), tmp_path, heard.append, {"name": "made"})
    assert np.array_equal(again.pairs[0].after, found.pairs[0].after)
    (section,) = [one for one in analyses(tmp_path / "runs") if one.name == "groups"]
    assert [table.name for table in section.tables] == ["group-errors", "groups"]
    assert f"{summary.improved} of {summary.groups} groups improved" in section.pictures[0].alt
    shown = CliRunner().invoke(app, ["groups", "table", str(tmp_path / "runs"), "--json"])
    assert [json.loads(line)["improved"] for line in shown.stdout.splitlines()] == [
        summary.improved,
        seen.improved,
    ]


def test_a_folder_without_groups_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="must hold runs of cnmf-groups and of another method"):
        read_groups(tmp_path)
