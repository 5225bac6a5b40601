"""Fidelity by removal: what the analysis says is what making the lists again says."""

from pathlib import Path

import numpy as np
import pytest

from murmura.core.catalogue import Catalogue, Dataset, Relation
from murmura.core.errors import RunError, SettingError
from murmura.core.model import ScoreTerms
from murmura.data.sources.registry import load
from murmura.lab.analyses.fidelity import FIDELITY, REASONS, fidelity_of, removals
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.run import compare
from murmura.studies.methods import method
from tests.studies.worlds import small_world

QUICK = {"clients": "all", "epochs": 15, "factors": 3}


def world() -> Dataset:
    """Every item has one of five makers and one of three sizes; tastes go by half of the items."""
    small, items = small_world(), np.arange(40, dtype=np.int32)
    labels = (*(f"maker={n}" for n in range(5)), *(f"size={n}" for n in range(3)), "half=0", "half=1")
    feature = np.concatenate([items % 5, 5 + items % 3, 8 + items // 20])
    relation = Relation(labels, np.tile(items, 3), feature.astype(np.int32))
    return Dataset(small.name, small.interactions, Catalogue(small.interactions.items, features=relation))


def write_world(folder: Path) -> str:
    """A table of the same tastes, in which every item has one of eight categories."""
    small = small_world().interactions
    lines = ["user,item,rating,time,category"]
    for user, item, time in zip(small.user.tolist(), small.item.tolist(), range(len(small))):
        lines.append(f"u{user},m{item},5,{time},c{item // 5}")
    (folder / "world.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / "world.csv")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fidelity") / "c"
    table = write_world(folder.parent)
    models = {"kgflex": dict(QUICK), "mostpop": {}}
    ready = plan(load(table), "default", models, seeds=2, source={"name": table})
    list(compare(ready, folder))
    return folder


def test_a_feature_that_alone_holds_an_item_passes_and_a_small_one_does_not() -> None:
    """Item 0 is held by its first feature; the others stand at 0.5, just below what is left without it."""
    values = np.array([[2.0, 0, 0, 0], [0.6, 0, 0, 0], [-0.3, 0, 0, 0], [0.0, 0.5, 0.5, 0.3]])
    terms = ScoreTerms(("a", "b", "c", "d"), np.array([0.1, 0.4, 0.9, 0.2]), values)
    offered, features = np.arange(4, dtype=np.int32), terms.of(0)
    assert features.tolist() == [2, 1, 0]  # the most informative first; it speaks against the item
    assert removals(terms, 0, features, offered, 1).tolist() == [0, 1, 1 / 3]
    assert removals(terms, 0, features, offered, 2).tolist() == [0, 1, 1 / 3]
    assert removals(terms, 0, features, offered, 3).tolist() == [0, 0, 0]
    rivals = np.vstack([values[:3], [0.0, 2.2, 2.2, 0.3]])  # above what is left without the second
    closer = ScoreTerms(terms.names, terms.gain, rivals)
    assert removals(closer, 0, features, offered, 1).tolist() == [1, 1, 2 / 3]
    against = ScoreTerms(("a",), np.array([0.5]), np.array([[-1.0, -2.0, -3.0]]))
    assert removals(against, 0, against.of(0), np.arange(3, dtype=np.int32), 1)[:2].tolist() == [0, 0]


def test_the_model_is_asked_as_lists_would_answer() -> None:
    train = plan(world(), "default", {}).prepared.split.train
    model = method("kgflex", QUICK).fit(train, 0)
    found = fidelity_of(model)
    assert found is not None
    leaves, falls, shared = found
    users = np.flatnonzero(train.user_counts).astype(np.int32)
    row = 0
    for user, item in zip(users.tolist(), model.recommend(users, 1).item[:, 0].tolist()):
        terms = model.terms(user)
        assert terms is not None
        mine = [f for f in terms.of(item).tolist() if f < terms.features]
        if not mine:
            continue
        own = set(train.by_user.of(user).tolist())
        offered = [n for n in np.flatnonzero(train.item_counts).tolist() if n not in own]
        out = []
        for feature in mine:
            left = terms.scores - terms.values[feature]
            out.append(item not in sorted(offered, key=lambda n: (-left[n], n))[:10])
        assert leaves[row, 2] == pytest.approx(np.mean(out))
        speaking = [place for place, f in enumerate(mine) if terms.values[f, item] > 0]
        assert leaves[row, 0] == (out[speaking[0]] if speaking else 0)
        assert shared[row] == len(mine)
        row += 1
    assert row == len(leaves)
    assert (falls >= leaves).all()  # who leaves the list leaves the first place
    assert falls.mean() > leaves.mean()


def test_a_comparison_is_measured_once_for_the_models_that_have_reasons(compared: Path) -> None:
    (found,) = FIDELITY.of_folder(compared)
    assert (found.label, found.seeds, tuple(found.leaves)) == ("kgflex", 2, REASONS)
    train = plan(load(str(compared.parent / "world.csv")), "default", {}).prepared.split.train
    both = [fidelity_of(method("kgflex", QUICK).fit(train, seed)) for seed in (0, 1)]
    by_hand = np.mean([one[1].mean(axis=0) for one in both if one is not None], axis=0)
    assert list(found.falls.values()) == pytest.approx(by_hand.tolist())
    kept = (compared / FIDELITY.file).read_bytes()
    assert FIDELITY.of_folder(compared) == [found]
    assert (compared / FIDELITY.file).read_bytes() == kept


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    table = write_world(tmp_path)
    list(compare(plan(load(table), "default", {"mostpop": {}}, source={"name": table}), tmp_path / "c"))
    with pytest.raises(SettingError, match="fidelity needs a model whose scores are sums"):
        FIDELITY.of_folder(tmp_path / "c")
    (tmp_path / "c" / FIDELITY.file).write_text('{"entries": [{"label": "x"}]}')
    with pytest.raises(RunError, match="is damaged"):
        FIDELITY.of_folder(tmp_path / "c")
