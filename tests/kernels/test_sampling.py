"""Triples in bulk against the plain streams of `core.rng`, word by word."""

import numpy as np
import pytest

from murmura.core.arrays import Ints
from murmura.core.interactions import Interactions
from murmura.core.rng import Purpose, Rng, Stream, client_secrets, server_secret
from murmura.kernels.factorisation.triple_sampling import UserItems, draw_grouped, draw_others, draw_places
from tests.kernels.worlds import world

T = np.uint64(Purpose.TRIPLES)


def plain_other(stream: Stream, train: Interactions, user: int) -> int:
    listed = np.flatnonzero(train.item_counts)
    own = set(train.by_user.of(user).tolist())
    while True:
        j = int(listed[stream.below(len(listed))])
        if j not in own:
            return j


def plain_grouped(train: Interactions, users: list[int], seed: int, epoch: int) -> list[tuple[int, int, int]]:
    triples = []
    for u in users:
        stream, own = (
            Rng(client_secrets(seed, train.n_users)[u], epoch).stream(Purpose.TRIPLES),
            train.by_user.of(u),
        )
        for _ in range(len(own)):
            i = int(own[stream.below(len(own))])
            triples.append((u, i, plain_other(stream, train, u)))
    return triples


def empty(n: int) -> Ints:
    return np.empty(n, np.int32)


def test_who_can_compare_has_something_but_not_everything() -> None:
    train = world()
    able = UserItems.of(train).can_compare(train.n_items)
    assert np.flatnonzero(~able).tolist() == [3, 5]


@pytest.mark.parametrize("room", [64, 8192])  # words drawn ahead: too few, and enough
def test_grouped_triples_are_those_of_the_users_streams(room: int) -> None:
    train = world(share=0.8, items=60)  # most items are own: many words are passed over
    owned = UserItems.of(train)
    users = np.array([7, 0, 29, 12])
    n = int(train.user_counts[users].sum())
    who, pos, neg, own = empty(n), empty(n), empty(n), np.zeros(train.n_items, np.bool_)
    words = np.empty(room, np.uint32)
    secrets = client_secrets(9, train.n_users)
    assert draw_grouped(users, owned, secrets, np.uint64(4), T, own, words, who, pos, neg) == n
    assert list(zip(who, pos, neg)) == plain_grouped(train, users.tolist(), 9, 4)
    assert not own.any()


def test_places_and_others_are_those_of_one_stream() -> None:
    train, server, words = world(), server_secret(5), np.empty(64, np.uint32)
    bounds = np.random.default_rng(1).integers(1, 2**31, 300)
    out = np.empty(300, np.int64)
    draw_places(bounds, server, np.uint64(2), T, words, out)
    stream = Rng(server, 2).stream(Purpose.TRIPLES)
    assert out.tolist() == [stream.below(n) for n in bounds.tolist()]
    who = np.array([0, 1, 2, 29] * 50, np.int32)
    neg = empty(200)
    draw_others(UserItems.of(train), server, np.uint64(2), T, words, who, neg)
    stream = Rng(server, 2).stream(Purpose.TRIPLES)
    assert neg.tolist() == [plain_other(stream, train, u) for u in who.tolist()]


def test_positives_and_negatives_are_uniform() -> None:
    train, n = world(items=12), 40_000
    secrets = client_secrets(1, train.n_users)
    u = int(np.flatnonzero(train.user_counts >= 3)[0])
    owned = UserItems.of(train)
    repeats = -(-n // int(train.user_counts[u]))
    drawn = []
    for epoch in range(repeats):
        who, pos, neg = (empty(int(train.user_counts[u])) for _ in range(3))
        own, words = np.zeros(train.n_items, np.bool_), np.empty(256, np.uint32)
        draw_grouped(np.array([u]), owned, secrets, np.uint64(epoch), T, own, words, who, pos, neg)
        drawn.append((pos, neg))
    for side in (0, 1):
        counts = np.bincount(np.concatenate([d[side] for d in drawn]), minlength=train.n_items)
        counts = counts[counts > 0]
        expected = counts.sum() / len(counts)
        assert np.abs(counts - expected).max() < 4.5 * np.sqrt(expected)
