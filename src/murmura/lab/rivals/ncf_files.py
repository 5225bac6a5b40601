"""NCF's own test items and candidates on MovieLens 1M: He et al. (WWW 2017), `ml-1m.test.negative`.

A line has a test pair and 99 negatives. Users are the original number less one; items are numbered by their
first appearance in the source. Where several rows of a user are the newest, the files say which is held out.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import numpy as np

from murmura.core.arrays import Bools, Ints
from murmura.core.catalogue import Split
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.core.settings import changed, settings
from murmura.data.splits.rule import apply_rule
from murmura.data.splits.temporal import LeaveOneOut
from murmura.engine.protocol import NCF

FILE = "ncf-ml-1m/ml-1m.test.negative"  # below the folder of data sets


@settings
class NCFSplit:
    """The test rows of NCF's files; with `validation` the newest of the others too."""

    kind: Literal["ncf-files"] = "ncf-files"
    validation: bool = True

    def apply(self, data: Interactions) -> Split:
        """Take the pairs of the file, then perhaps another row of every user."""
        pairs, _ = read_candidates(data)
        newest = LeaveOneOut(ties="first-row")

        def held(rows: Interactions, stage: int) -> Bools:
            if stage:
                return newest.apply(rows).part > 0
            found: Bools = pairs[rows.user] == rows.item
            if found.sum() != rows.n_users:
                raise DataError(f"{FILE} must name a row of each user, but names {found.sum()}.")
            return found

        return apply_rule(f"ncf-files(validation={str(self.validation).lower()})", data, held, self.validation)

    def candidates(self, split: Split) -> Ints | None:
        """(users, 99) the negatives beside each test item; None of a validation part, which draws its own."""
        pairs, negatives = read_candidates(split.data)
        test = split.test
        return negatives if (pairs[test.user] == test.item).all() else None


def read_candidates(data: Interactions) -> tuple[Ints, Ints]:
    """The test item of every user, and the negatives beside it: (users,) and (users, 99)."""
    path = Path(os.environ.get("MURMURA_DATA", "")) / FILE
    if not path.is_file():
        raise DataError(
            f"this protocol needs {FILE} in the folder MURMURA_DATA, but it is not there; take it from NCF's "
            "repository (hexiangnan/neural_collaborative_filtering, Data/)."
        )
    first = np.full(data.n_items, len(data))
    np.minimum.at(first, data.item, np.arange(len(data)))
    item_of = np.argsort(first, kind="stable").astype(np.int32)  # number in the file -> item
    users = {int(label) - 1: user for user, label in enumerate(data.users.labels.tolist())}
    table = np.full((data.n_users, 100), -1, np.int32)
    for line in path.read_text("ascii").splitlines():
        head, *rest = line.split("\t")
        user, item = (int(number) for number in head.strip("()").split(","))
        if max(item, *map(int, rest)) < data.n_items and user in users:
            table[users[user]] = item_of[[item, *map(int, rest)]]
    return table[:, 0], table[:, 1:]


NCF_GIVEN = changed(NCF, name="ncf-given", split=NCFSplit())
