"""Which features people decide by before and after recommendation: thesis, 6.6.4, table 6.2 and figure 6.4.

Before, the information gain of a feature is that of a person's own items against others; after, that of the
items of her list against others. A feature of hers is kept when it is still informative after. The thesis does
not say when a feature counts as kept; of the readings that were tried this one behaves as its text says, the
more informative the more often kept, and it needs no model: any method's lists can be measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from murmura.algorithms.kgflex.kgflex import KGFlex, known
from murmura.core.arrays import Floats, Ints
from murmura.core.contract import FederationInfo, History
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.core.rng import Purpose, Rng, client_secrets
from murmura.engine.run_folder import Run
from murmura.lab.analyses.entry_analysis import EntryAnalysis
from murmura.report import drawing
from murmura.report.page import Compared, Section
from murmura.report.table import Column, ReportTable, number, plain_table
from murmura.studies.scorer import Scorer

MOST = (5, 10, 50, 100, None)  # of her features the most informative so many; None: all
QUARTILES = (25, 50, 75)
OVERALL = 100  # features of everyone together
LENGTH, FEATURES_PER_USER = 10, 100  # of a list; features one hop away, and as many further
Ranking = tuple[Ints, Floats]  # features, the most informative first, and their gains


@dataclass(frozen=True)
class Preservation:
    """One entry: what its lists keep of what people decide by, as means over seeds."""

    label: str
    seeds: int
    kept: dict[str, list[float]]  # "5", ..., "all" -> quartiles over people of the share of her features kept
    overall: float  # of the OVERALL most informative features of everyone the share that is so after, too
    before: list[tuple[str, float]]  # these features with their gain, summed over people
    after: list[tuple[str, float]]

    def values(self) -> dict[str, float]:
        """One number for each cell of table 6.2, and the share of figure 6.4."""
        cells = {
            f"kept Q{q}@{most}": value for most, three in self.kept.items() for q, value in enumerate(three, 1)
        }
        return {**cells, f"overlap@{OVERALL}": self.overall}


def preserved(before: Sequence[Ranking], after: Sequence[Ranking]) -> dict[str, list[float]]:
    """Person by person the share of her first features that are informative after, for every number of them."""
    found = {}
    for most in MOST:
        shares = [
            float(np.isin(own[:most], kept).mean()) for (own, _), (kept, _) in zip(before, after) if len(own)
        ]
        three = np.percentile(shares, QUARTILES).tolist() if shares else [0.0] * len(QUARTILES)
        found["all" if most is None else str(most)] = three
    return found


def rankings(info: FederationInfo, items: Sequence[Ints], users: Ints, seed: int, round: int) -> list[Ranking]:
    """The informative features of each of these sets of items, with others drawn from the user's own secret.

    Where no feature is more than a hop away, as many of the one kind stand for both.
    """
    far = bool((known(info).hops > 1).any())
    first = FEATURES_PER_USER if far else 2 * FEATURES_PER_USER
    method = KGFlex(first_limit=first, second_limit=FEATURES_PER_USER)
    secrets = client_secrets(seed, int(users.max(initial=0)) + 1)
    made = []
    for user, own in zip(users.tolist(), items):
        stream = Rng(secrets[user], round).stream(Purpose.GAIN)
        feature, gain = method.informative(info, History.private(own), stream)
        order = np.lexsort((feature, -gain))
        made.append((feature[order], gain[order]))
    return made


def totals(features: int, found: Sequence[Ranking]) -> Floats:
    """(features,) the gain of each, summed over people."""
    total = np.zeros(features)
    for feature, gain in found:
        total[feature] += gain
    return total


def _entry(label: str, runs: Sequence[Scorer]) -> Preservation | None:
    """Measure the lists of every seed; None where items have no features."""
    train = runs[0].prepared.split.train
    info, kept, overlap = FederationInfo.of(train), [], []
    if not info.feature_count:
        return None
    sums = np.zeros((2, info.feature_count))  # before and after
    for one in runs:
        users, lists = _lists(one.run, train)
        own = [train.by_user.of(user) for user in users.tolist()]
        both = [rankings(info, items, users, one.run.seed, round) for round, items in enumerate((own, lists))]
        kept.append(preserved(*both))
        here = [totals(info.feature_count, some) for some in both]
        overlap.append(float(np.isin(_first(here[0]), _first(here[1])).mean()))
        sums += np.array(here) / len(runs)
    mean = {most: np.mean([one[most] for one in kept], axis=0).tolist() for most in kept[0]}
    named = [[(known(info).name(f), float(total[f])) for f in _first(total).tolist()] for total in sums]
    return Preservation(label, len(runs), mean, float(np.mean(overlap)), *named)


def _first(total: Floats) -> Ints:
    """The most informative features of everyone, as far as any tells something."""
    order = np.argsort(-total, kind="stable")[:OVERALL]
    return order[total[order] > 0].astype(np.int32)


def _lists(part: Run, train: Interactions) -> tuple[Ints, list[Ints]]:
    """The users of the lists a run keeps, and the first LENGTH items of each."""
    found: dict[str, list[str]] = {}
    for user, rank, item, _ in part.read_lists():
        if rank <= LENGTH:
            found.setdefault(user, []).append(item)
    return train.users.index(list(found), "user"), [train.items.index(some, "item") for some in found.values()]


PRESERVATION = EntryAnalysis(
    "features.json",
    list[Preservation],
    _entry,
    lambda folder, _: DataError(
        f"{folder} must be of data whose items have features, but it has none; "
        "run it on a data set that has, such as facebook-books."
    ),
)


SHOWN = 20  # features of each panel


def section(compared: Compared) -> Section | None:
    """Where `murmura analyse features` measured them."""
    kept = PRESERVATION.read(compared.folder.run)
    if not kept:
        return None
    title = "Features before and after"
    return Section.of("features", title, preservation_picture(kept[0]), preservation_table(kept))


def preservation_picture(found: Preservation) -> drawing.Picture:
    """The most informative features of everyone, of own items on the left and of lists on the right."""
    before, after = dict(found.before[:SHOWN]), dict(found.after[:SHOWN])
    height = 0.85 + drawing.ROW * max(len(before), len(after))
    looks = {"in both": drawing.CENTRAL, "here alone": drawing.MUTED}
    with drawing.canvas("features", height, looks) as made:
        sides = ("own items", before, after), ("recommended items", after, before)
        for axes, (title, gains, other) in zip(made.panels(2, 2), sides):
            colours = [drawing.CENTRAL if name in other else drawing.MUTED for name in gains]
            drawing.name_rows(axes, list(gains))
            axes.barh(range(len(gains)), list(gains.values()), 0.62, color=colours)
            axes.set_title(title)
    lost = ", ".join(name for name in before if name not in dict(found.after))
    said = f"lost of the first {len(before)}: {lost}" if lost else f"the first {len(before)} are all kept"
    return made.picture(
        f"What people decide by, before and after: {found.label}",
        "The information gain of features, summed over people: of their own items against others, and of the "
        "items of their lists against others.",
        f"{number(100 * found.overall, 0)} % of the {OVERALL} most informative features are so after; {said}.",
    )


def preservation_table(found: Sequence[Preservation]) -> ReportTable:
    """Table 6.2: quartiles of the share of a person's features that are informative in her list, too."""
    rows = (
        (one.label, most, *((value, 3) for value in (*three, one.overall)))
        for one in found
        for most, three in one.kept.items()
    )
    note = (
        "Of a person's most informative features the share that is informative in her list of recommendations, "
        f"too: quartiles over people. overlap@{OVERALL}: of everyone's {OVERALL} most informative features the "
        "share that is among those of all lists together."
    )
    heads: list[str | Column] = ["model", Column("features"), "Q1", "Q2", "Q3", f"overlap@{OVERALL}"]
    return plain_table("features", "Features before and after recommendation", heads, rows, note)
