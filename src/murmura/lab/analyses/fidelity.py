"""Does a reason decide? Fidelity by removal: how often someone's first item leaves her list without it.

A reason is a feature that the item shares with her. Three are compared: the first one that is told (the most
informative of those that speak for the item), the one with the largest term, and one at random, of which the
expected value is taken. Each is taken from the scores of all items, and the list made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.errors import SettingError
from murmura.core.model import Model, ScoreTerms
from murmura.engine.experiment import REASONS as REASONS_FILE
from murmura.engine.run_folder import Run
from murmura.lab.analyses.entry_analysis import EntryAnalysis
from murmura.report import drawing
from murmura.report.page import Compared, Section
from murmura.report.table import ReportTable, number, plain_table
from murmura.studies.scorer import Scorer

REASONS = ("first reason", "largest term", "random feature")
LENGTH = 10  # of the lists


@dataclass(frozen=True)
class Fidelity:
    """One entry: how often its reasons pass, as means over people and seeds."""

    label: str
    seeds: int
    people: float  # who share a feature with their first item
    shared: float  # features that one shares with it
    leaves: dict[str, float]  # reason -> how often the item leaves the first LENGTH
    falls: dict[str, float]  # reason -> how often it is no longer the first


def fidelity_of(model: Model) -> tuple[Floats, Floats, Ints] | None:
    """(people, reasons) how often the first item leaves the list, and the first place; features shared by each.

    People who share no feature with their first item are left out; None: the model's scores are no sums
    over features of items.
    """
    users = np.flatnonzero(model.train.user_counts).astype(np.int32)
    first = model.recommend(users, 1).item[:, 0]
    allowed, shared = np.flatnonzero(model.candidates), list[int]()
    leaves, falls = list[Floats](), list[Floats]()
    for user, item in zip(users.tolist(), first.tolist()):
        terms = model.terms(user)
        if terms is None or not terms.features:
            return None
        features = terms.of(item) if item >= 0 else np.empty(0, np.int32)
        features = features[features < terms.features]
        if len(features):
            offered = np.setdiff1d(allowed, model.train.by_user.of(user)).astype(np.int32)
            leaves.append(removals(terms, item, features, offered, LENGTH))
            falls.append(removals(terms, item, features, offered, 1))
            shared.append(len(features))
    shape = (-1, len(REASONS))
    return np.reshape(leaves, shape), np.reshape(falls, shape), np.array(shared, np.int32)


def removals(terms: ScoreTerms, item: int, features: Ints, offered: Ints, k: int) -> Floats:
    """(reasons,) whether the item leaves the first k without its first reason, its largest, one at random.

    `features` are those it shares with her, the most informative first. Without one that speaks for the item
    there is no reason, and nothing that could pass.
    """
    drops = np.array([terms.drops(item, feature, offered, k) for feature in features.tolist()])
    speaks = terms.values[features, item] > 0
    first, largest = int(speaks.argmax()), int(terms.values[features, item].argmax())
    return np.array([drops[first] & speaks[first], drops[largest] & speaks[largest], drops.mean()], np.float64)


def _entry(label: str, runs: Sequence[Scorer]) -> Fidelity | None:
    """What was found with every seed; None where scores are no sums."""
    measured = []
    for one in runs:
        found = fidelity_of(one.model())
        if found is None:
            return None
        measured.append(found)
    leaves, falls = (np.mean([one[part].mean(axis=0) for one in measured], axis=0) for part in (0, 1))
    people = [len(one[2]) for one in measured]
    shared = [one[2].mean() for one in measured]
    named: list[dict[str, float]] = [dict(zip(REASONS, values.tolist())) for values in (leaves, falls)]
    return Fidelity(label, len(runs), float(np.mean(people)), float(np.mean(shared)), *named)


FIDELITY = EntryAnalysis(
    "fidelity.json",
    list[Fidelity],
    _entry,
    lambda _, labels: SettingError(
        f"fidelity needs a model whose scores are sums over features, but {labels} have none; run one such as "
        "kgflex."
    ),
)


EXPLAINED = 3  # models whose reasons are drawn
MOST = 8  # bars of one person; what is left is one more


def section(compared: Compared) -> Section | None:
    """The reasons of the first seed of the first models that give any, and what removal says of them."""
    firsts = [(model.label, model.parts[0]) for model in compared.folder.models if model.parts]
    known = [(label, found) for label, run in firsts if (found := read_reasons(run))]
    pictures = [reasons_picture(place, *one) for place, one in enumerate(known[:EXPLAINED])]
    measured = FIDELITY.read(compared.folder.run)
    return Section.of("reasons", "Reasons", *pictures, fidelity_table(measured) if measured else None)


@dataclass(frozen=True)
class Bar:
    """One term of a score."""

    name: str
    term: float
    because: bool


@dataclass(frozen=True)
class ExplainedItem:
    """Someone's first item and what its score is the sum of, the most informative feature first."""

    user: str
    item: str
    bars: tuple[Bar, ...]

    @property
    def score(self) -> float:
        """The sum."""
        return sum(bar.term for bar in self.bars)

    def shown(self) -> list[Bar]:
        """The first bars, and all others added up in one."""
        first, rest = list(self.bars[:MOST]), self.bars[MOST:]
        if not rest:
            return first
        return [*first, Bar(f"{len(rest)} others", sum(bar.term for bar in rest), False)]


