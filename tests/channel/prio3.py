"""Prio3 of draft-irtf-cfrg-vdaf with the draft's circuits: only to answer its test vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.channel.plain_proofs import (
    FIELD64,
    FIELD128,
    Call,
    Circuit,
    Gadget,
    PrimeField,
    accepts,
    product_sum,
    proof_length,
    prove,
    query,
    query_length,
)

LANES = 0xFFFFFFFFFFFFFFFF
SEED = 32
USES = ("measurement", "proof", "joint randomness", "prover", "query", "joint seed", "joint part")


def keccak(lanes: list[int], rounds: int = 12) -> list[int]:
    """The last rounds of Keccak-f[1600] (FIPS 202) on 25 lanes, x + 5 y."""

    def turned(lane: int, by: int) -> int:
        return ((lane << by) | (lane >> (64 - by))) & LANES if by else lane

    constants, state = [], 1
    for _ in range(24):
        constant = 0
        for bit in range(7):
            constant |= (state & 1) << ((1 << bit) - 1)
            state = (state << 1) ^ (0x171 if state & 0x80 else 0)
        constants.append(constant)
    for constant in constants[24 - rounds :]:
        parity = [lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20] for x in range(5)]
        lanes = [lanes[i] ^ parity[(i - 1) % 5] ^ turned(parity[(i + 1) % 5], 1) for i in range(25)]
        moved, x, y, lane = list(lanes), 1, 0, lanes[1]
        for step in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            lane, moved[x + 5 * y] = lanes[x + 5 * y], turned(lane, (step + 1) * (step + 2) // 2 % 64)
        lanes = [
            moved[i] ^ (~moved[i - i % 5 + (i + 1) % 5] & moved[i - i % 5 + (i + 2) % 5] & LANES)
            for i in range(25)
        ]
        lanes[0] ^= constant
    return lanes


class TurboShake128:
    """RFC 9861: bytes of any number from a message."""

    RATE = 168

    def __init__(self, message: bytes, domain: int = 1) -> None:
        padded = bytearray(message + bytes([domain]))
        padded += bytes(-len(padded) % self.RATE)
        padded[-1] ^= 0x80
        self.lanes, self.left = [0] * 25, b""
        for block in range(0, len(padded), self.RATE):
            for i in range(self.RATE // 8):
                self.lanes[i] ^= int.from_bytes(padded[block + 8 * i : block + 8 * i + 8], "little")
            self.lanes = keccak(self.lanes)

    def next(self, count: int) -> bytes:
        while len(self.left) < count:
            self.left += b"".join(lane.to_bytes(8, "little") for lane in self.lanes[: self.RATE // 8])
            self.lanes = keccak(self.lanes)
        told, self.left = self.left[:count], self.left[count:]
        return told


def xof(seed: bytes, tag: bytes, binder: bytes) -> TurboShake128:
    return TurboShake128(len(tag).to_bytes(2, "little") + tag + bytes([len(seed)]) + seed + binder)


def numbers(field: PrimeField, stream: TurboShake128, count: int) -> list[int]:
    """Random numbers of a field: what is not below its modulus is skipped."""
    found: list[int] = []
    while len(found) < count:
        value = int.from_bytes(stream.next(field.size), "little")
        found += [value] if value < field.modulus else []
    return found


def encoded(field: PrimeField, values: Sequence[int]) -> bytes:
    return b"".join(value.to_bytes(field.size, "little") for value in values)


def decoded(field: PrimeField, told: bytes) -> list[int]:
    return [int.from_bytes(told[i : i + field.size], "little") for i in range(0, len(told), field.size)]


def weights_below(most: int) -> list[int]:
    """Of the bits of a number of at most this: powers of two, the last one smaller."""
    powers = [1 << i for i in range(most.bit_length() - 1)]
    return [*powers, most - sum(powers)]


def bits_of(value: int, most: int) -> list[int]:
    *powers, last = weights_below(most)
    over = value > sum(powers)
    rest = value - last if over else value
    return [rest >> i & 1 for i in range(len(powers))] + [int(over)]


@dataclass
class Kind:
    """A circuit of the draft: how a measurement is spelt, and what of it is added up."""

    field: PrimeField
    length: int
    challenges: int
    outputs: int
    gadgets: tuple[Gadget, ...]
    algorithm: int

    def spelt(self, measurement: Any) -> list[int]:
        raise NotImplementedError

    def evaluate(self, x: Sequence[int], r: Sequence[int], shares: int, calls: Sequence[Call]) -> list[int]:
        raise NotImplementedError

    def summed(self, x: Sequence[int]) -> list[int]:
        return list(x)

    def bits_checked(self, x: Sequence[int], r: Sequence[int], shares: int, call: Call) -> int:
        """0 where all are bits, tested in chunks with powers of a challenge each."""
        chunk, total = self.gadgets[0].arity // 2, 0
        share = self.field.inverse(shares)
        for i, challenge in enumerate(r):
            inputs, power = [], challenge
            for value in [*x[i * chunk : (i + 1) * chunk], *[0] * chunk][:chunk]:
                inputs += [power * value, value - share]
                power = power * challenge % self.field.modulus
            total += call(inputs)
        return total


class Count(Kind):
    def __init__(self, **_: Any) -> None:
        super().__init__(FIELD64, 1, 0, 1, (product_sum(1, 1),), 1)

    def spelt(self, measurement: int) -> list[int]:
        return [measurement]

    def evaluate(self, x: Sequence[int], r: Sequence[int], shares: int, calls: Sequence[Call]) -> list[int]:
        return [calls[0]([x[0], x[0]]) - x[0]]


class Sum(Kind):
    def __init__(self, max_measurement: int, **_: Any) -> None:
        bits = max_measurement.bit_length()
        super().__init__(FIELD64, bits, 0, bits, (Gadget(1, 2, bits, lambda x: x[0] * x[0] - x[0]),), 2)
        self.most = max_measurement

    def spelt(self, measurement: int) -> list[int]:
        return bits_of(measurement, self.most)

    def evaluate(self, x: Sequence[int], r: Sequence[int], shares: int, calls: Sequence[Call]) -> list[int]:
        return [calls[0]([one]) for one in x]

    def summed(self, x: Sequence[int]) -> list[int]:
        return [sum(w * one for w, one in zip(weights_below(self.most), x)) % self.field.modulus]


class SumVec(Kind):
    def __init__(
        self,
        length: int,
        max_measurement: int,
        chunk_length: int,
        field: PrimeField = FIELD128,
        algorithm: int = 3,
        **_: Any,
    ) -> None:
        self.most, self.bits = max_measurement, max_measurement.bit_length()
        calls = -(-length * self.bits // chunk_length)
        gadget = product_sum(chunk_length, calls)
        super().__init__(field, length * self.bits, calls, 1, (gadget,), algorithm)

    def spelt(self, measurement: list[int]) -> list[int]:
        return [bit for value in measurement for bit in bits_of(value, self.most)]

    def evaluate(self, x: Sequence[int], r: Sequence[int], shares: int, calls: Sequence[Call]) -> list[int]:
        return [self.bits_checked(x, r, shares, calls[0])]

    def summed(self, x: Sequence[int]) -> list[int]:
        weights = weights_below(self.most)
        words = (x[i : i + self.bits] for i in range(0, len(x), self.bits))
        return [sum(w * bit for w, bit in zip(weights, word)) % self.field.modulus for word in words]


class Histogram(Kind):
    def __init__(self, length: int, chunk_length: int, **_: Any) -> None:
        calls = -(-length // chunk_length)
        super().__init__(FIELD128, length, calls, 2, (product_sum(chunk_length, calls),), 4)

    def spelt(self, measurement: int) -> list[int]:
        return [int(i == measurement) for i in range(self.length)]

    def evaluate(self, x: Sequence[int], r: Sequence[int], shares: int, calls: Sequence[Call]) -> list[int]:
        return [self.bits_checked(x, r, shares, calls[0]), sum(x) - self.field.inverse(shares)]


class MultihotCountVec(Kind):
    def __init__(self, length: int, max_weight: int, chunk_length: int, **_: Any) -> None:
        self.bins, self.most = length, max_weight
        whole = length + max_weight.bit_length()
        calls = -(-whole // chunk_length)
        super().__init__(FIELD128, whole, calls, 2, (product_sum(chunk_length, calls),), 5)

    def spelt(self, measurement: list[bool]) -> list[int]:
        return [*map(int, measurement), *bits_of(sum(measurement), self.most)]

    def evaluate(self, x: Sequence[int], r: Sequence[int], shares: int, calls: Sequence[Call]) -> list[int]:
        weight = sum(w * bit for w, bit in zip(weights_below(self.most), x[self.bins :]))
        return [self.bits_checked(x, r, shares, calls[0]), sum(x[: self.bins]) - weight]

    def summed(self, x: Sequence[int]) -> list[int]:
        return list(x[: self.bins])


class HigherDegree(Kind):
    def __init__(self, **_: Any) -> None:
        gadget = Gadget(1, 3, 1, lambda x: x[0] * (x[0] - 1) * (x[0] - 2))
        super().__init__(FIELD64, 1, 0, 1, (gadget,), 0xFFFFFFFF)

    def spelt(self, measurement: int) -> list[int]:
        return [measurement]

    def evaluate(self, x: Sequence[int], r: Sequence[int], shares: int, calls: Sequence[Call]) -> list[int]:
        return [calls[0]([x[0]])]


@dataclass
class Prio3:
    """Shares and checks of a kind of measurement, with so many proofs of each."""

    kind: Kind
    shares: int
    context: bytes
    proofs: int = 1

    def tag(self, use: str) -> bytes:
        number = USES.index(use) + 1
        return (
            bytes([18, 0]) + self.kind.algorithm.to_bytes(4, "big") + number.to_bytes(2, "big") + self.context
        )

    def numbers(self, use: str, seed: bytes, binder: bytes, count: int) -> list[int]:
        return numbers(self.kind.field, xof(seed, self.tag(use), binder), count)

    def seed(self, use: str, seed: bytes, binder: bytes) -> bytes:
        return xof(seed, self.tag(use), binder).next(SEED)

    def less(self, a: Sequence[int], b: Sequence[int]) -> list[int]:
        return [(x - y) % self.kind.field.modulus for x, y in zip(a, b, strict=True)]

    def share(self, aggregator: int, seed: bytes) -> list[int]:
        return self.numbers("measurement", seed, bytes([aggregator]), self.kind.length)

    def proof_share(self, aggregator: int, seed: bytes) -> list[int]:
        count = self.proofs * proof_length(self.kind)
        return self.numbers("proof", seed, bytes([self.proofs, aggregator]), count)

    def joint_part(self, aggregator: int, blind: bytes, share: Sequence[int], nonce: bytes) -> bytes:
        binder = bytes([aggregator]) + nonce + encoded(self.kind.field, share)
        return self.seed("joint part", blind, binder)

    def joint(self, parts: Sequence[bytes]) -> tuple[bytes, list[int]]:
        seed = self.seed("joint seed", bytes(SEED), b"".join(parts))
        return seed, self.challenges(seed)

    def challenges(self, seed: bytes) -> list[int]:
        count = self.proofs * self.kind.challenges
        return self.numbers("joint randomness", seed, bytes([self.proofs]), count)

    def shard(self, measurement: Any, nonce: bytes, rand: bytes) -> tuple[bytes, list[bytes]]:
        """The public share and each aggregator's."""
        kind, seeds = self.kind, [rand[i : i + SEED] for i in range(0, len(rand), SEED)]
        joint, field = kind.challenges > 0, kind.field
        step = 2 if joint else 1
        helpers = [seeds[i : i + step] for i in range(0, step * (self.shares - 1), step)]
        own = seeds[step * (self.shares - 1) :]
        leader = x = kind.spelt(measurement)
        parts: list[bytes] = []
        for number, told in enumerate(helpers, 1):
            share = self.share(number, told[0])
            leader = self.less(leader, share)
            parts += [self.joint_part(number, told[1], share, nonce)] if joint else []
        parts = [self.joint_part(0, own[0], leader, nonce), *parts] if joint else []
        r = self.joint(parts)[1] if joint else []
        width = sum(gadget.arity for gadget in kind.gadgets)
        blinds = self.numbers("prover", own[-1], bytes([self.proofs]), self.proofs * width)
        proof = []
        for i in range(self.proofs):
            own_r = r[i * kind.challenges : (i + 1) * kind.challenges]
            proof += prove(kind, x, blinds[i * width : (i + 1) * width], own_r)
        for number, told in enumerate(helpers, 1):
            proof = self.less(proof, self.proof_share(number, told[0]))
        first = encoded(field, leader) + encoded(field, proof) + (own[0] if joint else b"")
        return b"".join(parts), [first, *(b"".join(told) for told in helpers)]

    def query(
        self, key: bytes, aggregator: int, nonce: bytes, public: bytes, told: bytes
    ) -> tuple[list[int], list[int], bytes, bytes]:
        """One aggregator's share of the measurement and of the check, its joint part, and the joint seed."""
        kind, joint = self.kind, self.kind.challenges > 0
        told, blind = (told[:-SEED], told[-SEED:]) if joint else (told, b"")
        if aggregator:
            x, proofs = self.share(aggregator, told), self.proof_share(aggregator, told)
        else:
            known = decoded(kind.field, told)
            x, proofs = known[: kind.length], known[kind.length :]
        part, seed = b"", b""
        r: list[int] = []
        if joint:
            parts = [public[i : i + SEED] for i in range(0, len(public), SEED)]
            part = parts[aggregator] = self.joint_part(aggregator, blind, x, nonce)
            seed, r = self.joint(parts)
        length, asked, many = proof_length(kind), query_length(kind), kind.challenges
        points = self.numbers("query", key, bytes([self.proofs]) + nonce, self.proofs * asked)
        verifier: list[int] = []
        for i in range(self.proofs):
            verifier += query(
                kind,
                x,
                proofs[i * length :][:length],
                points[i * asked :][:asked],
                r[i * many :][:many],
                self.shares,
            )
        return x, verifier, part, seed

    def message(self, verifiers: Sequence[Sequence[int]], parts: Sequence[bytes]) -> bytes | None:
        """What all aggregators' shares of the check say: the joint seed, or None for a false proof."""
        whole = [sum(each) % self.kind.field.modulus for each in zip(*verifiers, strict=True)]
        length = len(whole) // self.proofs
        if not all(accepts(self.kind, whole[i * length : (i + 1) * length]) for i in range(self.proofs)):
            return None
        return self.joint(parts)[0] if self.kind.challenges else b""


def is_circuit(kind: Kind) -> Circuit:
    """For the type checker: a kind is a circuit."""
    return kind
