"""Collaborative NMF and plain NMF once more, slowly: lists and loops, as the equations read."""

from dataclasses import dataclass
from math import inf

FLOOR, RISE = 0.1, 1.5

Rows = list[list[float]]


@dataclass
class Plain:
    """Factors and biases as lists; `ratings` are (user, item, rating) in the order of training."""

    W: Rows
    H: Rows
    b_w: list[float]
    b_h: list[float]
    mu: float
    lowest: float = inf  # error of a pass so far, or since the last rise
    power: float = 1.0

    def estimate(self, i: int, j: int) -> float:
        inner = sum(w * h for w, h in zip(self.W[i], self.H[j]))
        return inner + self.b_w[i] + self.b_h[j] + self.mu

    def one_pass(self, ratings: list[tuple[int, int, float]], rates: tuple[float, ...]) -> float:
        """Equations 10 to 13 as corrected in the kernel's docstring; returns the squared errors met."""
        alpha, beta, gamma, delta, eta_w, eta_h = rates
        k, largest, total = len(self.W[0]), max(r for _, _, r in ratings), 0.0
        above_w, below_w = ([[0.0] * k for _ in self.W] for _ in range(2))
        above_h, below_h = ([[0.0] * k for _ in self.H] for _ in range(2))
        for i, j, r in ratings:
            x = self.estimate(i, j)
            total += (r - x) ** 2
            self.b_w[i] += eta_w * (r - x - gamma * self.b_w[i])
            self.b_h[j] += eta_h * (r - x - delta * self.b_h[j])
            x = max(x, FLOOR * r)
            for f in range(k):
                above_w[i][f] += self.H[j][f] * r
                below_w[i][f] += self.H[j][f] * x + alpha * self.W[i][f]
                above_h[j][f] += self.W[i][f] * r
                below_h[j][f] += self.W[i][f] * x + beta * self.H[j][f]
        for factor, above, below in ((self.W, above_w, below_w), (self.H, above_h, below_h)):
            for row, a, b in zip(factor, above, below):
                for f in range(k):
                    row[f] *= (a[f] / b[f]) ** self.power if a[f] else 0.0
        for biases in (self.b_w, self.b_h):
            biases[:] = [min(max(b, -largest), largest) for b in biases]
        if total > RISE * self.lowest:
            self.lowest, self.power = total, self.power / 2
        self.lowest = min(self.lowest, total)
        return total


def product(A: Rows, B: Rows) -> Rows:
    return [[sum(a * b for a, b in zip(row, column)) for column in zip(*B)] for row in A]


def transposed(A: Rows) -> Rows:
    return [list(column) for column in zip(*A)]


def nmf_pass(X: Rows, W: Rows, H: Rows) -> tuple[Rows, Rows]:
    """Equations 2 and 3, W first."""
    Ht = transposed(H)
    above, below = product(X, Ht), product(product(W, H), Ht)
    W = [[w * a / b for w, a, b in zip(*rows)] for rows in zip(W, above, below)]
    Wt = transposed(W)
    above, below = product(Wt, X), product(product(Wt, W), H)
    return W, [[h * a / b for h, a, b in zip(*rows)] for rows in zip(H, above, below)]
