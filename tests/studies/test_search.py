"""Searches look at the validation part only and go on where they stopped."""

from pathlib import Path

import numpy as np
import pytest

from murmura.core.errors import RunError, SettingError
from murmura.core.split import TEST, Split
from murmura.engine.protocol import Prepared, Selection, prepare, protocol, whole_split
from murmura.studies.search import best, grid, search
from tests.studies.worlds import small_world


def ready() -> Selection:
    world = small_world()
    return prepare(world, protocol("default", world)).selection()


def test_a_grid_is_every_combination() -> None:
    assert grid({"a": [1, 2], "b": ["x"]}) == [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}]


def test_the_test_part_does_not_matter() -> None:
    """Shuffle the items of the test rows: a search that looked at them would change its mind."""
    world = small_world()
    rules = protocol("default", world)
    split = whole_split(world, rules)
    item = split.data.item.copy()
    held = split.part == TEST
    item[held] = np.random.default_rng(0).permutation(item[held])
    data = type(split.data)(
        split.data.users, split.data.items, split.data.user, item, split.data.value, split.data.time
    )
    other = Prepared("other", rules, Split(split.name, data, split.part), world.catalogue).selection()
    candidates = grid({"k": [1, 2, 5, 20]})
    mine = [trial.value for trial in search(ready(), "user-knn", candidates)]
    theirs = [trial.value for trial in search(other, "user-knn", candidates)]
    assert mine == theirs
    assert len(set(mine)) > 1


def test_a_search_goes_on_where_it_stopped(tmp_path: Path) -> None:
    history = tmp_path / "trials.csv"
    candidates = grid({"k": [1, 5]})
    first = list(search(ready(), "user-knn", candidates[:1], history))
    text = history.read_text()
    both = list(search(ready(), "user-knn", candidates, history))
    assert history.read_text().startswith(text)
    assert len(history.read_text().splitlines()) == 3
    assert both[0].value == pytest.approx(first[0].value, abs=1e-6)
    assert best(both).value == max(trial.value for trial in both)


def test_epochs_are_stops_on_the_way_of_one_fit() -> None:
    settings = {"factors": 4, "alpha": 0.05}
    together = list(search(ready(), "bpr-mf", [{**settings, "epochs": n} for n in (1, 3, 6)]))
    alone = [next(iter(search(ready(), "bpr-mf", [{**settings, "epochs": n}]))) for n in (1, 3, 6)]
    assert [trial.value for trial in together] == [trial.value for trial in alone]


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="at least one candidate"):
        list(search(ready(), "user-knn", []))
    with pytest.raises(SettingError, match="--metric must be one of"):
        list(search(ready(), "user-knn", [{"k": 2}], metric="P@99"))
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(RunError, match="search history"):
        list(search(ready(), "user-knn", [{"k": 2}], tmp_path / "x.csv"))
