"""Features before and after recommendation: counted by hand, and zero and all at the ends."""

from pathlib import Path

import numpy as np
import pytest

from murmura.algorithms.kgflex.gain import gain
from murmura.algorithms.kgflex.loop_arrays import entropy_table
from murmura.core.contract import FederationInfo
from murmura.core.errors import DataError, RunError
from murmura.data.sources.registry import load
from murmura.lab.analyses.preservation import PRESERVATION, preserved, rankings, totals
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.run import compare
from murmura.studies.methods import method
from tests.studies.test_fidelity import compared, world

__all__ = ["compared"]


def ranking(*features: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array(features, np.int32), np.linspace(1, 0.5, len(features))


def test_shares_of_hers_by_hand() -> None:
    before = [ranking(*range(20)), ranking(3, 1, 4), ranking()]
    after = [ranking(0, 1, 2, 30, 15), ranking(4), ranking(1)]
    found = preserved(before, after)
    assert found["5"] == pytest.approx(np.percentile([3 / 5, 1 / 3], [25, 50, 75]).tolist())
    assert found["10"] == pytest.approx(np.percentile([3 / 10, 1 / 3], [25, 50, 75]).tolist())
    assert found["all"] == found["50"] == pytest.approx(np.percentile([4 / 20, 1 / 3], [25, 50, 75]).tolist())
    everything, nothing = preserved(before, before), preserved(before, [ranking(99)] * 3)
    assert all(three == [1, 1, 1] for three in everything.values())
    assert all(three == [0, 0, 0] for three in nothing.values())
    assert preserved([], [])["5"] == [0, 0, 0]


def test_before_is_what_the_devices_of_a_training_choose() -> None:
    """The same secrets draw the same others: a KGFlex client of that seed has these features."""
    train = plan(world(), "default", {}).prepared.split.train
    model = method("kgflex", {"epochs": 1}).fit(train, 3)
    info, users = FederationInfo.of(train), np.arange(train.n_users, dtype=np.int32)
    own = [train.by_user.of(user) for user in users.tolist()]
    for user, (feature, found) in enumerate(rankings(info, own, users, 3, 0)):
        states = {name: stack[user] for name, stack in model.states.items()}  # type: ignore[attr-defined]
        held = states["feature"] >= 0
        assert dict(zip(feature.tolist(), found.tolist())) == pytest.approx(
            dict(zip(states["feature"][held].tolist(), states["k"][held].tolist())), rel=1e-6
        )
        assert (np.diff(found) <= 0).all()


def test_the_gain_of_a_list_is_that_of_its_items() -> None:
    """A list of one maker's items alone: the maker tells most, as much as the formula says."""
    train = plan(world(), "default", {}).prepared.split.train
    info = FederationInfo.of(train)
    ((feature, found),) = rankings(info, [np.arange(0, 40, 5, dtype=np.int32)], np.zeros(1, np.int32), 0, 1)
    assert info.features is not None
    assert info.features.labels[feature[0]] == "maker=0"
    possible = [
        float(gain("information-gain", np.array([8]), np.array([n]), 8, entropy_table(16))[0]) for n in range(8)
    ]
    assert any(found[0] == pytest.approx(one) for one in possible)
    total = totals(info.feature_count, [(feature, found), (feature[:1], found[:1])])
    assert total[feature[0]] == pytest.approx(2 * found[0])
    assert total.sum() == pytest.approx(found.sum() + found[0])


def test_lists_made_by_features_keep_more_of_them(compared: Path) -> None:
    kgflex, mostpop = PRESERVATION.of_folder(compared)
    assert (kgflex.label, kgflex.seeds, mostpop.label, mostpop.seeds) == ("kgflex", 2, "mostpop", 1)
    assert kgflex.kept["5"][1] > mostpop.kept["5"][1]
    assert {name for name, _ in kgflex.before} <= {f"category: c{n}" for n in range(8)}
    assert [total for _, total in kgflex.after] == sorted((total for _, total in kgflex.after), reverse=True)
    kept = (compared / PRESERVATION.file).read_bytes()
    assert PRESERVATION.of_folder(compared) == [kgflex, mostpop]
    assert (compared / PRESERVATION.file).read_bytes() == kept
    assert kgflex.values()["kept Q2@5"] == kgflex.kept["5"][1]


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "plain.csv"
    table.write_text("user,item\n" + "".join(f"u{n % 9},m{n % 7}\n" for n in range(63)), encoding="utf-8")
    ready = plan(load(str(table)), "default", {"mostpop": {}}, source={"name": str(table)})
    list(compare(ready, tmp_path / "c"))
    with pytest.raises(DataError, match="whose items have features"):
        PRESERVATION.of_folder(tmp_path / "c")
    (tmp_path / "c" / PRESERVATION.file).write_text('{"entries": [{"label": "x"}]}')
    with pytest.raises(RunError, match="is damaged"):
        PRESERVATION.of_folder(tmp_path / "c")
