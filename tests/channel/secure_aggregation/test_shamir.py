"""Shamir's shares: any t give the secret, t - 1 fit every secret, a package computes the same."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.errors import FederationError
from murmura.lab.protections import pairwise_masks
from murmura.lab.protections.pairwise_masks import PRIME, join, split


def test_the_field_is_one() -> None:
    """Miller and Rabin, with the first 40 primes as witnesses."""
    d, s = PRIME - 1, 0
    while d % 2 == 0:
        d, s = d // 2, s + 1
    witnesses = [n for n in range(2, 174) if all(n % m for m in range(2, n))]
    assert len(witnesses) == 40
    for witness in witnesses:
        x = pow(witness, d, PRIME)
        assert x == 1 or any(pow(x, 2**r, PRIME) == PRIME - 1 for r in range(s))


@given(st.binary(min_size=32, max_size=32), st.integers(1, 7), st.integers(0, 5))
def test_any_threshold_of_the_shares_gives_the_secret(secret: bytes, threshold: int, more: int) -> None:
    holders = [3 * n + 1 for n in range(threshold + more)]
    shares = split(secret, holders, threshold)
    some = list(itertools.combinations(holders, threshold))
    for chosen in (some[0], some[len(some) // 2], some[-1]):
        assert join({holder: shares[holder] for holder in chosen}, threshold) == secret


def test_one_share_less_fits_every_secret() -> None:
    """For t - 1 shares and any guess there is a last share that makes the guess the secret."""
    shares = split(bytes(range(32)), [1, 2, 3, 4, 5], 3)
    known = {1: shares[1], 2: shares[2]}
    for guess in (bytes(32), b"\xff" * 32, bytes(range(32))):
        value = int.from_bytes(guess, "little")
        # the line through the guess at 0 and both known shares, continued by the parabola of any third
        weights = pairwise_masks._weights((1, 2, 3))
        third = (value - weights[0] * known[1] - weights[1] * known[2]) * pow(weights[2], -1, PRIME) % PRIME
        assert join({**known, 3: third}, 3) == guess


def test_shares_below_the_threshold_and_of_other_secrets_are_refused() -> None:
    shares = split(b"k" * 32, [1, 2, 3], 2)
    with pytest.raises(FederationError, match="needs 2 shares, but there are 1"):
        join({1: shares[1]}, 2)
    with pytest.raises(FederationError, match="one secret"):
        join({1: 2**256 + 296, 2: 2**256 + 296}, 2)
    with pytest.raises(FederationError, match="threshold"):
        split(b"k" * 32, [1, 2], 3)
    with pytest.raises(FederationError, match="32 bytes"):
        split(b"k", [1, 2], 2)
    for holders in ([0, 1], [1, 1]):
        with pytest.raises(FederationError, match="from 1"):
            split(b"k" * 32, holders, 2)


def test_a_known_polynomial() -> None:
    """f(x) = 7 + 5 x + 3 x^2 by hand: coefficients are what the entropy says."""
    drawn = iter([5, 3])
    shares = split((7).to_bytes(32, "little"), [1, 2, 10], 3, lambda n: next(drawn).to_bytes(n, "little"))
    assert shares == {1: 15, 2: 29, 10: 357}


def test_the_package_shamirs_reads_our_shares() -> None:
    other = pytest.importorskip("shamirs")
    secret = bytes(range(100, 132))
    shares = split(secret, [1, 2, 3, 4], 3)
    theirs = [other.share(holder, shares[holder], PRIME) for holder in (4, 1, 3)]
    assert other.interpolate(theirs, threshold=3) == int.from_bytes(secret, "little")
