"""Data made ready by a protocol: filtered, cut, and its test part under seal.

One choice opens the test part, written down first; after that nothing is chosen any more. What a method is
fitted on and what a search chooses on are made without the test rows, so there is nothing in them to find. The
rows themselves wait in a `Sealed`, which gives them out for a choice that a run folder keeps.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.catalogue import TEST, VALIDATION, Catalogue, Dataset, Split
from murmura.core.errors import DataError, RunError, SettingError
from murmura.core.interactions import Interactions
from murmura.data.filters import LatestPerPair, apply_filters
from murmura.data.repeats import ABOVE_ZERO, merge_duplicates, positives_of, positives_sentence
from murmura.data.splits.temporal import cut_to_days
from murmura.engine.protocol import Protocol, refuse_other_rows
from murmura.engine.run_folder import Run, now
from murmura.evaluation.sampled import refuse_too_many

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
        if run is not None and not run.has(FILE):
            run.write_json(FILE, {"choice": final, "at": now(), **self.about})
        elif run is not None:
            kept = run.read(FILE)
            if kept.get("choice") != final or kept.get("parts") != self.about["parts"]:
                raise RunError(
                    f"{run.path} must open the test part for one choice, but it did for another at "
                    f"{kept.get('at')}; a choice made after that has seen the test part: start in a new folder."
                )
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


def refuse_opened(run: Run) -> None:
    """Refuse to choose in a folder whose test part has been opened."""
    if run.has(FILE):
        raise RunError(
            f"settings must be chosen before the test part is opened, but {run.path} opened it at "
            f"{run.read(FILE).get('at')}; search in a new folder."
        )


@dataclass(frozen=True, eq=False)
class Selection:
    """What settings are chosen on: training minus validation, scored on validation. No way to the test rows."""

    data: str
    protocol: Protocol
    split: Split


@dataclass(frozen=True, eq=False)
class PreparedData:
    """A data set made ready by a protocol: cut, its test part sealed, with the catalogue of its items."""

    data: str
    protocol: Protocol
    split: Split  # given whole, kept without its test rows
    catalogue: Catalogue
    values: str = ""  # what was made of the values, in one sentence
    notes: tuple[str, ...] = ()  # how the data was understood, and what was left out of it
    sealed: Sealed = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sealed", Sealed(self.split))
        object.__setattr__(self, "split", self.split.sealed())

    def selection(self) -> Selection:
        """What to choose settings on; refused once the test part is open."""
        if self.sealed.is_open:
            raise RunError(
                "settings must be chosen before the test part is opened, but it is open; prepare the data anew "
                "and make every choice first."
            )
        return Selection(self.data, self.protocol, self.split.selection())

    def open(self, run: Run | None, choice: Choice) -> Split:
        """The split with its test part, for one choice, which the run folder, if any, keeps from then on."""
        return self.sealed.open(run, choice)

    def tell(self, listener: Callable[[str], None] | None) -> None:
        """Say how the data was understood and what was made of its values, where somebody listens."""
        if listener is None:
            return
        for sentence in (*self.notes, *([f"{self.values}."] if self.values else [])):
            listener(sentence)

    def describe(self) -> dict[str, Any]:
        """Counts and fingerprints of all parts, and what was made of the values."""
        return self.sealed.about | ({"values": self.values} if self.values else {})


def prepare(dataset: Dataset, rules: Protocol) -> PreparedData:
    """Filter and cut a data set; the test part is sealed."""
    whole = whole_split(dataset, rules)
    catalogue = dataset.catalogue.restrict(whole.data.items)
    said = values_sentence(dataset, rules)
    return PreparedData(dataset.name, rules, whole, catalogue, said, dataset.notes)


def whole_split(dataset: Dataset, rules: Protocol) -> Split:
    """Filter and cut a data set, all parts in the open: for tests and benchmarks, never for a study."""
    data = dataset.interactions
    refuse_other_rows(dataset, rules)
    if (positive_from := like_threshold(dataset, rules)) is not None:
        data = positives_of(dataset.name, data, positive_from)
    if data.samples is None and not any(isinstance(step, LatestPerPair) for step in rules.filters):
        data = merge_duplicates(data, "latest")  # a person holds an item once, whatever the protocol says
    if rules.with_features and dataset.catalogue.features is not None:
        data = data.rows(_featured(dataset.catalogue, data)[data.item])
    data = apply_filters(data, rules.filters)
    split = rules.split.apply(with_item_features(dataset, data, rules.feature_items))
    _refuse_hopeless(dataset.name, rules, split)
    return split if rules.order == "real" else cut_to_days(split)


def _refuse_hopeless(name: str, rules: Protocol, split: Split) -> None:
    """Refuse a cut that nothing can be learned from or measured on, before anything is fitted."""
    if not len(split.test):
        raise DataError(
            f"protocol '{rules.name}' must leave test rows, but every one of the {len(split.data)} rows of "
            f"'{name}' is in training; use more data per user or another protocol."
        )
    if rules.sampled is not None:
        tested = np.flatnonzero(split.test.user_counts).astype(np.int32)
        refuse_too_many(split.data, tested, rules.sampled.count)
    if rules.classifies:
        return
    for what, counts in (("user", split.train.user_counts), ("item", split.train.item_counts)):
        there = int((counts > 0).sum())
        if there < 2:
            raise DataError(
                f"protocol '{rules.name}' must leave at least two {what}s to learn from, but of the "
                f"{len(counts)} of '{name}' that take part {there} has training rows; check which column is "
                f"the {what}, or use more data."
            )


def like_threshold(dataset: Dataset, rules: Protocol) -> float | None:
    """The value from which on a row is a like; None: every row is, or values are no matter of liking."""
    if dataset.positive_from is not None:
        if rules.predicts or rules.classifies:
            raise SettingError(
                f"positive_from (--positive-from) must be left out for protocol '{rules.name}', which takes "
                f"values as they are, but it is {dataset.positive_from:g}."
            )
        return dataset.positive_from
    values = dataset.interactions.value
    return ABOVE_ZERO if rules.counts_rows and len(values) and values.min() < 0 else None


def values_sentence(dataset: Dataset, rules: Protocol) -> str:
    """What a protocol makes of the values of a data set; "" of samples, whose values are labels."""
    values = dataset.interactions.value
    if dataset.interactions.samples is not None or not len(values):
        return ""
    spread = f"{values.min():g} to {values.max():g}"
    if rules.predicts:
        return f"values are predicted as they are ({spread})"
    if rules.counts_rows or dataset.positive_from is not None or values.min() == values.max():
        return positives_sentence(dataset.interactions, like_threshold(dataset, rules))
    least = rules.relevant_from
    hits = "every held-out row" if least is None else f"a held-out row of at least {least:g}"
    return f"values are kept ({spread}); {hits} is relevant"


def with_item_features(dataset: Dataset, data: Interactions, least: int = 2) -> Interactions:
    """Rows of a data set with the features that at least so many of its items have, where any are known."""
    known = dataset.catalogue.item_features(least)
    if known is None:
        return data
    return replace(data, features=known.restrict(dataset.catalogue.items.find(data.items.labels)))


def _featured(catalogue: Catalogue, data: Interactions) -> Bools:
    """Which items of the data have at least one feature in the catalogue."""
    has: Bools = np.zeros(len(catalogue.items) + 1, np.bool_)  # the last place answers for unknown items
    if catalogue.features is not None:
        has[catalogue.features.item] = True
    return has[catalogue.items.find(data.items.labels)]


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
