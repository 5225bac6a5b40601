"""Searches look at the validation part only and go on where they stopped."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.core.catalogue import TEST, Catalogue, Dataset, Split
from murmura.core.errors import RunError, SettingError
from murmura.core.interactions import Interactions
from murmura.engine.prepared import PreparedData, Selection, prepare, whole_split
from murmura.engine.protocol import protocol
from murmura.studies.search.folder import Trial, best, name_of
from murmura.studies.search.grid import search
from murmura.studies.search.space import grid
from murmura.studies.search.tpe import Tpe
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
    other = PreparedData("other", rules, Split(split.name, data, split.part), world.catalogue).selection()
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
    assert best(both, "P@10").value == max(trial.value for trial in both)


RATED = Interactions.of(
    np.repeat(np.arange(50), 25),
    np.concatenate([np.random.default_rng(u).permutation(30)[:25] for u in range(50)]),
    np.random.default_rng(1).integers(1, 6, 1250).astype(np.float64),
)


@pytest.mark.parametrize("sampler", ["grid", "tpe"])
def test_of_errors_the_lowest_wins(sampler: str) -> None:
    """Ratings at random: a pass or two over them must beat five hundred, which learn them by heart."""
    dataset = Dataset("random", RATED, Catalogue(RATED.items))
    selection = prepare(dataset, protocol("fedsplit", dataset)).selection()
    axes: dict[str, list[Any]] = {"epochs": [1, 500], "factors": [10]}
    candidates = grid(axes) if sampler == "grid" else Tpe({**axes}, 12)
    trials = list(search(selection, "cnmf", candidates, metric="MSE"))
    assert best(trials, "MSE").settings["epochs"] == 1
    assert best(trials, "MSE").value == min(trial.value for trial in trials)
    if sampler == "tpe":  # it asks for the better one more often
        assert sum(trial.settings["epochs"] == 1 for trial in trials) > 6


def test_a_metric_without_a_best_end_is_refused_before_any_work() -> None:
    with pytest.raises(SettingError, match="'BD/x@10' is best near 0"):
        next(iter(search(ready(), "user-knn", grid({"k": [1]}), metric="BD/x@10")))
    with pytest.raises(SettingError, match="there is no metric 'RMS'"):
        next(iter(search(ready(), "user-knn", grid({"k": [1]}), metric="RMS")))


def test_epochs_are_stops_on_the_way_of_one_fit() -> None:
    settings = {"factors": 4, "alpha": 0.05}
    together = list(search(ready(), "bpr-mf", [{**settings, "epochs": n} for n in (1, 3, 6)]))
    alone = [next(iter(search(ready(), "bpr-mf", [{**settings, "epochs": n}]))) for n in (1, 3, 6)]
    assert [trial.value for trial in together] == [trial.value for trial in alone]


def test_epochs_of_a_one_shot_method_are_passes_of_its_clients(tmp_path: Path) -> None:
    """Each number is a fit of its own: nothing leaves a group before its last pass."""
    dataset = Dataset("random", RATED, Catalogue(RATED.items))
    selection = prepare(dataset, protocol("fedsplit", dataset)).selection()
    candidates = [{"factors": 2, "epochs": n} for n in (2, 1, 30)]
    together = list(search(selection, "cnmf-groups", candidates, tmp_path / "h.csv", metric="MSE"))
    alone = [next(iter(search(selection, "cnmf-groups", [one], metric="MSE"))) for one in candidates]
    assert [trial.settings for trial in together] == candidates
    assert values(together) == values(alone)
    assert len({trial.value for trial in together}) == 3
    with pytest.raises(SettingError, match="learns in epochs, but 'cnmf-groups' does not"):
        list(search(selection, "cnmf-groups", candidates, metric="MSE", patience=2))


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="at least one candidate"):
        list(search(ready(), "user-knn", []))
    with pytest.raises(SettingError, match="--metric must be one of"):
        list(search(ready(), "user-knn", [{"k": 2}], metric="RMSE"))
    with pytest.raises(SettingError, match=r"--metric must have its cut-off, but it is 'nDCG'; .* nDCG@10"):
        list(search(ready(), "user-knn", [{"k": 2}], metric="nDCG"))
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(RunError, match="search history"):
        list(search(ready(), "user-knn", [{"k": 2}], tmp_path / "x.csv"))


def test_a_metric_may_have_a_cutoff_of_its_own() -> None:
    (at_3,) = search(ready(), "user-knn", [{"k": 2}], metric="R@3")
    (at_10,) = search(ready(), "user-knn", [{"k": 2}], metric="R@10")
    assert 0 < at_3.value <= at_10.value


def values(trials: Iterable[Trial]) -> list[tuple[str, float]]:
    return [(name_of(trial.settings), trial.value) for trial in trials]


@pytest.mark.slow
def test_workers_change_no_result(tmp_path: Path) -> None:
    candidates = [*grid({"alpha": [0.01, 0.1], "epochs": [1, 4]}), {"alpha": 0.3, "epochs": 2}]
    alone = values(search(ready(), "bpr-mf", candidates, tmp_path / "alone.csv"))
    together = values(search(ready(), "bpr-mf", candidates, tmp_path / "together.csv", workers=2))
    assert alone == together
    lines = [(tmp_path / name).read_text().splitlines() for name in ("alone.csv", "together.csv")]
    assert [line.rpartition(",")[0] for line in lines[0]] == [line.rpartition(",")[0] for line in lines[1]]


def test_a_candidate_given_twice_is_tried_once() -> None:
    assert len(list(search(ready(), "user-knn", [{"k": 2}, {"k": 2}, {"k": 3}]))) == 2


@pytest.mark.parametrize("patience", [1, 3])
def test_a_fit_ends_when_patience_does(tmp_path: Path, patience: int) -> None:
    """Every epoch scored on its own says where the fit must end and which epoch it must choose."""
    settings = {"factors": 4, "alpha": 0.3}
    every = [t.value for t in search(ready(), "bpr-mf", [{**settings, "epochs": n} for n in range(1, 16)])]
    end = next(
        (n for n in range(1, 16) if n - 1 - every[:n].index(max(every[:n])) >= patience), 15
    )  # the first epoch whose best lies `patience` epochs back
    history = tmp_path / "h.csv"
    (found,) = search(ready(), "bpr-mf", [{**settings, "epochs": 15}], history, patience=patience)
    assert len(history.read_text().splitlines()) == 1 + end
    assert found.settings == {**settings, "epochs": 1 + every[:end].index(max(every[:end]))}
    assert found.value == max(every[:end])
    assert end < 15 or patience == 3  # something was saved
    text = history.read_text()
    assert values(
        search(ready(), "bpr-mf", [{**settings, "epochs": 15}], history, patience=patience)
    ) == values([found])
    assert history.read_text() == text  # nothing was tried again


def test_a_killed_early_stop_is_finished(tmp_path: Path) -> None:
    """A history cut in the middle of a fit, in the middle of a line: the fit is made again, nothing doubles."""
    history, settings = tmp_path / "h.csv", [{"factors": 4, "alpha": 0.1, "epochs": 8}]
    whole = values(search(ready(), "bpr-mf", settings, history, patience=2))
    lines = history.read_text().splitlines(keepends=True)
    for cut in (len(lines[3]) - 3, 40, 25):  # in the seconds, in the settings, before them
        history.write_text("".join(lines[:3]) + lines[3][:cut])
        assert values(search(ready(), "bpr-mf", settings, history, patience=2)) == whole
        again = values(search(ready(), "bpr-mf", settings, history, patience=2))
        assert again == whole  # the lines after the broken one are whole


def test_patience_needs_epochs() -> None:
    with pytest.raises(SettingError, match="learns in epochs"):
        list(search(ready(), "ease", [{"reg": 1}], patience=2))
    with pytest.raises(SettingError, match="at least 1 epoch"):
        list(search(ready(), "bpr-mf", [{}], patience=0))


def test_a_setting_that_diverges_has_no_value_and_the_search_goes_on(tmp_path: Path) -> None:
    history = tmp_path / "trials.csv"
    steep: dict[str, list[Any]] = {"alpha": [1e9, 0.05], "reg": [0.0], "epochs": [1, 40]}
    for _ in range(2):  # the second time from the file
        found = list(search(ready(), "bpr-mf", grid(steep), history, metric="nDCG@10"))
        diverged = [trial.settings["alpha"] for trial in found if math.isnan(trial.value)]
        assert 1 <= len(diverged) <= 2
        assert set(diverged) == {1e9}
        assert best(found, "nDCG@10").settings["alpha"] == 0.05
    lines = history.read_text().splitlines()
    assert len(lines) == 1 + len(grid(steep))


def test_a_setting_that_diverges_ends_by_patience(tmp_path: Path) -> None:
    history, steep = tmp_path / "trials.csv", [{"alpha": 1e9, "reg": 0.0, "epochs": 40}]
    for _ in range(2):
        [trial] = search(ready(), "bpr-mf", steep, history, metric="nDCG@10", patience=3)
        lines = history.read_text().splitlines()
        assert trial.settings["epochs"] + 3 == len(lines) - 1 < 40
        assert lines[-1].split(",")[-2] == "nan"


def test_federated_methods_stop_early_too() -> None:
    (found,) = search(ready(), "sfpl+", [{"epochs": 6, "factors": 4}], patience=2)
    assert 1 <= found.settings["epochs"] <= 6
    alone = list(search(ready(), "sfpl+", [{"epochs": n, "factors": 4} for n in range(1, 7)]))
    assert found.value == alone[found.settings["epochs"] - 1].value
