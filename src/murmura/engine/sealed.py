"""The test part under seal: one choice opens it, written down first; after that nothing is chosen any more.

What a method is fitted on and what a search chooses on are made without the test rows, so there is nothing in
them to find. The rows themselves wait in a `Sealed`, which gives them out for a choice that a run folder keeps.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.catalogue import TEST, VALIDATION, Split
from murmura.core.errors import RunError
from murmura.core.interactions import Interactions
from murmura.engine.run_folder import Run, now

FILE = "opened.json"
Choice = dict[str, Any]  # which model with which settings, as plain values


class Sealed:
    """The whole of a split; only `open` gives it out, and only for one choice."""

    def __init__(self, whole: Split) -> None:
        self.__whole = whole
        self.__choice: Choice | None = None

    @property
    def is_open(self) -> bool:
        """Whether a choice has opened it."""
        return self.__choice is not None

    @cached_property
    def about(self) -> dict[str, Any]:
        """Counts and fingerprints of what is inside: no row of it."""
        return describe_split(self.__whole)

    @cached_property
    def overlap(self) -> int:
        """How many held-out pairs of a user and an item are training pairs too."""
        train, test = self.__whole.train, self.__whole.test
        return int(np.isin(_pairs(test.user, test.item, test), _pairs(train.user, train.item, test)).sum())

    def count(self, who: Ints, item: Ints) -> tuple[int, Longs, Floats]:
        """How many drawn pairs are held out; how many were drawn for each user, and the chance of each to be.

        The chance is that of an item drawn uniformly among the items of training the user has not met there.
        """
        train, test = self.__whole.train, self.__whole.test
        listed = train.item_counts > 0
        codes = np.setdiff1d(_pairs(test.user, test.item, test), _pairs(train.user, train.item, test))
        owner, held = codes // test.n_items, listed[codes % test.n_items]
        reachable = np.bincount(owner[held], minlength=test.n_users)
        met = np.unique(_pairs(train.user, train.item, test)) // test.n_items
        unmet = np.maximum(1, int(listed.sum()) - np.bincount(met, minlength=test.n_users))
        hits = int(np.isin(_pairs(who, item, test), codes).sum())
        return hits, np.bincount(who, minlength=test.n_users), reachable / unmet

    def open(self, run: Run | None, choice: Choice) -> Split:
        """The split with its test part, once the choice stands in the folder, if any; refuses another."""
        final: Choice = json.loads(json.dumps(choice))  # what a file gives back
        if self.__choice not in (None, final):
            raise RunError(
                "the test part must be opened for one choice, but this is another than the one it was opened "
                "for; make every choice on the validation part first, and open it once."
            )
        if run is not None:
            _write_down(run, final, self.about)
        self.__choice = final
        return self.__whole

    def __reduce__(self) -> NoReturn:
        raise RunError(
            "the test part must stay where it was cut, but was about to be copied or sent to another process; "
            "send `prepared.selection()` instead."
        )


def _pairs(user: Ints, item: Ints, over: Interactions) -> Longs:
    """Each pair as one number."""
    codes: Longs = user.astype(np.int64) * over.n_items + item
    return codes


def _write_down(run: Run, choice: Choice, about: dict[str, Any]) -> None:
    """Keep the choice in the folder, before a test row is seen; refuses a folder that keeps another."""
    if not run.has(FILE):
        run.write_json(FILE, {"choice": choice, "at": now(), **about})
        return
    kept = run.read(FILE)
    if kept.get("choice") != choice or kept.get("parts") != about["parts"]:
        raise RunError(
            f"{run.path} must open the test part for one choice, but it did for another at {kept.get('at')}; "
            "a choice made after that has seen the test part: start in a new folder."
        )


def refuse_opened(run: Run) -> None:
    """Refuse to choose in a folder whose test part has been opened."""
    if run.has(FILE):
        raise RunError(
            f"settings must be chosen before the test part is opened, but {run.path} opened it at "
            f"{run.read(FILE).get('at')}; search in a new folder."
        )


def describe_split(split: Split) -> dict[str, Any]:
    """Counts and fingerprints: what was learned from, what was held out."""
    data, test = split.data, split.test
    return {
        "split": split.name,
        "users": data.n_users,
        "items": data.n_items,
        "rows": len(data),
        "train rows": len(split.train),
        "train items": int((split.train.item_counts > 0).sum()),
        "validation rows": int((split.part == VALIDATION).sum()),
        "test rows": int((split.part == TEST).sum()),
        "test users": int((test.user_counts > 0).sum()),
        "fingerprint": data.fingerprint,
        **({} if data.samples is None else {"samples": data.samples.fingerprint}),
        "parts": hashlib.sha256(split.part.tobytes()).hexdigest(),
    }
