"""The random draws: golden vectors, moments, and independence of order."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from murmura.core.arrays import Floats
from murmura.core.errors import SettingError
from murmura.core.rng import Purpose, Rng, client_secrets, guest_secret, server_secret, standard_normal
from murmura.kernels import philox
from tests.core.rng_vectors import rng_vectors
from tests.hypothesis_profiles import examples

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "rng.json").read_text())
# Random123's own answers, typed from its kat_vectors, so that the file cannot drift from the standard
RANDOM123 = [
    [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
    [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
    [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
]


def test_the_plain_generator_gives_the_golden_vectors() -> None:
    assert rng_vectors() == VECTORS
    assert [block["words"] for block in VECTORS["blocks"]] == RANDOM123


@pytest.mark.parametrize("golden", VECTORS["streams"], ids=lambda g: str(g["purpose"]))
def test_the_compiled_generator_gives_the_golden_vectors(golden: dict[str, Any]) -> None:
    key, c1, c2 = np.array(golden["secret"], np.uint32), golden["round"], golden["purpose"]
    out = np.empty(12, np.uint32)
    philox.fill_words(key, c1, c2, 0, 0, out)
    assert out.tolist() == golden["words"]
    for row in golden["below"]:
        place = np.uint64(0)
        for drawn in row["draws"]:
            value, place = philox.draw_below(key, c1, c2, 0, place, row["n"])
            assert value == drawn
    for row in golden["coins"]:
        assert [int(philox.coin_at(key, c1, c2, n, row["share"])) for n in range(16)] == row["heads"]
    normals = [philox.normal(philox.word_at(key, c1, c2, 0, n)) for n in range(16)]
    assert normals == golden["normals"]


def test_normals_are_bit_equal_in_numpy_and_compiled_and_close_to_the_true_quantile() -> None:
    key = client_secrets(3, 1)[0]
    words = Rng(key, 5).stream(9).words(50_000)
    edges = np.array([0, 1, 2**32 - 2, 2**32 - 1, 2**31 - 1, 2**31, 322122547, 322122548], np.uint32)
    for some in (words, edges):
        z = standard_normal(some)
        assert z.tolist() == [philox.normal(np.uint64(w)) for w in some]
        assert np.abs(z - ndtri((some + 0.5) * 2.0**-32)).max() < 2e-6  # AS 241 promises seven digits


def test_normals_have_the_moments_of_the_normal_and_an_impostor_has_not() -> None:
    n = 200_000
    z = Rng(client_secrets(1, 1)[0]).stream(Purpose.INIT).normals(n)

    def passes(x: Floats) -> bool:
        # standard errors of mean, variance and fourth moment of n normals: sqrt(1/n), sqrt(2/n), sqrt(96/n)
        off = (x.mean(), x.var() - 1, (x**4).mean() - 3)
        return all(abs(v) < 4 * np.sqrt(k / n) for v, k in zip(off, (1, 2, 96)))

    assert passes(z)
    uniforms = np.random.default_rng(0).random((n, 12))
    assert not passes(uniforms.sum(1) - 6)  # twelve uniforms: right mean and variance, kurtosis 2.9
    assert not passes(z * 1.05)


@given(st.lists(st.integers(0, 9), max_size=12))
def test_reading_a_stream_in_pieces_changes_nothing(pieces: list[int]) -> None:
    rng = Rng(client_secrets(9, 1)[0], 3)
    whole = rng.stream(4).words(sum(pieces) + 1).tolist()
    stream = rng.stream(4)
    got = [
        w for n in pieces for w in (stream.words(n).tolist() if n % 2 else [stream.word() for _ in range(n)])
    ]
    assert [*got, stream.word()] == whole


@examples(0.4)
@given(st.integers(1, 60), st.data())
def test_a_choice_has_m_different_members(n: int, data: st.DataObject) -> None:
    m = data.draw(st.integers(0, n))
    chosen = Rng(server_secret(2), data.draw(st.integers(0, 2**32 - 1))).stream(Purpose.SELECT).choose(n, m)
    assert len(set(chosen.tolist())) == len(chosen) == m
    assert chosen.tolist() == sorted(chosen.tolist())
    assert all(0 <= x < n for x in chosen)


def test_a_choice_is_uniform_and_the_compiled_single_choice_is_the_same() -> None:
    key, n, rounds = server_secret(0), 7, 4000
    seen = np.zeros(n)
    for t in range(rounds):
        seen[Rng(key, t).stream(Purpose.SELECT).choose(n, 3)] += 1
    expected, spread = rounds * 3 / n, np.sqrt(rounds * (3 / n) * (4 / n))
    assert np.abs(seen - expected).max() < 4 * spread
    big = 3 << 30  # rejections: the compiled one passes over the same words
    for t in range(50):
        for size in (n, big):
            plain = Rng(key, t).stream(Purpose.SELECT).below(size)
            assert philox.one_of(key, t, size) == plain


def test_secrets_differ_between_seeds_clients_and_roles() -> None:
    keys = [tuple(k) for seed in (0, 1, 2**63) for k in client_secrets(seed, 500).tolist()]
    keys += [tuple(f(seed).tolist()) for seed in (0, 1, 2**63) for f in (server_secret, guest_secret)]
    assert len(set(keys)) == len(keys)
    assert client_secrets(7, 3).tolist() == client_secrets(7, 900)[:3].tolist()


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(SettingError, match="the seed must be a whole number"):
        client_secrets(seed, 1)
