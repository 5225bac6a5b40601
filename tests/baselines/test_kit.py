"""What every baseline promises, tried on each one that is registered."""

import re
from pathlib import Path

import numpy as np
import pytest

from murmura.baselines import baseline
from murmura.baselines.base import load_model, save_model
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.model import NO_ITEM, Model
from murmura.core.progress import SilentProgress
from murmura.core.settings import as_dict, from_dict
from murmura.kernels import ranking
from tests.baselines.kit import NAMES, PERSONAL, checkerboard, featured, quick, scattered

EVERYONE = np.arange(40, dtype=np.int32)
each = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def fitted() -> dict[str, Model]:
    return {name: quick(name).fit(scattered(), seed=5) for name in NAMES}


@each
def test_equal_seeds_give_equal_models(name: str, fitted: dict[str, Model]) -> None:
    again, other = quick(name).fit(scattered(), seed=5), quick(name).fit(scattered(), seed=6)
    before = fitted[name].score(EVERYONE)
    assert np.array_equal(before, again.score(EVERYONE))
    assert np.array_equal(before, other.score(EVERYONE)) == (not quick(name).seeded)


@each
def test_lists_hold_unseen_training_items_once_best_first(name: str, fitted: dict[str, Model]) -> None:
    model, train = fitted[name], scattered()
    lists = model.recommend(EVERYONE, 40)  # longer than there are items: everything that may be listed is
    scores = model.score(EVERYONE)
    for user in range(40):
        listed = lists.item[user][lists.item[user] != NO_ITEM].tolist()
        seen = set(train.by_user.of(user).tolist())
        assert sorted(listed) == [i for i in range(24) if i not in seen]
        if train.user_counts[user]:
            assert listed == sorted(listed, key=lambda i: (-scores[user, i], i))


@each
def test_someone_without_a_history_is_answered(name: str, fitted: dict[str, Model]) -> None:
    model = fitted[name]
    nobody = model.recommend_history(np.zeros(0, np.int32), 5).item[0].tolist()
    by_id = model.recommend_ids(["u07", "never met"], 5)
    labels = model.train.items.labels[nobody].tolist()
    assert by_id == {"u07": labels, "never met": labels}
    if name not in {"random", "mostpop-by-feature"}:  # those show everyone the list of their own rule
        counts = model.train.item_counts
        assert nobody == sorted(range(25), key=lambda i: (-counts[i], i))[:5]


@each
def test_a_newcomer_is_answered_without_her_own_items(name: str, fitted: dict[str, Model]) -> None:
    own = np.array([2, 9, 11], np.int32)
    model = fitted[name]
    items = model.recommend_history(own, 30).item[0]
    assert sorted(items[items != NO_ITEM]) == [i for i in range(24) if i not in own]
    assert np.array_equal(model.score_history(own), model.score_history(own[::-1]))  # a set has no order


