"""Is a printed number reproduced? One word for each, by a rule that is stated once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Word = Literal["reproduced", "better", "not reached", "printed number doubtful", "", "not run"]
Better = Literal["higher", "lower", "zero", "same"]  # same: a fact, neither better nor worse

WIDER = 4  # an interval over few seeds can be so wide that it holds any print: it excuses no more than this


@dataclass(frozen=True)
class ReproductionVerdict:
    """The word and, where the printed number is doubted, the reason."""

    word: Word
    reason: str = ""


def verdict(
    printed: float | None,
    ours: float | None,
    interval: tuple[float, float],
    better: Better,
    tolerance: float,
    doubt: str = "",
) -> ReproductionVerdict:
    """Reproduced: within `tolerance` of the print, or of WIDER times that with the print in our interval.

    Otherwise ours is better or does not reach it; a doubted print is neither. Without a print there is no word.
    """
    if printed is None:
        return ReproductionVerdict("")
    if ours is None or math.isnan(ours):
        return ReproductionVerdict("not run")
    if doubt:
        return ReproductionVerdict("printed number doubtful", doubt)
    low, high = interval
    near = tolerance * (WIDER if low <= printed <= high else 1) * (1 + 1e-9)
    if abs(ours - printed) <= near * abs(printed):
        return ReproductionVerdict("reproduced")
    ahead = {"higher": ours > printed, "lower": ours < printed, "zero": abs(ours) < abs(printed)}
    return ReproductionVerdict("better" if ahead.get(better) else "not reached")


def difference(printed: float | None, ours: float | None) -> float | None:
    """How far ours is from the print, as a fraction of the print."""
    if printed is None or ours is None or not printed or math.isnan(ours):
        return None
    return (ours - printed) / abs(printed)