def read_reasons(run: Run) -> list[ExplainedItem]:
    """What a run folder keeps of reasons; nothing where its scores are no sums."""
    if not run.has(REASONS_FILE):
        return []
    found: dict[tuple[str, str], list[Bar]] = {}
    rows = run.read_columns(REASONS_FILE, user=str, item=str, name=str, term=float, because=int)
    for user, item, name, term, because in rows:
        found.setdefault((user, item), []).append(Bar(name, term, because == 1))
    return [ExplainedItem(user, item, tuple(bars)) for (user, item), bars in found.items()]


def reasons_picture(place: int, label: str, found: Sequence[ExplainedItem]) -> drawing.Picture | None:
    """A panel for each person; nothing where nobody's item is explained."""
    if not found:
        return None
    most = max(len(one.shown()) for one in found)
    looks = {"because": drawing.FEDERATED, "adds to it": drawing.CENTRAL}
    with drawing.canvas(f"reasons-{place}", 0.8 + drawing.ROW * most, looks) as made:
        for axes, one in zip(made.panels(len(found), max(2, len(found))), found):
            _panel(axes, one, most)
    return made.picture(
        f"Why these items: {label}",
        "What the score of the first item of a few people is the sum of, the most informative feature first. "
        "Because: without it the item would not be among their first ten.",
        " ".join(_said(one) for one in found),
    )


def _panel(axes: drawing.Axes, one: ExplainedItem, rows: int) -> None:
    bars = one.shown()
    drawing.name_rows(axes, [bar.name for bar in bars])
    axes.set_ylim(rows - 0.5, -0.5)  # bars of one width in all panels
    colours = [drawing.FEDERATED if bar.because else drawing.CENTRAL for bar in bars]
    axes.barh(range(len(bars)), [bar.term for bar in bars], 0.62, color=colours)
    axes.axvline(0, color=drawing.MUTED, linewidth=0.8)
    look: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 7.5}
    for row, bar in enumerate(bars):
        axes.annotate(number(bar.term, 3), (max(bar.term, 0), row), (4, 0), color=drawing.INK, **look)
    axes.margins(x=0.18)
    axes.set_title(f"{drawing.short(one.item)}, for {drawing.short(one.user)}: {number(one.score, 3)}")


def _said(one: ExplainedItem) -> str:
    terms = ", ".join(f"{bar.name} {number(bar.term, 3)}" for bar in one.shown())
    return f"{one.item} for {one.user}, {number(one.score, 3)}: {terms}."


def fidelity_table(found: Sequence[Fidelity]) -> ReportTable:
    """How often an item leaves the list, and its place, without a reason."""
    shares = ([(part[reason], 4) for part in (one.leaves, one.falls) for reason in REASONS] for one in found)
    rows = ((one.label, one.seeds, one.people, (one.shared, 1), *own) for one, own in zip(found, shares))
    heads = {
        "model": "",
        "seeds": "",
        "people": "who share a feature with their first item",
        "features": "that they share with it, on average",
        **{f"{reason}, {LENGTH}": f"the item leaves the first {LENGTH} without it" for reason in REASONS},
        **{f"{reason}, 1": "the item is no longer the first without it" for reason in REASONS},
    }
    note = (
        f"How often the first item of a list leaves it ({LENGTH} items), or the first place (1), without one "
        "feature in any item's score. The feature is the most informative one that speaks for the item, the "
        "one with the largest term, or a random shared one."
    )
    return plain_table("fidelity", "Fidelity of reasons by removal", heads, rows, note)
