"""The IDPF of draft-irtf-cfrg-vdaf in plain Python, of one path: the reference of the compiled trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from murmura.kernels.proofs.field import MODULUS

SIZE = 16
Node = tuple[bytes, int]  # seed, control bit
Correction = tuple[bytes, tuple[int, int], list[int]]  # seed, control bits, numbers


def xor(a: bytes, b: bytes) -> bytes:
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


def hashed(key: bytes, block: bytes) -> bytes:
    lo, hi = block[:8], block[8:]
    sigma = hi + xor(hi, lo)
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return xor(encryptor.update(sigma), sigma)


@dataclass(frozen=True)
class Tree:
    """A tree by the keys of its two hashes; every level has so many numbers, or only the last one has any."""

    extend_key: bytes
    convert_key: bytes
    every_level: bool = False

    def extend(self, seed: bytes) -> list[Node]:
        children = (hashed(self.extend_key, xor(seed, i.to_bytes(SIZE, "little"))) for i in range(2))
        return [(bytes([child[0] & 0xFE]) + child[1:], child[0] & 1) for child in children]

    def convert(self, seed: bytes, count: int) -> tuple[bytes, list[int]]:
        """The seed below, and numbers of the field."""
        blocks, numbers = 1, list[int]()
        while len(numbers) < count:
            told = hashed(self.convert_key, xor(seed, blocks.to_bytes(SIZE, "little")))
            blocks += 1
            words = [int.from_bytes(told[i : i + 8], "little") for i in (0, 8)]
            numbers += [word for word in words if word < MODULUS]
        return hashed(self.convert_key, seed), numbers[:count]

    def generate(
        self, path: Sequence[int], numbers: Sequence[Sequence[int]], roots: tuple[bytes, bytes]
    ) -> list[Correction]:
        """`numbers` of every level."""
        nodes: list[Node] = [(roots[0], 0), (roots[1], 1)]
        found: list[Correction] = []
        for keep, told in zip(path, numbers, strict=True):
            pairs = [self.extend(seed) for seed, _ in nodes]
            seed = xor(pairs[0][1 - keep][0], pairs[1][1 - keep][0])
            bits = (pairs[0][0][1] ^ pairs[1][0][1] ^ keep ^ 1, pairs[0][1][1] ^ pairs[1][1][1] ^ keep)
            nodes = [self._kept(node, pair, keep, seed, bits) for node, pair in zip(nodes, pairs)]
            drawn = [self.convert(own, len(told)) for own, _ in nodes]
            if self.every_level:
                nodes = [(below, bit) for (below, _), (_, bit) in zip(drawn, nodes)]
            sign = -1 if nodes[1][1] else 1
            corrected = [
                sign * (x - a + b) % MODULUS for x, a, b in zip(told, drawn[0][1], drawn[1][1], strict=True)
            ]
            found.append((seed, bits, corrected))
        return found

    def evaluate(
        self, party: int, root: bytes, corrections: Sequence[Correction], path: Sequence[int]
    ) -> list[int]:
        """The share of the numbers at the end of a path."""
        node, shared = (root, party), list[int]()
        for turn, (seed, bits, numbers) in zip(path, corrections):
            node = self._kept(node, self.extend(node[0]), turn, seed, bits)
            below, drawn = self.convert(node[0], len(numbers))
            shared = [(x + node[1] * y) % MODULUS for x, y in zip(drawn, numbers, strict=True)]
            if self.every_level:
                node = (below, node[1])
        return [x if party == 0 else -x % MODULUS for x in shared]

    @staticmethod
    def _kept(node: Node, pair: list[Node], turn: int, seed: bytes, bits: tuple[int, int]) -> Node:
        below, bit = pair[turn]
        return (xor(below, seed), bit ^ bits[turn]) if node[1] else (below, bit)
