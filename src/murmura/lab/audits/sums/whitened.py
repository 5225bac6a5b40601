"""The matched filter for a row in a sum of many: deviations from what is usual, in units of how they vary.

D_ri is how far row i of the sum of round r is from its mean over rounds and s_i how far that usually is. C is
the covariance of the columns of D_ri / s_i over all rows and rounds; without `columns` it is taken to be I. If
somebody's update adds e_i to row i, the best linear statistic for her presence is
sum_i <D_ri / s_i, C^-1 e_i / s_i>, whose variance without her is sum_i <e_i / s_i, C^-1 e_i / s_i> if rows vary
alone (Turin: An introduction to matched filters, 1960).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Floats, Ints, Singles

FLOOR = 1e-4  # of the mean square of all rows: a row that hardly varies is not taken to vary less
RIDGE = 1e-6  # of the mean variance of the columns


@dataclass(frozen=True, eq=False)
class WhitenedSums:
    """Deviations of the rows of every round, ready to be projected."""

    rows: Singles  # (rounds, rows, width) C^-1 D_ri / s_i
    scale: Floats  # (rows,) s_i
    inverse: Floats  # (width, width) C^-1

    @staticmethod
    def of(tables: Singles, columns: bool = False) -> WhitenedSums:
        """Of the sums of all rounds: (rounds, rows, width); `columns`: how they vary together counts too."""
        away = tables - tables.mean(axis=0, dtype=np.float64).astype(np.float32)
        square = np.square(away, dtype=np.float32).mean(axis=(0, 2), dtype=np.float64)
        scale = np.sqrt(square + FLOOR * square.mean() + np.finfo(np.float32).tiny)
        away /= scale[:, None].astype(np.float32)
        if not columns:
            return WhitenedSums(away, scale, np.eye(away.shape[2]))
        flat = away.reshape(-1, away.shape[2])
        covariance = (flat.T @ flat).astype(np.float64) / len(flat)
        ridge = RIDGE * np.trace(covariance) / len(covariance) + np.finfo(np.float32).tiny
        inverse = np.linalg.inv(covariance + ridge * np.eye(len(covariance)))
        return WhitenedSums(away @ inverse.astype(np.float32), scale, inverse)

    def statistic(self, round: int, index: Ints, values: Floats) -> float:
        """How much of these rows is in the sum of a round, in standard deviations; 0 of no rows."""
        unit = values / self.scale[index][:, None]
        variance = float(np.einsum("iw,wv,iv->", unit, self.inverse, unit))
        if variance <= 0:
            return 0.0
        return float((self.rows[round, index] * unit).sum() / np.sqrt(variance))

    def along(self, round: int, direction: Floats) -> Floats:
        """How far every row of a round is moved in one direction, in standard deviations: (rows,)."""
        variance = float(direction @ self.inverse @ direction)
        unit = direction / np.sqrt(variance) if variance > 0 else 0 * direction
        found: Floats = self.rows[round].astype(np.float64) @ unit
        return found
