"""A protocol: which rows take part, how they are cut, what counts as a hit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from murmura.core.catalogue import Dataset
from murmura.core.errors import DataError, SettingError
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
)
from murmura.data.splits.random_holdout import (
    ColdItems,
    CoveredRandomHoldout,
    LegacyRandomHoldout,
    RandomHoldout,
)
from murmura.data.splits.registry import DEALS, AnySplit, split_named
from murmura.data.splits.rule import Seed
from murmura.data.splits.split_files import GivenSplit
from murmura.data.splits.temporal import LeaveOneOut, Order, TemporalHoldout
from murmura.evaluation.registry import Scored
from murmura.evaluation.sampled import CandidateDraws

GIVEN = "split:"  # a protocol of this beginning names a split in files
CHANGES = ":"  # between a protocol's name and its settings that are others here
OWN = ("candidates", "draws", "draw_seed", "order", "until")  # settings of a protocol itself that may be others
SPLIT = "split"  # the key of another split altogether
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
    until: Annotated[float, Field(gt=0, lt=1)] | None = None  # a classifier's training ends when 90 % exceed it

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
        normal = {"classifies": False, "candidates": "all-unrated", "order": "real", "until": None}
        normal |= {"draws": written["draws"], "draw_seed": written["draw_seed"]} if self.sampled is None else {}
        return {key: value for key, value in written.items() if key not in normal or value != normal[key]}

    @property
    def ranks_cold_items(self) -> bool:
        """Whether lists are of held-out items alone, not of those that occur in training."""
        return isinstance(self.split, ColdItems)

    @property
    def counts_rows(self) -> bool:
        """Whether every row counts alike, whatever its value."""
        return not self.predicts and any(isinstance(step, Binarise) for step in self.filters)

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


def parse_protocol(name: str) -> tuple[str, dict[str, str]]:
    """The name, or `split:PATH`, and what is changed; a path may have a colon of its own."""
    if name.startswith(GIVEN):
        base, _, text = name.rpartition(CHANGES)
        if base == GIVEN[:-1] or not text.startswith(tuple(f"{key}=" for key in OWN)):
            return name, {}
    else:
        base, _, text = name.partition(CHANGES)
    changes: dict[str, str] = {}
    for one in filter(None, text.split(",")):
        key, equals, value = one.partition("=")
        if not (key and equals and value):
            raise SettingError(
                f"after a protocol's name must come KEY=VALUE, but '{one}' does; write for example "
                f"{base}:candidates=99."
            )
        changes[key] = value
    return base, changes


def with_changes(name: str, changes: Mapping[str, object]) -> str:
    """The same protocol with some settings changed, in one spelling; None takes a change back."""
    base, before = parse_protocol(name)
    if base.startswith(GIVEN) and changes.get(SPLIT) is not None:
        raise SettingError(f"{base} is cut already, so --split has nothing to say; leave one of them out.")
    after = {**{key: value for key, value in before.items() if key not in changes}, **changes}
    if changes.get(SPLIT) not in (None, before.get(SPLIT)):  # another split has other settings
        after = {key: value for key, value in after.items() if key in (*OWN, SPLIT)}
    first = [SPLIT] if after.get(SPLIT) is not None else []
    kept = [key for key in dict.fromkeys((*first, *after)) if after[key] is not None]
    return base + (CHANGES + ",".join(f"{key}={after[key]}" for key in kept) if kept else "")


def with_order(name: str, order: str) -> str:
    """The same protocol with another order: `fpl` and "day" are `fpl:order=day`."""
    return with_changes(name, {"order": None if order == "real" else order})


def protocol(name: str, dataset: Dataset) -> Protocol:
    """The protocol of that name for a data set; some differ by data set, as in the papers.

    `NAME:KEY=VALUE,KEY=VALUE` is the protocol with another split, some settings of its split changed, its
    candidates, or the order that methods see; of a split in files only the latter two: `split:PATH:order=day`.
    """
    base, changes = parse_protocol(name)
    if base.startswith(GIVEN):  # a cut that was made elsewhere; the rest is as in `default`
        cut = GivenSplit(path=base.removeprefix(GIVEN))
        made = Protocol(name=name, filters=(LatestPerPair(), Binarise()), split=cut)
    elif base in PROTOCOLS:
        found = imported(PROTOCOLS[base])
        made = found if isinstance(found, Protocol) else found(dataset)
        if dataset.positive_from is not None and made.relevant_from is not None:
            made = changed(made, relevant_from=dataset.positive_from)  # what is a like is what is relevant
    else:
        raise SettingError(unknown_name("protocol", base, tuple(PROTOCOLS)))
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


def refuse_other_rows(dataset: Dataset, rules: Protocol) -> None:
    """Interactions are not classified; samples are, and dealt to clients where they are nobody's yet."""
    found = _rows_of(dataset.interactions)
    if _rows_for(rules) != found:
        raise DataError(
            f"protocol '{rules.name}' is for {_rows_for(rules)}, but '{dataset.name}' has {found}; use one of "
            f"{_fitting(found)}."
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


def _fitting(rows: Rows) -> str:
    return ", ".join(name for name, one in PROTOCOLS.items() if _rows_for(imported(one)) == rows)


def _default(dataset: Dataset) -> Protocol:
    found = _rows_of(dataset.interactions)
    if found == "samples of clients":
        return protocol("celeba", dataset)
    if found == "files of samples":
        raise SettingError(
            f"'{dataset.name}' has {found}, and no protocol by default; use one of {_fitting(found)}."
        )
    split = (
        RandomHoldout(validation=0.2) if dataset.interactions.time is None else TemporalHoldout(validation=0.2)
    )
    return Protocol(name="default", filters=(LatestPerPair(), Binarise(), MinPerUser(rows=5)), split=split)


def _published(dataset: Dataset) -> Protocol:
    """The split that lies beside the rows, as its publishers cut it; the rest is as in `default`."""
    if dataset.folder is None:
        raise SettingError(
            f"protocol 'published' takes the split in the folder of the data, but '{dataset.name}' has none; "
            f"name it: {GIVEN}FOLDER."
        )
    cut = GivenSplit(path=str(dataset.folder))
    return Protocol(name="published", filters=(LatestPerPair(), Binarise()), split=cut, cutoffs=(20,))


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
    "published": _published,
    "fpl": FPL,
    "kgflex": _kgflex,
    "ncf": NCF,
    "ncf-given": "murmura.lab.rivals.ncf_files:NCF_GIVEN",
    "cold": _cold,
    "fedsplit": FEDSPLIT,
    "ratings": RATINGS,
    "mnist-iid": "murmura.lab.classification.partition:MNIST_IID",
    "mnist-shards": "murmura.lab.classification.partition:MNIST_SHARDS",
    "mnist-dirichlet": "murmura.lab.classification.partition:MNIST_DIRICHLET",
    "celeba": "murmura.lab.classification.partition:CELEBA",
}
