"""Samples dealt to clients: a partition is one, labels and sizes are as each rule says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from murmura.core.arrays import Ints
from murmura.core.catalogue import TEST, VALIDATION, Catalogue, Dataset, Split
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions, SampleTable, Vocabulary
from murmura.core.plugins import imported
from murmura.core.settings import as_dict
from murmura.data.splits.registry import AnySplit
from murmura.engine.prepared import prepare, whole_split
from murmura.engine.protocol import PROTOCOLS, Protocol, protocol
from murmura.lab.classification.partition import Partition, PartitionDirichlet, PartitionIid, PartitionShards
from tests.hypothesis_profiles import examples

PARTITIONS = (PartitionIid, PartitionShards, PartitionDirichlet)
RULES = pytest.mark.parametrize("rule", PARTITIONS)


def files(train: int, test: int, classes: int = 10, seed: int = 0) -> Interactions:
    """Two files of samples, each of which shows its own number."""
    n = train + test
    label = np.random.default_rng(seed).integers(0, classes, n).astype(np.float64)
    sample = np.arange(n, dtype=np.int32)
    owner = (sample < train).astype(np.int32)  # "test" is 0, "train" 1
    shown = SampleTable(classes, sample.astype(np.float32)[:, None], sample)
    users, items = Vocabulary(np.array(["test", "train"])), Vocabulary(sample.astype(np.int64))
    return Interactions(users, items, owner, sample, label, samples=shown)


def labels_of(data: Interactions) -> Ints:
    """(clients, classes) how many samples of each label every client has."""
    table: Ints = np.zeros((data.n_users, 10), np.int32)
    np.add.at(table, (data.user, data.value.astype(int)), 1)
    return table


@examples(0.8)
@given(
    rule=st.sampled_from(PARTITIONS),
    clients=st.integers(1, 12),
    train=st.integers(130, 400),
    images=st.none() | st.integers(10, 10),
    validation=st.sampled_from([0.0, 0.1, 0.5]),
    seed=st.integers(0, 9),
)
def test_a_partition_is_a_partition(rule: Any, clients: int, train: int, **settings: Any) -> None:
    data = files(train, 60)
    made: Partition = rule(clients=clients, test_images=5, **settings)
    split = made.apply(data)
    assert split.data.samples is not None
    assert split.data.users.labels.tolist() == list(range(clients))
    assert len(np.unique(split.data.item)) == len(split.data)  # no sample is held twice, in any part
    own = split.data.items.labels[split.data.item]
    assert (split.data.value == data.value[own]).all()
    assert (split.data.samples.inputs(split.data.item)[:, 0] == own).all()
    assert (own[split.part == TEST] >= train).all()
    assert (own[split.part != TEST] < train).all()
    held = np.bincount(split.data.user[split.part == VALIDATION], minlength=clients)
    assert (held == np.floor(settings["validation"] * split.train.user_counts + 1e-9)).all()
    again = made.apply(data)
    assert again.data.fingerprint == split.data.fingerprint
    assert (again.part == split.part).all()


@RULES
def test_what_all_splits_have_in_common(rule: Any) -> None:
    data, made = files(1_200, 60), rule(clients=20, test_images=3, validation=0.25)
    split, plain = made.apply(data), rule(clients=20, test_images=3).apply(data)
    assert split.name.startswith(made.kind)
    assert (split.data.item == plain.data.item).all()
    assert ((split.part == TEST) == (plain.part == TEST)).all()  # validation comes out of training only
    assert (plain.part != VALIDATION).all()
    assert TypeAdapter(AnySplit).validate_python(as_dict(made)) == made


@RULES
def test_nothing_is_left_over_where_it_divides(rule: Any) -> None:
    split = rule(clients=20, test_images=3).apply(files(1_200, 60))
    assert len(split.train) == 1_200
    assert len(split.test) == 60


@RULES
def test_another_seed_deals_otherwise(rule: Any) -> None:
    one, other = (rule(clients=20, test_images=3, seed=seed).apply(files(1_200, 60)) for seed in (1, 2))
    assert (one.train.item[:60] != other.train.item[:60]).any()
    assert (one.test.item == other.test.item).all()


@RULES
def test_test_samples_are_consecutive_in_the_file(rule: Any) -> None:
    split = rule(clients=7, test_images=4).apply(files(700, 60))
    own = split.data.items.labels[split.test.item] - 700
    assert (own == np.arange(28)).all()
    assert (split.test.user == own // 4).all()


@pytest.mark.parametrize("rule", [PartitionIid, PartitionShards])
def test_equal_parts_and_what_is_kept_of_them(rule: Any) -> None:
    data = files(1_200, 60)
    whole, some = (rule(clients=20, images=images, test_images=3).apply(data).train for images in (None, 25))
    assert set(whole.user_counts) == {60}
    assert set(some.user_counts) == {25}
    held = set(zip(whole.user, whole.items.labels[whole.item]))
    assert set(zip(some.user, some.items.labels[some.item])) < held


def test_shards_have_few_labels() -> None:
    data = files(60_000, 100)
    table = labels_of(PartitionShards(test_images=1).apply(data).train)
    assert set(table.sum(axis=1)) == {600}
    kinds = (table > 0).sum(axis=1)
    assert kinds.max() <= 4  # a shard of 300 touches two of the ten classes at most
    assert (kinds <= 2).mean() >= 0.8
    iid = labels_of(PartitionIid(test_images=1).apply(data).train)
    assert (iid > 0).all()


def test_one_shard_per_client_is_allowed() -> None:
    table = labels_of(PartitionShards(clients=10, shards=1, test_images=1).apply(files(1_000, 10)).train)
    assert ((table > 0).sum(axis=1) <= 3).all()


def mix_statistic(split: Split) -> float:
    """Pearson's statistic of the clients' labels against equal mixes, over its degrees of freedom: 1 if IID."""
    table = labels_of(split.train).astype(np.float64)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return float(((table - expected) ** 2 / expected).sum() / ((len(table) - 1) * 9))


def test_dirichlet_is_unequal_and_near_equal_for_large_alpha() -> None:
    data = files(6_000, 60)
    usual, wide = (PartitionDirichlet(clients=20, alpha=a, test_images=3).apply(data) for a in (0.5, 1e6))
    # with alpha 1e6 only the cuts' rounding is left: sizes within one per class, and labels even more equal
    # than chance would make them; the impostor, alpha 0.5, and IID itself are told from it
    assert np.ptp(wide.train.user_counts) <= 2 * 10
    assert mix_statistic(wide) < 0.3
    iid = mix_statistic(PartitionIid(clients=20, test_images=3).apply(data))
    assert abs(iid - 1) < 4 * np.sqrt(2 / (19 * 9))
    assert mix_statistic(usual) > 20
    assert np.ptp(usual.train.user_counts) > 100


def test_dirichlet_shares_have_the_moments_of_their_alpha() -> None:
    n, alpha, seeds = 20, 0.5, 40
    data = files(20_000, 20)

    def variance(a: float) -> float:
        tables = [
            labels_of(
                PartitionDirichlet(clients=n, alpha=a, smallest=1, test_images=1, seed=s).apply(data).train
            )
            for s in range(seeds)
        ]
        shares = np.stack([table / table.sum(axis=0) for table in tables])
        return float(((shares - 1 / n) ** 2).mean())

    expected = (1 / n) * (1 - 1 / n) / (n * alpha + 1)  # of one component of a symmetric Dirichlet distribution
    # squared deviations of a share have a relative spread of about 3 (4th moment of its beta distribution);
    # 8,000 of them, of which the 20 of a class depend on each other
    tolerance = 4 * 3 / np.sqrt(seeds * 10 * n)
    assert abs(variance(alpha) / expected - 1) < tolerance
    assert abs(variance(2 * alpha) / expected - 1) > tolerance  # an impostor


def test_every_client_has_the_smallest_number() -> None:
    data = files(1_000, 60)
    rule = PartitionDirichlet(clients=20, alpha=0.01, smallest=30, test_images=3)
    counts = rule.apply(data).train.user_counts
    assert counts.min() == 30
    assert counts.sum() == 1_000
    bare = PartitionDirichlet(clients=20, alpha=0.01, smallest=1, test_images=3).apply(data).train.user_counts
    assert bare.min() < 30


def test_images_are_the_mean_of_a_dirichlet_partition() -> None:
    split = PartitionDirichlet(clients=20, images=30, test_images=3).apply(files(1_000, 60))
    assert split.train.user_counts.mean() == 30
    assert np.ptp(split.train.user_counts) > 10


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (PartitionIid(clients=2_000), "must make 2,000 parts, but has 1,000 samples"),
        (PartitionShards(clients=600), "must make 1,200 parts, but has 1,000 samples"),
        (PartitionIid(clients=10, images=101), "leave 101 samples to each of 10 clients, .* has 100"),
        (PartitionIid(clients=10, test_images=7), "7 test samples to each of 10 clients, but there are 60"),
        (PartitionDirichlet(clients=10, images=101, test_images=1), "deal 1,010 samples to 10 .* has 1,000"),
        (PartitionDirichlet(clients=10, smallest=101, test_images=1), "deal 1,010 samples to 10 .* has 1,000"),
        (PartitionDirichlet(clients=10, images=5, smallest=6, test_images=1), "deal 60 samples .* has 50"),
    ],
)
def test_too_few_samples_are_refused_with_numbers(rule: Partition, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        rule.apply(files(1_000, 60))


@RULES
def test_what_is_no_file_of_samples_is_refused(rule: Any) -> None:
    ratings = Interactions.of(np.array(["train", "test"]), np.array([1, 2]))
    with pytest.raises(DataError, match="deals samples with labels, but this data has interactions"):
        rule().apply(ratings)
    dealt = rule(clients=10, test_images=6).apply(files(1_000, 60)).data
    with pytest.raises(DataError, match="deals samples to clients, but these have 10 already"):
        rule().apply(dealt)


def dataset(data: Interactions) -> Dataset:
    return Dataset("made-up", data, Catalogue(data.items))


@pytest.mark.parametrize("name", ["mnist-iid", "mnist-shards", "mnist-dirichlet"])
def test_protocols_change_their_split(name: str) -> None:
    given = dataset(files(1_000, 60))
    rules = protocol(f"{name}:clients=10,images=20,test_images=6", given)
    ready = prepare(given, rules)
    assert rules.name == f"{name}:clients=10,images=20,test_images=6"
    assert len(ready.split.train) == 200
    assert ready.describe()["test rows"] == 60
    assert ready.describe()["validation rows"] > 0
    full = imported(PROTOCOLS[name])
    assert isinstance(full, Protocol)
    assert (full.split.clients, full.split.images) == (100, None)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ("clients", "must come KEY=VALUE"),
        ("clients=", "must come KEY=VALUE"),
        ("kind=random", "unknown setting 'mnist-iid.kind'"),
        ("clients=0", "greater than or equal to 1"),
        ("clients=many", "valid integer"),
        ("client=10", "Did you mean 'clients'"),
    ],
)
def test_a_wrong_change_is_refused(changes: str, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        protocol(f"mnist-iid:{changes}", dataset(files(10, 10)))


def test_samples_and_interactions_have_their_own_protocols() -> None:
    samples = dataset(files(1_000, 60))
    ratings = dataset(Interactions.of(np.repeat(np.arange(5), 9), np.tile(np.arange(9), 5)))
    with pytest.raises(SettingError, match="use one of mnist-iid, mnist-shards, mnist-dirichlet"):
        protocol("default", samples)
    with pytest.raises(DataError, match="'fpl' is for interactions, but 'made-up' has files of samples"):
        whole_split(samples, protocol("fpl", samples))
    with pytest.raises(
        DataError, match="is for files of samples, but 'made-up' has interactions; use one of default"
    ):
        whole_split(ratings, protocol("mnist-iid", ratings))
    with pytest.raises(DataError, match="'celeba' is for samples of clients, but 'made-up' has files of"):
        whole_split(samples, protocol("celeba", samples))
    dealt = dataset(PartitionIid(clients=10, test_images=6).apply(samples.interactions).data)
    assert protocol("default", dealt).name == "celeba"
    assert len(whole_split(dealt, protocol("default", dealt)).test) == 10 * 21  # a fifth of 106 samples each
    with pytest.raises(DataError, match="'mnist-iid' is for files of samples, but 'made-up' has samples of"):
        whole_split(dealt, protocol("mnist-iid", dealt))
    changed = protocol("default:test=0.4", ratings)
    assert len(whole_split(ratings, changed).test) == 15
