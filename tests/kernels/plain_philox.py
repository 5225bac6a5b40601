"""Philox4x32-10 in whole numbers of Python: the plain twin of the compiled generator."""

from dataclasses import dataclass

LOW = 2**32 - 1


def plain_block(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    """Ten rounds as in the paper: two products, the words crossed over, the key moved on."""
    x0, x1, x2, x3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = x0 * 0xD2511F53, x2 * 0xCD9E8D57
        x0, x1, x2, x3 = p1 >> 32 ^ x1 ^ k0, p1 & LOW, p0 >> 32 ^ x3 ^ k1, p0 & LOW
        k0, k1 = k0 + 0x9E3779B9 & LOW, k1 + 0xBB67AE85 & LOW
    return x0, x1, x2, x3


@dataclass
class Stream:
    """The words of one key and one (c1, c2, c3), read one after the other."""

    key: tuple[int, int]
    upper: tuple[int, int, int]
    place: int = 0

    def word(self) -> int:
        words = plain_block((self.place // 4, *self.upper), self.key)
        self.place += 1
        return words[(self.place - 1) % 4]

    def below(self, n: int) -> int:
        while True:
            product = self.word() * n
            if product & LOW >= 2**32 % n:
                return product >> 32

    def double(self) -> float:
        return ((self.word() >> 5) * 2**26 + (self.word() >> 6)) / 2**53
