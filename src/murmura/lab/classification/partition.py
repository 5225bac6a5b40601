"""A source's samples dealt to clients: what a federation of classifiers is simulated with.

McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data", AISTATS 2017 (IID
and shards); Hsu, Qi and Brown, "Measuring the Effects of Non-Identical Data Distribution for Federated Visual
Classification", 2019 (Dirichlet). Every client is tested on `test_images` samples of the test file, consecutive
in the order of the file, whatever it trains on, as in the authors' code of client-aware aggregation (Ferrara's
thesis, chapter 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from murmura.core.arrays import Bytes, Ints, Longs
from murmura.core.catalogue import TEST, TRAIN, VALIDATION, Split
from murmura.core.errors import DataError
from murmura.core.interactions import TEST_FILE, TRAIN_FILE, Interactions, Vocabulary
from murmura.core.settings import Count, Positive, as_dict, settings
from murmura.data.filters import MinPerUser
from murmura.data.splits.random_holdout import RandomHoldout
from murmura.data.splits.rule import Seed, SplitFraction, floor_fraction
from murmura.engine.protocol import Protocol, is_unpartitioned

DEAL, KEEP, HOLD_OUT = 0, 1, 2  # which of a seed's generators: who gets what, what of it stays, what validates
Parts = Sequence[Longs]  # the samples of each client


@settings
class PartitionIid:
    """Samples are shuffled and dealt in equal parts; what does not fill a part is left over."""

    kind: Literal["partition-iid"] = "partition-iid"
    clients: Count = 100
    images: Count | None = None  # samples each client keeps for training, drawn at random; None: all
    test_images: Count = 100
    validation: SplitFraction = 0.0
    seed: Seed = 42

    def apply(self, data: Interactions) -> Split:
        """Deal the training file at random."""
        order = np.random.default_rng([self.seed, DEAL]).permutation(training_samples(data, self.kind))
        return _finish(self, data, _subsampled(_equal_parts(order, self.clients, self.kind), self))


@settings
class PartitionShards:
    """Samples are ordered by label and cut into equal shards; every client gets `shards` of them at random.

    With 60,000 samples, 100 clients and two shards each, a shard has 300 samples and most clients two labels.
    """

    kind: Literal["partition-shards"] = "partition-shards"
    clients: Count = 100
    shards: Count = 2
    images: Count | None = None  # samples each client keeps for training, drawn at random; None: all
    test_images: Count = 100
    validation: SplitFraction = 0.0
    seed: Seed = 42

    def apply(self, data: Interactions) -> Split:
        """Deal shards of the training file."""
        samples = training_samples(data, self.kind)
        order = samples[np.argsort(_labels(data)[samples], kind="stable")]
        shards = _equal_parts(order, self.clients * self.shards, self.kind)
        dealt = np.random.default_rng([self.seed, DEAL]).permutation(len(shards))
        return _finish(self, data, _subsampled(shards[dealt].reshape(self.clients, -1), self))


@settings
class PartitionDirichlet:
    """The samples of every class are dealt in proportions of a Dirichlet distribution: sizes and labels differ.

    A client left with fewer than `smallest` samples takes random ones from whoever has most at the time.
    """

    kind: Literal["partition-dirichlet"] = "partition-dirichlet"
    clients: Count = 100
    alpha: Positive = 0.5  # towards 0 a class lies with one client, with large ones everybody has the same mix
    images: Count | None = None  # samples for training, on average over clients; None: all there are
    smallest: Count = 10
    test_images: Count = 100
    validation: SplitFraction = 0.0
    seed: Seed = 42

    def apply(self, data: Interactions) -> Split:
        """Draw proportions for each class, cut its samples by them, and fill the smallest clients."""
        rng = np.random.default_rng([self.seed, DEAL])
        samples = rng.permutation(training_samples(data, self.kind))
        wanted = len(samples) if self.images is None else self.images * self.clients
        if wanted > len(samples) or self.smallest * self.clients > wanted:
            raise DataError(
                f"{self.kind} must deal {max(wanted, self.smallest * self.clients):,} samples to "
                f"{self.clients:,} clients, but has {min(len(samples), wanted):,}; ask for fewer of either."
            )
        samples, label = samples[:wanted], _labels(data)[samples[:wanted]]
        parts: list[list[Longs]] = [[] for _ in range(self.clients)]
        for one in np.unique(label):
            cuts = np.cumsum(rng.dirichlet(np.full(self.clients, self.alpha)))[:-1]
            mine = samples[label == one]
            for part, piece in zip(parts, np.split(mine, np.floor(cuts * len(mine)).astype(np.int64))):
                part.append(piece)
        return _finish(self, data, _filled([np.concatenate(part) for part in parts], self.smallest, rng))


Partition = PartitionIid | PartitionShards | PartitionDirichlet


def training_samples(data: Interactions, kind: str) -> Longs:
    """The samples of the training file, ascending; refuses data without samples, or with clients of its own."""
    if data.samples is None:
        raise DataError(f"the split '{kind}' deals samples with labels, but this data has interactions.")
    if not is_unpartitioned(data):
        raise DataError(f"the split '{kind}' deals samples to clients, but these have {data.n_users} already.")
    return _of_file(data, TRAIN_FILE)


def _of_file(data: Interactions, file: str) -> Longs:
    return np.sort(data.item[data.user == data.users.find([file])[0]]).astype(np.int64)


def _labels(data: Interactions) -> Ints:
    """The label of every sample that occurs."""
    label: Ints = np.zeros(data.n_items, np.int32)
    label[data.item] = data.value
    return label


def _equal_parts(order: Longs, parts: int, kind: str) -> Longs:
    """Samples cut into so many equal parts, one row each; what does not fill a part is left over."""
    if len(order) < parts:
        raise DataError(f"{kind} must make {parts:,} parts, but has {len(order):,} samples; lower clients.")
    size = len(order) // parts
    return order[: size * parts].reshape(parts, size)


def _subsampled(parts: Longs, rule: PartitionIid | PartitionShards) -> Parts:
    """As many samples of each part as its client keeps, drawn at random."""
    images = rule.images
    if images is None:
        return list(parts)
    if images > parts.shape[1]:
        raise DataError(
            f"{rule.kind} must leave {images:,} samples to each of {len(parts):,} clients, but the part of a "
            f"client has {parts.shape[1]:,}; lower images or clients."
        )
    return list(np.random.default_rng([rule.seed, KEEP]).permuted(parts, axis=1)[:, :images])


def _filled(parts: list[Longs], smallest: int, rng: np.random.Generator) -> Parts:
    """The same samples, none with fewer than `smallest` as long as there are enough for all."""
    for client in range(len(parts)):
        while (short := smallest - len(parts[client])) > 0:
            giver = int(np.argmax([len(part) for part in parts]))
            given = min(short, max(1, (len(parts[giver]) - smallest) // 2))
            shuffled = rng.permutation(parts[giver])
            parts[giver] = shuffled[given:]
            parts[client] = np.concatenate((parts[client], shuffled[:given]))
    return parts


def _finish(rule: Partition, data: Interactions, parts: Parts) -> Split:
    """The split of clients who hold `parts`, some of each for validation, and their test samples."""
    need, tests = rule.clients * rule.test_images, _of_file(data, TEST_FILE)
    if len(tests) < need:
        raise DataError(
            f"{rule.kind} must give {rule.test_images:,} test samples to each of {rule.clients:,} clients, "
            f"but there are {len(tests):,}; lower test_images or clients."
        )
    rng, sizes = np.random.default_rng([rule.seed, HOLD_OUT]), np.array([len(part) for part in parts])
    held = floor_fraction(rule.validation, sizes)
    roles = [rng.permutation(_role(n, out)) for n, out in zip(sizes.tolist(), held.tolist())]
    client = np.concatenate((np.repeat(np.arange(rule.clients), sizes), np.arange(need) // rule.test_images))
    sample = np.concatenate((*parts, tests[:need]))
    part = np.concatenate((*roles, np.full(need, TEST, np.uint8)))
    order = np.lexsort((sample, client))
    name = ", ".join(f"{key}={value}" for key, value in as_dict(rule).items() if key != "kind")
    rows = _dealt(data, rule.clients, client[order].astype(np.int32), sample[order].astype(np.int32))
    return Split(f"{rule.kind}({name})", rows, part[order])


def _role(n: int, held: int) -> Bytes:
    role: Bytes = np.full(n, TRAIN, np.uint8)
    role[:held] = VALIDATION
    return role


def _dealt(data: Interactions, clients: int, client: Ints, sample: Ints) -> Interactions:
    """Who holds which sample, over the samples that are held."""
    users, label = Vocabulary(np.arange(clients)), _labels(data)[sample].astype(np.float64)
    return Interactions(users, data.items, client, sample, label, samples=data.samples).compact()


# client-aware aggregation (thesis chapter 5): 100 clients of 600 digits each, dealt in three ways
MNIST_IID = Protocol(name="mnist-iid", filters=(), split=PartitionIid(validation=0.2), classifies=True)
MNIST_SHARDS = Protocol(name="mnist-shards", filters=(), split=PartitionShards(validation=0.2), classifies=True)
MNIST_DIRICHLET = Protocol(
    name="mnist-dirichlet", filters=(), split=PartitionDirichlet(validation=0.2), classifies=True
)
# the same chapter: celebrities with five photos or more, a fifth of each one's held out
CELEBA = Protocol(
    name="celeba",
    filters=(MinPerUser(rows=5),),
    split=RandomHoldout(test=0.2, validation=0.2),
    classifies=True,
)
