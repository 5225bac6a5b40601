"""A protocol: which rows take part, how they are cut, what counts as a hit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from murmura.core.arrays import Bools
from murmura.core.catalogue import Catalogue, Dataset, Split
from murmura.core.errors import DataError, RunError, SettingError
from murmura.core.interactions import TEST_FILE, TRAIN_FILE, Interactions
from murmura.core.plugins import imported, unknown_name
from murmura.core.settings import Count, changed, field_names, settings, unknown
from murmura.data.filters import (
    Binarise,
    Filter,
    KCore,
    LatestPerPair,
    MinPerItem,
    MinPerUser,
    RaiseTo,
    apply_filters,
)
from murmura.data.repeats import merge_duplicates, positives_of
from murmura.data.splits.random_holdout import (
    ColdItems,
    CoveredRandomHoldout,
    LegacyRandomHoldout,
    RandomHoldout,
)
from murmura.data.splits.registry import DEALS, AnySplit, split_named
from murmura.data.splits.rule import Seed
from murmura.data.splits.split_files import GivenSplit
from murmura.data.splits.temporal import LeaveOneOut, Order, TemporalHoldout, cut_to_days
from murmura.engine.protocol_text import CHANGES, GIVEN, OWN, SPLIT, parse_protocol
from murmura.engine.run_folder import Run
from murmura.engine.sealed import Choice, Sealed
from murmura.engine.values import like_threshold, values_sentence
from murmura.evaluation.registry import Scored
from murmura.evaluation.sampled import CandidateDraws, refuse_too_many

Rows = Literal["interactions", "files of samples", "samples of clients"]
# every item without a training row, the test items alone, or the former and beside it so many that are drawn
Candidates = Literal["all-unrated", "rated-test"] | Count


@settings
class Protocol:
    """A bundle of filter, split, relevance and catalogue; metrics have the same names in every one."""

    name: str
    filters: tuple[Filter, ...]
    split: AnySplit
    feature_items: Annotated[int, Field(ge=1)] = 2  # a feature counts when so many items of the source have it
    with_features: bool = False  # drop items without a feature, where the source has features
    relevant_from: float | None = None  # a held-out row is a hit from this value on; None: every row
    gini_catalogue: Literal["all", "train"] = "all"  # the items G@k counts over
    predicts: bool = False  # held-out ratings are predicted, and their errors counted; otherwise lists are
    cutoffs: tuple[Annotated[int, Field(ge=1)], ...] = (10,)
    classifies: bool = False  # held-out samples are classified, and the right answers counted
    candidates: Candidates = "all-unrated"  # what lists are of (thesis, 2.2.4)
    draws: Count = 10  # of drawn candidates, over which metrics are means
    draw_seed: Seed = 42  # of those draws
    order: Order = "real"  # of a person's rows, as methods see it; "day": hidden inside days, the split as ever

    @model_validator(mode="after")
    def _lists_can_differ(self) -> Self:
        """Lists of test items alone are perfect where every test item is relevant."""
        if self.candidates == "rated-test" and (self.relevant_from is None or self.ranks_cold_items):
            raise SettingError(
                "candidates=rated-test needs a protocol in which some held-out rows are relevant and others "
                f"are not, and no cold items, but '{self.name}' is none; take kgflex on data with ratings."
            )
        if self.sampled is not None and (self.predicts or self.classifies or self.ranks_cold_items):
            raise SettingError(
                f"candidates={self.candidates} draws items to rank others among, but '{self.name}' has no "
                "lists of items that occur in training; take default, fpl, kgflex or ncf."
            )
        return self

    @model_serializer(mode="wrap")
    def _only_given(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A run folder says what is classified, ranked or hidden only where that is not the usual."""
        written: dict[str, Any] = plain(self)
        normal = {"classifies": False, "candidates": "all-unrated", "order": "real"}
        normal |= {"draws": written["draws"], "draw_seed": written["draw_seed"]} if self.sampled is None else {}
        return {key: value for key, value in written.items() if key not in normal or value != normal[key]}

    @property
    def ranks_cold_items(self) -> bool:
        """Whether lists are of held-out items alone, not of those that occur in training."""
        return isinstance(self.split, ColdItems)

    @property
    def scores(self) -> Scored:
        """What is scored: ranked lists, predicted ratings or classified samples."""
        return "labels" if self.classifies else "ratings" if self.predicts else "lists"

    @property
    def sampled(self) -> CandidateDraws | None:
        """What is drawn for the metrics beside those of the full ranking; None: nothing."""
        if isinstance(self.candidates, str):
            return None
        return CandidateDraws(self.candidates, self.draws, self.draw_seed)


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


