"""Small federations whose answers are known, or whose people are awkward."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.features import ItemFeatures
from murmura.core.interactions import Interactions, SampleTable, Vocabulary


def checkerboard(people: int = 24, items: int = 16) -> tuple[Interactions, Ints]:
    """People and items are black or white; everyone likes all items of her colour but one: her answer.

    Everyone met what she likes in an order of her own.
    """
    colour = np.arange(people) % 2
    answer = (2 * (np.arange(people) // 2 % (items // 2)) + colour).astype(np.int32)
    likes = (np.arange(items)[None, :] % 2 == colour[:, None]) & (np.arange(items)[None, :] != answer[:, None])
    user, item = np.nonzero(likes)
    met = np.random.default_rng(0).permutation(len(user)).astype(np.int64)
    return replace(_interactions(people, items, user, item), time=met), answer


def rated_checkerboard(people: int = 24, items: int = 16) -> tuple[Interactions, Ints]:
    """The same board for methods that predict: 5 stars in one's own colour, 1 in the other.

    Her answer is withheld, and with it its neighbour of the other colour, which she would not like.
    """
    liked, answer = checkerboard(people, items)
    own = np.zeros((people, items), np.bool_)
    own[liked.user, liked.item] = True
    known = np.arange(items)[None, :] // 2 != answer[:, None] // 2
    user, item = np.nonzero(known)
    return replace(_interactions(people, items, user, item), value=np.where(own[user, item], 5.0, 1.0)), answer


def crowd(people: int = 12, items: int = 20, seed: int = 0) -> Interactions:
    """Random tastes: the first person has no item, the second all, the third one, the others some.

    Times are of three weeks, some of them equal.
    """
    rng = np.random.default_rng(seed)
    sizes = [0, items, 1, *rng.integers(2, items // 2, people - 3).tolist()]
    rows = [np.sort(rng.choice(items, size, replace=False)) for size in sizes]
    made = _interactions(people, items, np.repeat(np.arange(people), sizes), np.concatenate(rows))
    return replace(made, time=20_000 * np.random.default_rng((seed, 1)).integers(80_000, 80_090, len(made)))


def labelled(
    people: int = 12, classes: int = 3, each: int = 12, seed: int = 0, awkward: bool = True
) -> Interactions:
    """Samples with labels for classifiers: noise, and the row of the label bright, so that it can be learned.

    Where they are `awkward`, the first person has no sample and the third one.
    """
    rng = np.random.default_rng(seed)
    sizes = np.full(people, each)
    if awkward:
        sizes[[0, 2]] = 0, 1
    label = rng.integers(0, classes, sizes.sum())
    shown = rng.integers(0, 80, (len(label), classes, 4)).astype(np.uint8)
    shown[np.arange(len(label)), label] += 150
    table = SampleTable(classes, shown, np.arange(len(label), dtype=np.int32), rng.random(len(label)).round(2))
    users, things = Vocabulary(np.arange(people)), Vocabulary(np.arange(len(label)))
    owner = np.repeat(np.arange(people, dtype=np.int32), sizes)
    return Interactions(users, things, owner, table.place, label.astype(np.float64), samples=table)


def _interactions(people: int, items: int, user: Any, item: Any) -> Interactions:
    users, things = Vocabulary(np.arange(people)), Vocabulary(np.arange(items))
    return Interactions(users, things, user, item, np.ones(len(user)), features=_features(items))


def _features(items: int) -> ItemFeatures:
    """The colour of every item, one hop away, the size of every third, and where its maker lives, two away."""
    number = np.arange(items, dtype=np.int32)
    labels = ("colour=black", "colour=white", "size=large", *(f"maker~home={place}" for place in range(4)))
    item = np.concatenate([number, number[::3], number])
    feature = np.concatenate([number % 2, np.full(len(number[::3]), 2), 3 + number // 2 % 4])
    return ItemFeatures.of(labels, items, item, feature)
