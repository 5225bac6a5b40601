"""How often items are updated and recommended: counted by hand from what the runs kept."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from murmura.core.errors import RunError
from murmura.lab.analyses.item_exposure import frequencies
from murmura.lab.analyses.popularity_curves import concentration, head_share, rank_correlation, ranked_shares
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.folder import ComparisonFolder, run_name
from murmura.studies.compare.run import compare
from tests.studies.worlds import small_world

MODELS = {"mostpop": {}, "shy": {"name": "sfpl", "epochs": 3, "factors": 3, "pi": 0}}
COUNTS = st.lists(st.integers(0, 5), min_size=1, max_size=12).map(np.array)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frequency") / "c"
    list(compare(plan(small_world(), "default", MODELS, seeds=2), folder))
    return folder


def rows(path: Path, separator: str = ",") -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter=separator))


def test_counts_by_hand(done: Path) -> None:
    prepared = plan(small_world(), "default", MODELS).prepared
    popular, shy = frequencies(ComparisonFolder.open(done))
    ids = prepared.split.data.items.labels.tolist()
    trained = Counter(prepared.split.data.items.labels[prepared.split.train.item].tolist())
    assert popular.popularity.tolist() == [trained[item] for item in ids]
    assert popular.sent is None
    for one, seeds in ((popular, [0]), (shy, [0, 1])):
        shown: Counter[int] = Counter()
        for seed in seeds:
            listed = rows(done / run_name(one.label, seed) / "recommendations.tsv", "\t")
            shown.update(int(row["item"]) for row in listed if int(row["rank"]) <= 10)
        assert one.shown.tolist() == [shown[item] for item in ids]
    sent: Counter[int] = Counter()
    for seed in (0, 1):
        kept = rows(done / run_name("shy", seed) / "item_rows.csv")
        sent.update({int(row["item"]): int(row["sent"]) for row in kept})
    assert shy.sent is not None
    assert shy.sent.tolist() == [sent[item] for item in ids]


def test_sharing_nothing_updates_blindly(done: Path) -> None:
    """pi = 0: one negative per triple, uniform over what a user has not: a level line, as in figure 4.4."""
    _, shy = frequencies(ComparisonFolder.open(done))
    assert shy.sent is not None
    total = int(shy.sent.sum())
    assert total == 2 * 3 * 600  # seeds, epochs, rounds of one triple
    # an item is not drawn as a negative for the share of users who have it; 6 standard deviations of a count
    share = (1 - shy.popularity / 60) / (1 - shy.popularity / 60).sum()
    assert np.abs(shy.sent - total * share).max() < 6 * np.sqrt(total * share.max())


@given(COUNTS)
def test_ranked_shares_fall_and_sum_to_one(times: np.ndarray) -> None:
    shares = ranked_shares(times, len(times))
    assert (np.diff(shares) <= 0).all()
    assert shares.sum() == pytest.approx(1.0 if times.any() else 0.0)
    assert len(ranked_shares(times, 3)) == min(3, len(times))


@given(COUNTS, st.randoms(use_true_random=False))
def test_concentration_does_not_depend_on_the_order_of_items(times: np.ndarray, random: object) -> None:
    popularity = times[::-1] % 3
    order = np.random.default_rng(getattr(random, "getrandbits")(32)).permutation(len(times))  # noqa: B009
    one, other = concentration(times, popularity), concentration(times[order], popularity[order])
    assert one == pytest.approx(other, abs=1e-12)
    assert one[0] == 0
    assert one[-1] == pytest.approx(1.0 if times.any() else 0.0)


def test_concentration_by_hand() -> None:
    times, popularity = np.array([4, 0, 2, 2]), np.array([9, 1, 5, 5])
    assert concentration(times, popularity).tolist() == [0, 0.5, 0.75, 1, 1]
    assert head_share(np.arange(200), np.arange(1, 201)) == pytest.approx((199 + 198) / (199 * 100))


def test_rank_correlation_is_spearmans() -> None:
    rng = np.random.default_rng(5)
    popularity, times = rng.integers(1, 6, 80), rng.integers(0, 9, 80)
    assert rank_correlation(times, popularity) == pytest.approx(spearmanr(times, popularity).statistic)
    assert rank_correlation(popularity, popularity) == pytest.approx(1)
    assert np.isnan(rank_correlation(np.full(80, 3), popularity))


def test_an_older_folder_is_refused_in_a_sentence(done: Path, tmp_path: Path) -> None:
    list(compare(plan(small_world(), "default", {"mostpop": {}}), tmp_path / "c"))
    (tmp_path / "c" / "items.csv").unlink()
    with pytest.raises(RunError, match=r"has no items\.csv"):
        frequencies(ComparisonFolder.open(tmp_path / "c"))
    (tmp_path / "c" / "items.csv").write_text("item,train,test\n1,two,3\n")
    with pytest.raises(RunError, match=r"items\.csv is damaged"):
        frequencies(ComparisonFolder.open(tmp_path / "c"))
    (tmp_path / "c" / "items.csv").write_text("item,train,test\n1,2,3\n")
    with pytest.raises(RunError, match=r"recommendations\.tsv is damaged"):
        frequencies(ComparisonFolder.open(tmp_path / "c"))
