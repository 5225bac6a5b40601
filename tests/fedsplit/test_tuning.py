"""Groups that tune themselves on their own ratings."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from murmura.algorithms.fedsplit.fedsplit import FedSplit
from murmura.core.errors import RunError
from murmura.core.interactions import Interactions
from murmura.kernels.factorisation.cnmf_steps import CnmfSettings
from murmura.lab.groups.tuned_groups import (
    RANGES,
    Folds,
    GroupChoice,
    GroupRatings,
    Tuning,
    saved,
    tune,
    tune_all,
)
from tests.fedsplit.worlds import raters

QUICK = Tuning(trials=6, folds=3, passes=15, epochs=30)


def some(data: Interactions, people: int, name: str = "some") -> GroupRatings:
    rows = data.by_user
    user = data.user[rows.order]
    own = user < people
    return GroupRatings(name, user[own], rows.index[own], rows.value[own], 3.2)


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
    choice = tune(ratings, QUICK)
    chosen, loss = choice.settings, choice.loss
    assert loss is not None
    assert choice == tune(ratings, QUICK)
    assert all(low <= getattr(chosen, name) <= high for name, (low, high) in RANGES.items())
    assert 2 <= chosen.factors <= 11
    trial = CnmfSettings(**{**{n: getattr(chosen, n) for n in RANGES}, "factors": chosen.factors, "epochs": 1})
    assert Folds(ratings, QUICK).loss(trial) == loss
    more = tune(ratings, Tuning(trials=20, folds=3, passes=15, epochs=30)).loss
    assert more is not None
    assert more <= loss


def test_three_people_have_two_factors() -> None:
    assert tune(some(raters(), 3), QUICK).settings.factors == 2


def few(ratings: int, people: int) -> GroupRatings:
    """So many ratings, dealt to the people in turn."""
    places = np.arange(ratings, dtype=np.int32)
    return GroupRatings("few", np.sort(places % people), places, (1 + places % 5).astype(np.float64), 3.0)


@pytest.mark.parametrize(("ratings", "people"), [(2, 2), (3, 2), (3, 3), (4, 3)])
def test_a_group_has_no_more_folds_than_ratings(ratings: int, people: int) -> None:
    choice = tune(few(ratings, people), Tuning(trials=3, folds=400, passes=5))
    assert choice.folds == ratings
    assert choice.loss is not None
    assert np.isfinite(choice.loss)
    assert f"in {ratings} folds" in str(choice)


def test_a_group_that_cannot_be_tuned_takes_the_methods_own_settings() -> None:
    choice = tune(few(3, 1), QUICK)
    assert str(choice) == "too few ratings to tune, takes the method's own settings"
    own = FedSplit(epochs=QUICK.epochs)
    assert choice.settings == CnmfSettings(**{name: getattr(own, name) for name in vars(choice.settings)})


def test_a_finished_group_is_kept(tmp_path: Path) -> None:
    groups = {str(n): some(raters(seed=n), 6, str(n)) for n in range(2)} | {"one": few(3, 1)}
    assert saved(tmp_path / "none", groups, GroupChoice) == {}
    found = dict(tune_all(groups, QUICK, tmp_path, 1))
    assert saved(tmp_path, groups, GroupChoice) == found
    assert isinstance(found["one"], GroupChoice)
    assert set(found) == set(groups)
    kept = json.loads((tmp_path / "0.json").read_text("utf-8"))
    del kept["loss"]
    (tmp_path / "0.json").write_text(json.dumps(kept), "utf-8")
    with pytest.raises(RunError, match="is damaged: delete it and tune again"):
        saved(tmp_path, groups, GroupChoice)


def test_a_choice_is_kept_under_all_it_depends_on() -> None:
    ratings = some(raters(), 6)
    others = [
        ratings.key(QUICK),
        ratings.key(Tuning(trials=6, folds=3, passes=15, epochs=30, seed=1)),
        replace(ratings, mu=3.3).key(QUICK),
        replace(ratings, value=ratings.value + 1).key(QUICK),
        replace(ratings, item=ratings.item + 1).key(QUICK),
        replace(ratings, person=ratings.person // 2).key(QUICK),
    ]
    assert len(set(others)) == len(others)
    assert others[0] == replace(ratings, name="another").key(QUICK)
