"""Comparisons: the same numbers as by hand, never repeated, never mixed."""

import json
from pathlib import Path

import numpy as np
import pytest

from murmura.baselines import baseline
from murmura.core.catalogue import Split
from murmura.core.errors import RunError, SettingError
from murmura.engine.prepared import whole_split
from murmura.engine.protocol import protocol
from murmura.engine.run_folder import Run
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.run import compare
from tests.studies.worlds import small_world


def whole() -> Split:
    return whole_split(small_world(), protocol("default", small_world()))


MODELS = {"mostpop": {}, "near": {"name": "user-knn", "k": 5}}


def test_the_table_agrees_with_a_count_by_hand(tmp_path: Path) -> None:
    ready = plan(small_world(), "default", MODELS)
    lines = list(compare(ready, tmp_path / "c"))
    split = whole()
    model = baseline("mostpop")().fit(split.train)
    hits = []
    for user in np.unique(split.test.user):
        listed = model.recommend(np.array([user], np.int32), 10).item[0].tolist()
        hits.append(len(set(listed) & set(split.test.by_user.of(user).tolist())) / 10)
    assert [line.label for line in lines] == ["mostpop", "near"]
    assert lines[0].values["P@10"] == pytest.approx(np.mean(hits), abs=1e-12)
    better, popular = lines[1].values["P@10"], lines[0].values["P@10"]
    assert better is not None
    assert popular is not None
    assert better > popular  # the two taste groups are there to be found
    assert list(lines[0].flat()) == ["model", "seeds", "P@10", "R@10", "nDCG@10", "IC@10", "G@10"]


def test_a_finished_run_is_not_repeated(tmp_path: Path) -> None:
    ready = plan(small_world(), "default", MODELS)
    first = list(compare(ready, tmp_path / "c"))
    kept = tmp_path / "c" / "mostpop-seed0" / "metrics.json"
    doctored = {**json.loads(kept.read_text()), "P@10": 0.5}
    kept.write_text(json.dumps(doctored))
    again = list(compare(ready, tmp_path / "c"))
    assert again[0].values["P@10"] == 0.5
    assert again[1].values == first[1].values


def test_an_interrupted_comparison_keeps_what_was_done(tmp_path: Path) -> None:
    ready = plan(small_world(), "default", MODELS)
    lines = compare(ready, tmp_path / "c")
    next(lines)
    lines.close()
    assert Run.open(tmp_path / "c").status == "interrupted"
    assert Run.open(tmp_path / "c" / "mostpop-seed0").status == "done"
    assert len(list(compare(ready, tmp_path / "c"))) == 2
    assert Run.open(tmp_path / "c").status == "done"


def test_another_comparison_may_not_use_the_folder(tmp_path: Path) -> None:
    list(compare(plan(small_world(), "default", {"mostpop": {}}), tmp_path / "c"))
    with pytest.raises(RunError, match="holds another"):
        list(compare(plan(small_world(), "default", MODELS), tmp_path / "c"))


def test_bad_settings_are_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"user-knn\.k"):
        plan(small_world(), "default", {"mostpop": {}, "user-knn": {"k": 0}})
    with pytest.raises(SettingError, match="did you mean 'mostpop'"):
        plan(small_world(), "default", {"mostpopp": {}})
    with pytest.raises(SettingError, match="did you mean 'fpl'"):
        plan(small_world(), "fppl", MODELS)
    assert not list(tmp_path.iterdir())


def test_runs_carry_own_ids(tmp_path: Path) -> None:
    ready = plan(small_world(), "default", {"mostpop": {}})
    list(compare(ready, tmp_path / "c"))
    run = Run.open(tmp_path / "c" / "mostpop-seed0")
    header, rows = run.read_table("recommendations.tsv", "\t")
    assert header == ["user", "rank", "item", "score"]
    assert [row[1] for row in rows[:10]] == [str(place) for place in range(1, 11)]
    users = set(ready.prepared.split.data.users.labels.tolist())
    assert {int(row[0]) for row in rows} <= users
    header, people = run.read_table("per_user.csv")
    assert len(people) == len(np.unique(whole().test.user))
    assert run.read("data.json")["fingerprint"] == whole().data.fingerprint