@each
def test_workers_and_blocks_change_no_score(
    name: str, fitted: dict[str, Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fitted[name].recommend(EVERYONE, 10)
    monkeypatch.setattr(ranking, "BLOCK", 7)
    one, two = fitted[name].recommend(EVERYONE, 10), fitted[name].recommend(EVERYONE, 10, workers=2)
    assert np.array_equal(one.score, two.score)
    assert np.array_equal(one.item, two.item)
    assert np.array_equal(whole.item, two.item)


@each
def test_a_saved_model_answers_the_same(name: str, fitted: dict[str, Model], tmp_path: Path) -> None:
    method, model = quick(name), fitted[name]
    save_model(tmp_path / "model.npz", method, model)
    again, loaded = load_model(tmp_path / "model.npz")
    assert again == method
    assert loaded.train.fingerprint == model.train.fingerprint
    assert np.array_equal(loaded.score(EVERYONE), model.score(EVERYONE))
    own = np.array([2, 9, 11], np.int32)
    assert np.array_equal(loaded.score_history(own), model.score_history(own))


@each
def test_settings_survive_plain_values_and_refuse_unknown_ones(name: str) -> None:
    method = quick(name)
    assert method.name == name
    assert from_dict(type(method), as_dict(method)) == method
    with pytest.raises(SettingError, match=re.escape(f"unknown setting '{name}.factorz'")):
        from_dict(baseline(name), {"factorz": 3})


@each
def test_nothing_is_learned_from_nothing(name: str) -> None:
    nothing = scattered().rows(np.zeros(0, np.int64))
    with pytest.raises(SettingError, match="needs at least one training row"):
        quick(name).fit(nothing)


@each
def test_one_user_with_everything_gets_an_empty_list(name: str) -> None:
    train = featured(
        Interactions.of(np.zeros(4, np.int64), np.arange(4), time=np.arange(4)), [0], [0, 1], [1], []
    )
    lists = quick(name).fit(train).recommend(np.zeros(1, np.int32), 3)
    assert lists.item.tolist() == [[NO_ITEM] * 3]


@each
def test_training_data_are_left_alone(name: str) -> None:
    train = scattered()
    before = train.fingerprint
    quick(name).fit(train).score(EVERYONE)[:] = 0
    rows = train.user, train.item, train.value, train.time
    assert Interactions(train.users, train.items, *rows).fingerprint == before


@pytest.mark.parametrize("name", PERSONAL)
def test_the_withheld_item_of_the_own_group_comes_first(name: str) -> None:
    train, withheld = checkerboard()
    model = quick(name).fit(train, seed=1)
    first = model.recommend(np.arange(40, dtype=np.int32), 1).item[:, 0]
    assert first.tolist() == [withheld[u] for u in range(40)]
    for u in (0, 1, 17):  # a newcomer with the same history, too
        assert model.recommend_history(train.by_user.of(u), 1).item[0, 0] == withheld[u]


class Listener(SilentProgress):
    """Counts what it hears."""

    def __init__(self) -> None:
        self.total = self.done = self.ended = 0
        self.epochs: list[int] = []

    def begin(self, task: str, total: int) -> None:
        self.total += total
        self.epochs += [total] if task == "epochs" else []

    def advance(self, steps: int = 1) -> None:
        self.done += steps

    def end(self) -> None:
        self.ended += 1


@each
def test_progress_adds_up(name: str) -> None:
    listener = Listener()
    quick(name).fit(scattered(), progress=listener)
    assert listener.done == listener.total
    assert (listener.ended > 0) == (listener.total > 0)
    asked = as_dict(quick(name)).get("epochs")
    assert listener.epochs == ([] if asked is None else [asked])  # what has none stays short


@pytest.mark.parametrize("name", ["ials", "bpr-mf", "mf", "kahfm", "cnmf", "biased-mf", "svd++"])
def test_methods_with_epochs_can_be_watched_and_stopped(name: str) -> None:
    seen: list[tuple[int, Model]] = []

    def watch(epoch: int, model: Model) -> bool:
        seen.append((epoch, model))
        return epoch < 3

    stopped = quick(name).fit(scattered(), seed=2, watch=watch)
    assert [epoch for epoch, _ in seen] == [1, 2, 3]
    short = baseline(name)(**as_dict(quick(name)) | {"epochs": 3}).fit(scattered(), seed=2)
    assert np.array_equal(stopped.score(EVERYONE), short.score(EVERYONE))
    assert np.array_equal(seen[-1][1].score(EVERYONE), short.score(EVERYONE))
    assert not np.array_equal(
        seen[0][1].score(EVERYONE), short.score(EVERYONE)
    )  # a snapshot, not the live model


DOCS = Path(__file__).parents[2] / "docs"
PAGE = "\n".join((DOCS / page).read_text(encoding="utf-8") for page in ("baselines.md", "neural.md"))
DESCRIBED = [name for name in NAMES if name != "cnmf"]  # which has a page of its own
SAME = {
    "item-knn": "user-knn",
    "v-sknn": "user-knn",
    "item-knn-ratings": "user-knn-ratings",
    "svd++": "biased-mf",
    "pooled-item-knn": "pooled-ease",
    "pooled-order": "pooled-ease",
}  # "the same settings"


@pytest.mark.parametrize("name", DESCRIBED)
def test_every_setting_is_documented_with_its_default(name: str) -> None:
    section = PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]
    if name in SAME:
        section += PAGE.split(f"\n## {SAME[name]}\n")[1].split("\n## ")[0]
    for setting, default in as_dict(baseline(name)()).items():
        assert f"`{setting}`" in section
        if isinstance(default, str):
            assert default in section
        elif default is not None:
            assert f"{default:g}" in section