def protocol(name: str, dataset: Dataset) -> Protocol:
    """The protocol of that name for a data set; some differ by data set, as in the papers.

    `NAME:KEY=VALUE,KEY=VALUE` is the protocol with another split, some settings of its split changed, its
    candidates, or the order that methods see; of a split in files only the latter two: `split:PATH:order=day`.
    """
    base, changes = parse_protocol(name)
    if base.startswith(GIVEN):
        return _given(name, base, changes)
    if base not in PROTOCOLS:
        raise SettingError(unknown_name("protocol", base, tuple(PROTOCOLS)))
    found = imported(PROTOCOLS[base])
    made: Protocol = found if isinstance(found, Protocol) else found(dataset)
    if dataset.positive_from is not None and made.relevant_from is not None:
        made = changed(made, relevant_from=dataset.positive_from)  # what is a like is what is relevant
    return _changed(made, name, changes) if changes else made


def _changed(rules: Protocol, name: str, changes: Mapping[str, str]) -> Protocol:
    """A protocol with settings as text: `images=100,clients=50`, or `split=leave-one-out,candidates=99`."""
    cut = rules.split if SPLIT not in changes else _other_split(changes[SPLIT])
    own = {key: value for key, value in changes.items() if key in OWN}
    values = {key: value for key, value in changes.items() if key not in (*OWN, SPLIT)}
    known = [one for one in field_names(type(cut)) if one != "kind"]
    if strange := next((key for key in values if key not in known), None):
        raise SettingError(unknown(strange, [*known, *OWN, SPLIT], name.partition(CHANGES)[0]))
    return changed(rules, name=name, split=changed(cut, **values) if values else cut, **own)


def _other_split(kind: str) -> AnySplit:
    """The split of that name, with a validation part to choose settings on."""
    made = split_named(kind)
    kinds: dict[str, Any] = {"validation": True if kind == LeaveOneOut.kind else 0.2}
    return changed(made, **kinds) if "validation" in field_names(type(made)) else made


def prepare(dataset: Dataset, rules: Protocol) -> PreparedData:
    """Filter and cut a data set; the test part is sealed."""
    whole = whole_split(dataset, rules)
    catalogue = dataset.catalogue.restrict(whole.data.items)
    said = values_sentence(dataset, rules)
    return PreparedData(dataset.name, rules, whole, catalogue, said, dataset.notes)


def whole_split(dataset: Dataset, rules: Protocol) -> Split:
    """Filter and cut a data set, all parts in the open: for tests and benchmarks, never for a study."""
    data = dataset.interactions
    _refuse_other_rows(dataset, rules)
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


def _refuse_other_rows(dataset: Dataset, rules: Protocol) -> None:
    """Interactions are not classified; samples are, and dealt to clients where they are nobody's yet."""
    found = _rows_of(dataset.interactions)
    if _rows_for(rules) != found:
        raise DataError(
            f"protocol '{rules.name}' is for {_rows_for(rules)}, but '{dataset.name}' has {found}; use one of "
            f"{', '.join(_fitting(found))}."
        )


def _rows_of(data: Interactions) -> Rows:
    if data.samples is None:
        return "interactions"
    return "files of samples" if is_unpartitioned(data) else "samples of clients"


def is_unpartitioned(data: Interactions) -> bool:
    """Whether samples are a source's files', and no client's yet."""
    return data.samples is not None and {TRAIN_FILE, TEST_FILE} >= set(map(str, data.users.labels.tolist()))


