"""Made-up populations of very many clients, written range by range in constant memory.

The same planted tastes and popularity as `synthetic`, all rows shared and of value 1. Every range of clients is
drawn by itself from (seed, its first client), so that it could be made again without the others.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from murmura.core.progress import SILENT, Progress
from murmura.core.settings import changed
from murmura.data.populations import RANGE, PopulationFiles, PopulationWriter, Rows
from murmura.data.sources.synthetic import (
    ItemLine,
    SyntheticSettings,
    activity,
    distinct_pairs,
    refuse_impossible,
)


def write_synthetic(
    folder: Path, plan: SyntheticSettings, size: int = RANGE, progress: Progress = SILENT
) -> PopulationFiles:
    """Write the population of a plan; the same plan and size of a range give the same bytes."""
    refuse_impossible(plan)
    rng = np.random.default_rng(plan.seed)
    group_of_item = (rng.permutation(plan.items) % plan.groups).astype(np.int32)
    line, writer = ItemLine.of(plan, rng, group_of_item), PopulationWriter(folder, plan.items)
    progress.begin("clients", plan.users)
    try:
        for first in range(0, plan.users, size):
            last = min(first + size, plan.users)
            writer.add(_range(plan, line, first, last))
            progress.advance(last - first)
    finally:
        progress.end()
    return writer.close(f"made up: {plan}")


def _range(plan: SyntheticSettings, line: ItemLine, first: int, last: int) -> Rows:
    """Clients first to last, who have the share of the rows that is due to so many people."""
    before, after = (plan.interactions * place // plan.users for place in (first, last))
    here = changed(plan, users=last - first, interactions=after - before)
    rng = np.random.default_rng((plan.seed, first))
    group_of_user = (rng.permutation(here.users) % plan.groups).astype(np.int32)
    wanted = activity(here, rng)
    pairs = distinct_pairs(here, rng, wanted, line, group_of_user)
    start = np.concatenate(([0], np.cumsum(wanted)))
    return Rows(start, (pairs % plan.items).astype(np.int32))
