"""Over a small field: how often a lie passes, and that what one aggregator sees tells nothing of the vector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from murmura.core.arrays import Longs
from murmura.kernels.proofs.exact_items import CountedItems, PairedItems
from murmura.kernels.proofs.pair_words import PairWords
from tests.channel.plain_circuits import Plain, PlainCounted, PlainPaired
from tests.channel.plain_proofs import PrimeField, accepts, prove, query

TOY = PrimeField(257, 3, 256)  # 3 generates the whole group
COUNTED = CountedItems(5, 1, 3)
PAIRED = PairedItems(COUNTED, np.arange(4), PairWords(np.array([2, 2, 3, 5])))
TRIES = 6000


def drawn(prime: PrimeField, rng: np.random.Generator, count: int) -> list[int]:
    return [int(value) for value in rng.integers(0, prime.modulus, count)]


def point_of(circuit: Plain, rng: np.random.Generator) -> int:
    """No root of unity of the gadget polynomial's length."""
    length, p = 2 * circuit.gadgets[0].wire_length, circuit.field.modulus
    while pow(point := drawn(circuit.field, rng, 1)[0], length, p) == 1:
        pass
    return point


def checked(circuit: Plain, x: Sequence[int], proof: Sequence[int], r: Sequence[int], point: int) -> list[int]:
    return query(circuit, x, proof, [point], r, 1)


def counted(own: Sequence[int]) -> list[int]:
    return [int(one) for one in COUNTED.vector([np.array(own, np.int64)])]


def paired(circuit: PlainPaired, own: Sequence[int]) -> list[int]:
    """By the layout of the small field."""
    x = counted(own)
    words = [x[i] * sum(w * x[j] for j, w in word) for i, row in enumerate(circuit.rows) for word in row.words]
    return x + [word % circuit.field.modulus for word in words]


def passed(circuit: Plain, lie: Sequence[int], tries: int, seed: int) -> int:
    """How often an honestly made proof of a lie is accepted."""
    rng, p, found = np.random.default_rng(seed), circuit.field.modulus, 0
    for _ in range(tries):
        r = drawn(circuit.field, rng, circuit.challenges)
        proof = prove(circuit, [one % p for one in lie], drawn(circuit.field, rng, circuit.gadgets[0].arity), r)
        found += accepts(circuit, checked(circuit, [one % p for one in lie], proof, r, point_of(circuit, rng)))
    return found


@pytest.mark.parametrize(
    ("lie", "roots"),
    [
        ([2, 0, 0, 0, 0, 1, 0], 1),  # a two: its random number is 0
        ([1, 0, 0, 0, 0, 1, 0], 1),  # a wrong sum: its random number is 0
    ],
)
def test_false_counts_pass_as_often_as_promised(lie: list[int], roots: int) -> None:
    expected = TRIES * roots / TOY.modulus
    assert abs(passed(PlainCounted(COUNTED, TOY), lie, TRIES, 1) - expected) <= 4 * np.sqrt(expected)


def test_false_pairs_pass_as_often_as_promised() -> None:
    """One word that is off passes if row t is 0: 2 / p of all challenges, less that both are."""
    circuit = PlainPaired(PAIRED, TOY)
    lie = paired(circuit, [0, 2])
    assert passed(circuit, lie, 50, 2) == 50
    lie[-1] += 1
    expected = TRIES * (2 / TOY.modulus - 1 / TOY.modulus**2)
    assert abs(passed(circuit, lie, TRIES, 3) - expected) <= 4 * np.sqrt(expected)


def test_a_bent_gadget_polynomial_passes_at_its_roots_alone() -> None:
    """The output is made zero by one value; the product is still tested at a random point."""
    circuit, rng = PlainCounted(COUNTED, TOY), np.random.default_rng(4)
    lie, p, arity = [2, 0, 0, 0, 0, 1, 0], TOY.modulus, circuit.gadgets[0].arity
    length = 2 * circuit.gadgets[0].wire_length
    points = [t for t in range(p) if pow(t, length, p) != 1]
    rates = []
    for _ in range(30):
        r = drawn(TOY, rng, circuit.challenges)
        proof = prove(circuit, lie, drawn(TOY, rng, arity), r)
        output = checked(circuit, lie, proof, r, points[0])[0]
        proof[arity + 2] = (proof[arity + 2] - output) % p
        taken = [accepts(circuit, checked(circuit, lie, proof, r, t)) for t in points]
        rates += [sum(taken) / len(points)] if output else []
    assert max(rates) <= (length - 2) / len(points)


def views(own: Sequence[int], blinded: bool, tries: int, seed: int) -> Longs:
    """What the vector aggregator has seen in the end: its halves, and the other one's share of the check."""
    circuit, rng = PlainCounted(COUNTED, TOY), np.random.default_rng(seed)
    x, p, arity = counted(own), TOY.modulus, circuit.gadgets[0].arity
    r, point, seen = drawn(TOY, rng, circuit.challenges), point_of(circuit, rng), []
    for _ in range(tries):
        blinds = drawn(TOY, rng, arity) if blinded else [0] * arity
        proof = prove(circuit, x, blinds, r)
        own_x, own_proof = drawn(TOY, rng, len(x)), drawn(TOY, rng, len(proof))
        others = [(a - b) % p for a, b in zip(x, own_x)], [(a - b) % p for a, b in zip(proof, own_proof)]
        mine = query(circuit, own_x, own_proof, [point], r, 2)
        theirs = query(circuit, *others, [point], r, 2)
        whole = [(a + b) % p for a, b in zip(mine, theirs)]
        seen.append([*own_x, *own_proof, *theirs, *whole])
    return np.array(seen, np.int64)


def least_likely(first: Longs, second: Longs) -> float:
    """The smallest p value that two samples are of one distribution, times the number of tests (Bonferroni).

    Tested are all numbers, and all products of a number and one that stands 1, 2 or 5 places behind it.
    """
    p, found = TOY.modulus, []
    for shift in (0, 1, 2, 5):
        samples = [one if not shift else one[:, shift:] * one[:, :-shift] % p for one in (first, second)]
        for a, b in zip(samples[0].T, samples[1].T):
            table = np.array([np.bincount(each // 16, minlength=17) for each in (a, b)])
            table = table[:, table.sum(axis=0) > 0]
            found.append(chi2_contingency(table)[1] if table.shape[1] > 1 else 1.0)
    return float(min(found) * len(found))


def test_what_the_vector_aggregator_sees_does_not_depend_on_the_vector() -> None:
    nothing, much = views([], True, 2500, 5), views([0, 2, 4], True, 2500, 5)
    assert least_likely(nothing, much) > 1e-3


def test_a_proof_without_random_values_would_show_it() -> None:
    nothing, much = views([], False, 2500, 5), views([0, 2, 4], False, 2500, 5)
    assert least_likely(nothing, much) < 1e-9
