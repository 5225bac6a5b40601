"""Attribute inference: a planted attribute is found where updates are read, an independent one is not."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from murmura.core.arrays import Floats, Longs
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.rng import Rng, Stream, server_secret
from murmura.lab.audits.attack import ItemClaims
from murmura.lab.audits.attributes import SPLITS, UNKNOWN, balanced, inferred, labels_of_file
from murmura.lab.audits.audit import audit
from murmura.lab.audits.section import findings_table
from murmura.runtimes.simulation import simulated

USERS, ITEMS = 400, 60
CHANCE = 4 * 0.5 / np.sqrt(USERS)  # four standard deviations of the share of right guesses by a coin


@pytest.fixture(scope="module")
def planted() -> tuple[Floats, dict[str, Longs]]:
    """Histories, an attribute whose classes prefer either half of the items, and a coin's, unequal in size."""
    random = np.random.default_rng(3)
    labels = {"taste": random.random(USERS) < 0.3, "coin": random.random(USERS) < 0.3}
    likes = np.where(np.arange(ITEMS) < ITEMS // 2, 0.4, 0.15)
    share = np.where(labels["taste"][:, None], likes[::-1], likes)
    return (random.random((USERS, ITEMS)) < share).astype(np.float64), {
        name: column.astype(np.int64) for name, column in labels.items()
    }


def stream() -> Stream:
    return Rng(server_secret(0)).stream(SPLITS)


def claims(scores: Floats) -> ItemClaims:
    return ItemClaims(scores, scores > 0)


def test_a_planted_attribute_is_found_and_an_independent_one_is_not(
    planted: tuple[Floats, dict[str, Longs]],
) -> None:
    scores, labels = planted
    found = {name: column.mean() for name, column in inferred(claims(scores), labels, stream()).items()}
    assert found["taste guessed"] > 0.9
    assert abs(found["coin guessed"] - 0.5) < CHANCE


@pytest.mark.parametrize(
    "reads_nothing",
    [lambda scores: np.tile(scores.sum(axis=0), (USERS, 1)), lambda scores: 0 * scores],
    ids=["popularity", "silence"],
)
def test_an_impostor_that_reads_nothing_stays_at_the_prior(
    planted: tuple[Floats, dict[str, Longs]], reads_nothing: Callable[[Floats], Floats]
) -> None:
    scores, labels = planted
    for column in inferred(claims(reads_nothing(scores)), labels, stream()).values():
        assert column.mean() == pytest.approx(0.5, abs=1e-12)


def test_scores_of_others_are_no_better_than_chance(planted: tuple[Floats, dict[str, Longs]]) -> None:
    scores, labels = planted
    others = scores[np.random.default_rng(4).permutation(USERS)]
    assert abs(inferred(claims(others), labels, stream())["taste guessed"].mean() - 0.5) < CHANCE


def test_only_victims_are_guessed_and_only_from_what_was_not_known(
    planted: tuple[Floats, dict[str, Longs]],
) -> None:
    scores, labels = planted
    asked = np.zeros(scores.shape, np.bool_)
    asked[::2, 0] = True
    found = inferred(ItemClaims(scores, scores > 0, asked=asked), labels, stream())["taste guessed"]
    assert np.isnan(found[1::2]).all()
    assert abs(np.nanmean(found) - 0.5) < 2 * CHANCE  # one item says little


def test_the_mean_is_the_balanced_accuracy() -> None:
    true, guessed = np.array([0, 0, 0, 1, UNKNOWN]), np.array([0, 0, 1, 1, 0])
    found = balanced(true, guessed)
    assert np.isnan(found[4])
    assert np.nanmean(found) == pytest.approx((2 / 3 + 1) / 2)


def federation(planted: tuple[Floats, dict[str, Longs]]) -> Interactions:
    user, item = np.nonzero(planted[0])
    return Interactions.of(user, item)


@pytest.mark.slow
def test_it_is_read_from_the_uploads_of_fcf(planted: tuple[Floats, dict[str, Longs]]) -> None:
    settings = {"channel": "none", "rounds": 1, "clients": "all", "factors": 4}
    labels = planted[1]
    found = audit(simulated("fcf", settings), federation(planted), 0, labels=labels)
    values = {one.attack: one.values for one in found.findings}
    assert values["fcf-items"]["taste guessed"].low > 0.8
    assert abs(values["fcf-items"]["coin guessed"].mean - 0.5) < CHANCE
    assert values["popularity"]["taste guessed"].mean == pytest.approx(0.5)
    assert abs(values["random"]["taste guessed"].mean - 0.5) < CHANCE
    table = findings_table(found)
    assert table is not None
    assert any("balanced accuracy" in note for note in table.notes)


def test_groups_have_no_labels(planted: tuple[Floats, dict[str, Longs]]) -> None:
    with pytest.raises(SettingError, match="one user each"):
        audit(simulated("fedsplit", {}), federation(planted), 0, labels=planted[1])


def test_files_of_labels(tmp_path: Path) -> None:
    users = Vocabulary(np.array([1, 2, 5]))
    (tmp_path / "users.dat").write_text("1::F::1::10::48067\n5::M::56::10::70072\n9::M::25::15::55117\n")
    found = labels_of_file(tmp_path / "users.dat", users)
    assert {name: column.tolist() for name, column in found.items()} == {
        "gender": [0, UNKNOWN, 1],
        "age": [0, UNKNOWN, 1],
        "occupation": [0, UNKNOWN, 0],
    }
    (tmp_path / "own.csv").write_text("user,region\n1,north\n2,south\n")
    assert labels_of_file(tmp_path / "own.csv", users)["region"].tolist() == [0, 1, UNKNOWN]


@pytest.mark.parametrize(
    ("name", "text"), [("users.dat", "1::F\n"), ("own.csv", "name,region\n1,north\n"), ("own.csv", "user\n1\n")]
)
def test_other_files_are_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match="must"):
        labels_of_file(tmp_path / name, Vocabulary(np.array([1])))