def _rows_for(rules: Protocol | Callable[[Dataset], Protocol]) -> Rows:
    """What a protocol is for; those that look at the data first are for interactions."""
    if not isinstance(rules, Protocol) or not rules.classifies:
        return "interactions"
    return "files of samples" if rules.split.kind.startswith(DEALS) else "samples of clients"


def _fitting(rows: Rows) -> list[str]:
    return [name for name, one in PROTOCOLS.items() if _rows_for(imported(one)) == rows]


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


def _given(name: str, base: str, changes: Mapping[str, str]) -> Protocol:
    """A cut that was made elsewhere; the rest is as in `default`."""
    cut = GivenSplit(path=base.removeprefix(GIVEN))
    rules = Protocol(name=name, filters=(LatestPerPair(), Binarise()), split=cut)
    return _changed(rules, name, changes) if changes else rules


def _default(dataset: Dataset) -> Protocol:
    found = _rows_of(dataset.interactions)
    if found == "samples of clients":
        return protocol("celeba", dataset)
    if found == "files of samples":
        raise SettingError(
            f"'{dataset.name}' has {found}, and no protocol by default; use one of "
            f"{', '.join(_fitting(found))}."
        )
    split = (
        RandomHoldout(validation=0.2) if dataset.interactions.time is None else TemporalHoldout(validation=0.2)
    )
    return Protocol(name="default", filters=(LatestPerPair(), Binarise(), MinPerUser(rows=5)), split=split)


def _kgflex(dataset: Dataset) -> Protocol:
    """KGFlex (thesis chapter 6): k-core, random 80/20, relevant from 3 where there are ratings."""
    return Protocol(
        name="kgflex",
        filters=(KCore(k=5 if dataset.name == "facebook-books" else 10),),
        split=LegacyRandomHoldout(test=0.2, validation=0.2),
        with_features=True,
        feature_items=11,  # "more than 10" in the authors' code
        relevant_from=None if dataset.name == "facebook-books" else 3.0,
        gini_catalogue="train",
    )


def _cold(dataset: Dataset) -> Protocol:
    """Ours: as `kgflex`, but a fifth of the items is held out whole, and lists are of those items alone."""
    split = ColdItems(test=0.2, validation=0.2)
    return changed(_kgflex(dataset), name="cold", split=split, gini_catalogue="all")


# FedeRank (ECIR 2021) and FPL: users with 20 items, newest 20 % to test, all of it relevant
FPL = Protocol(
    name="fpl",
    filters=(LatestPerPair(), Binarise(), MinPerUser(rows=20)),
    split=TemporalHoldout(test=0.2, validation=0.2),
)
# He et al. (WWW 2017): the newest row of everyone who has 20 is held out, and ranked among 99 drawn items
NCF = Protocol(
    name="ncf",
    filters=(LatestPerPair(order="source"), Binarise(), MinPerUser(rows=20)),
    split=LeaveOneOut(ties="first-row", validation=True),
    candidates=99,
)
# FedSPLIT, section 4.1: users, then movies with 20 ratings, half stars raised to one, random 80/20
FEDSPLIT = Protocol(
    name="fedsplit",
    filters=(LatestPerPair(), MinPerUser(rows=20), MinPerItem(rows=20), RaiseTo(value=1.0)),
    split=CoveredRandomHoldout(test=0.2, validation=0.2),
    predicts=True,
)
# for ratings of one's own: all of them, random 80/20, errors of predicted ratings
RATINGS = Protocol(name="ratings", filters=(LatestPerPair(),), split=FEDSPLIT.split, predicts=True)

# a protocol, what makes it for a data set, or where it is: that is imported when it is asked for
PROTOCOLS: dict[str, Protocol | Callable[[Dataset], Protocol] | str] = {
    "default": _default,
    "fpl": FPL,
    "kgflex": _kgflex,
    "ncf": NCF,
    "cold": _cold,
    "fedsplit": FEDSPLIT,
    "ratings": RATINGS,
    "mnist-iid": "murmura.lab.classification.partition:MNIST_IID",
    "mnist-shards": "murmura.lab.classification.partition:MNIST_SHARDS",
    "mnist-dirichlet": "murmura.lab.classification.partition:MNIST_DIRICHLET",
    "celeba": "murmura.lab.classification.partition:CELEBA",
}
