"""What a training costs in rounds: freshness of models, and rounds until a federation is near its best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Floats, Longs
from murmura.evaluation.registry import title
from murmura.lab.sweep.folder import FRESHNESS, NORMALISED, SweepPoint, entry_points, freshness
from murmura.lab.sweep.section import number_at, plot_points
from murmura.report.drawing import Picture, canvas, curve_height, curve_styles, logarithmic, note
from murmura.report.page import Compared, Section
from murmura.report.summary import decimals_for
from murmura.report.table import NAME, Column, ReportTable, TableCell, plain_table
from murmura.studies.search.folder import Trial


def freshness_section(compared: Compared) -> Section | None:
    """Where a model was trained with several freshnesses."""
    fresh, k = freshness(entry_points(compared.folder)), compared.folder.cutoff
    picture = freshness_picture(fresh, k)
    return Section.of("fresh", "Freshness", picture, freshness_table(fresh, k)) if picture else None


def freshness_picture(found: Sequence[SweepPoint], k: int) -> Picture | None:
    """One line per model, freshest on the left; nothing where no model was trained with several freshnesses."""
    key = f"P@{k}"
    names = dict.fromkeys(one.curve for one in found)
    lines = {name: [one for one in found if one.curve == name and key in one.found] for name in names}
    lines = {name: ones for name, ones in lines.items() if len({one.found[FRESHNESS] for one in ones}) > 1}
    if not lines:
        return None
    styles = curve_styles(list(lines))
    with canvas("freshness", 3.4, styles) as made:
        for name, ones in lines.items():
            plot_points(made.axes, ones, NORMALISED, key, **styles[name])
            for one in ones:
                note(made.axes, one.found[NORMALISED], one.found[key], one.clients)
        logarithmic(made.axes, "x")
        made.axes.invert_xaxis()
        along = "normalised freshness: models delivered in an epoch / training rows"
        made.axes.set(xlabel=along, ylabel=f"{key}: {title(key)}", ylim=(0, None))
        made.axes.margins(x=0.05, y=0.15)
    said = "; ".join(
        f"{name}: " + ", ".join(f"{one.clients} clients {number_at(one, key)}" for one in ones)
        for name, ones in lines.items()
    )
    return made.picture(
        f"{key} against freshness",
        "The number at a point is the clients in a round. On the left every client trains on a fresh model, on "
        "the right all of them work on the same one (FPL, long version, eq. 11).",
        f"{key} by clients in a round: {said}.",
    )


def freshness_table(found: Sequence[SweepPoint], k: int) -> ReportTable | None:
    """How fresh the models were, and what they scored."""
    if not found:
        return None
    keys = [key for key in (f"P@{k}", f"R@{k}", f"IC@{k}") if any(key in one.found for one in found)]
    digits = {key: decimals_for([one.found.get(key) for one in found]) for key in keys}
    rows = (
        (
            *(one.label, one.clients, one.found[FRESHNESS]),
            TableCell(one.found[NORMALISED], f"{one.found[NORMALISED]:.3g}"),
            *((one.found.get(key), digits[key]) for key in keys),
        )
        for one in found
    )
    heads = [
        *(NAME, Column("clients", "in a round")),
        Column("freshness", "updated models delivered in an epoch"),
        Column("normalised", "over the models of sequential training"),
        *(Column(key, title(key)) for key in keys),
    ]
    return plain_table("freshness", "Freshness and accuracy", heads, rows)


NEAR = 0.95  # of the best value


@dataclass(frozen=True, eq=False)
class ConvergenceCurve:
    """What one configuration scored after so many rounds.

    Rounds of communication until a federation comes near its best (Ferrara's thesis, 4.4.3): one line per
    trial.

    A trial that is scored on the validation part after every epoch leaves a curve. Where its row states how
    many rounds an epoch has, the curve is one over rounds; of those rounds one can say what they cost a client.
    """

    label: str
    clients: str  # in a round, as they were set
    triples: str  # of a visit, as they were set
    rounds: Longs  # (epochs,)
    value: Floats  # (epochs,)

    @property
    def best(self) -> float:
        """The highest value there was; epochs after a divergence have none."""
        return float(np.nanmax(self.value))

    def rounds_to(self, target: float) -> int | None:
        """The first rounds after which the value is at least the target; None: never."""
        reached = np.flatnonzero(self.value >= target)
        return int(self.rounds[reached[0]]) if len(reached) else None


def convergence(tried: Sequence[Trial]) -> list[ConvergenceCurve]:
    """The trials that have a curve and say how many rounds an epoch has."""
    found = []
    for one in tried:
        length = one.settings.get("rounds_per_epoch")
        if not np.isnan(one.curve).all() and isinstance(length, int):
            rounds: Longs = length * np.arange(1, len(one.curve) + 1)
            clients, triples = (str(one.settings.get(key, "")) for key in ("clients", "triples"))
            found.append(ConvergenceCurve(one.row, clients, triples, rounds, np.array(one.curve)))
    return found


def convergence_section(tried: Sequence[Trial], metric: str) -> Section | None:
    """How fast the rows of an experiment come near their best, where its trials have curves."""
    found = convergence(tried)
    if not found:
        return None
    parts = convergence_picture(found, metric), convergence_table(found, metric)
    return Section.of("convergence", "Rounds to come near the best", *parts)


def convergence_picture(found: Sequence[ConvergenceCurve], metric: str) -> Picture:
    """The value after so many rounds, which count logarithmically."""
    styles = curve_styles([one.label for one in found])
    with canvas("convergence", curve_height(styles), styles) as made:
        for one in found:
            made.axes.plot(one.rounds, one.value, zorder=3, markevery=0.1, **styles[one.label])
        logarithmic(made.axes, "x")
        made.axes.set(xlabel="rounds", ylabel=metric, ylim=(0, None))
    return made.picture(
        f"{metric} over rounds",
        f"{metric} on the validation part after so many rounds, one seed.",
        f"Best {metric}: {'; '.join(f'{one.label} {one.best:.4f}' for one in found)}.",
    )


def convergence_table(found: Sequence[ConvergenceCurve], metric: str) -> ReportTable:
    """The rounds to 95 % of a row's own best value, and to 95 % of the best of all rows."""
    highest, near = max(one.best for one in found), f"{100 * NEAR:.0f} %"
    own, common = f"rounds to {near} of its best", f"rounds to {near} of the best row"
    clients = Column("clients", "in a round, as they were set")
    heads: list[str | Column] = ["row", clients, Column("T"), f"best {metric}", "rounds made", own, common]
    rows = []
    for one in found:
        rounds = (one.rounds_to(NEAR * value) for value in (one.best, highest))
        rows.append((one.label, one.clients, one.triples, (one.best, 4), int(one.rounds[-1]), *rounds))
    note = f"{metric} on the validation part, one seed, scored after every epoch; a dash: not reached."
    return plain_table("convergence", "Rounds to come near the best", heads, rows, note)
