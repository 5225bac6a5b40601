"""What attacks on the updates found: of one audit beside attackers who read none, of several side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from murmura.evaluation.significance import Interval
from murmura.lab.audits.attributes import GUESSED
from murmura.lab.audits.audit import EPSILON, HINTS, Audit, read_audits
from murmura.lab.audits.judge import FALSE_ALARMS
from murmura.lab.audits.model_extraction import COPIED
from murmura.report import drawing
from murmura.report.page import Compared, Section, words
from murmura.report.sections.metrics import scatter, upwards
from murmura.report.summary import Results, is_number
from murmura.report.table import MISSING, NONE, ReportTable, TableCell, plain_table

REFERENCES = ("popularity", "random")
KNOWN = (0.0, 0.05, 0.25)  # shares of the single ratings
SENT = "kB up/client"
HEIGHT, PANELS = 3.4, 4  # of accuracy against figures
# found by who reads nothing
NOTHING = {"pm-AUC": Interval(0.5), "AUC": Interval(0.5), EPSILON: Interval(0.0), COPIED: MISSING}
SHOWN = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)  # shares of hints in the table; the plot has all
WORDS = words("audits")
GUESSES: dict[str, str] = WORDS["guesses"]
TITLES: dict[str, str] = WORDS["titles"]
CURVE_HEIGHT = 3.0


def section(compared: Compared) -> Section | None:
    """Where the updates were attacked."""
    found = read_audits(compared.folder.run)
    return audit_section(found, compared) if found else None


def audit_section(found: Mapping[str, Audit], compared: Compared) -> Section | None:
    """One audit with all it says, or several side by side."""
    title = "What updates give away"
    if len(found) > 1:
        results = compared.results
        parts = audited_entries_picture(found, results), audited_entries_table(found, results)
        return Section.of("audit", title, *parts)
    ((label, one),) = found.items()
    title = title if label == one.method else f"{title}: {label}"
    tables = findings_table(one), presence_table(one), hints_table(one), poisoning_table(one)
    return Section.of("audit", title, roc_picture(one), hints_picture(one), *tables)


@dataclass(frozen=True)
class AuditFigure:
    """One figure of an audit, under its column's heading."""

    meaning: str
    value: Interval  # what the attacker has; not a number where the attack does not apply
    without: Interval  # what somebody has who reads no update
    attack: str = ""  # what was done
    drawn: bool = True


def audit_figures(audit: Audit) -> dict[str, AuditFigure]:
    """The figures of attacks on items, and of that on ratings with a share of them known."""
    made: dict[str, AuditFigure] = {}
    for one in audit.findings:
        if one.attack not in REFERENCES:
            measure, meaning = next(main for main in WORDS["main"].items() if main[0] in one.values)
            figure = AuditFigure(meaning, one.values[measure], NOTHING[measure], f"{one.attack}: {one.title}.")
            made.setdefault(f"{one.attack} {measure}", figure)
    for share in KNOWN if audit.points else ():
        known = [one for one in audit.points if one.kind == "ratings" and math.isclose(one.share, share)]
        exact = {one.attack != HINTS: one.values["exact/unknown"] for one in reversed(known)}
        meaning = "unknown ratings guessed to the star, when so many single ones are known"
        values = exact.get(True, MISSING), exact.get(False, MISSING)
        made[f"exact, {100 * share:.0f} % known"] = AuditFigure(meaning, *values, drawn=share == KNOWN[1])
    return made


def every_figure(found: Mapping[str, Audit]) -> dict[str, AuditFigure]:
    """Those of all audits, attacks on items first; what is known without one is that of the largest audit."""
    every = {
        name: one for audit in (*found.values(), _largest(found)) for name, one in audit_figures(audit).items()
    }
    return dict(sorted(every.items(), key=lambda one: not one[1].attack))


def _largest(found: Mapping[str, Audit]) -> Audit:
    return max(found.values(), key=lambda audit: len(audit.points))


def audited_entries_table(found: Mapping[str, Audit], results: Results) -> ReportTable:
    """A row for each entry: how well it predicts, what it sends, and every figure."""
    keys, figures = [*_accuracy(results), SENT], every_figure(found)
    lines = {line.label: line.values for line in results.lines}
    rows: list[Sequence[Any]] = []
    for label, audit in found.items():
        known = ((lines.get(label, {}).get(key, MISSING).mean, 3) for key in keys)
        own = audit_figures(audit)
        rows.append((label, *known, *(own[name].value if name in own else MISSING for name in figures)))
    rows.append(("no update read", *(None for _ in keys), *(one.without for one in figures.values())))
    notes = [one.attack for one in figures.values() if one.attack]
    seeds = seeds_sentence(_largest(found))
    notes.append(f"Means with 95 % bootstrap intervals over clients; {seeds}.")
    notes += [f"{label}: {said}" for label, audit in found.items() for said in _summed(audit)]
    heads = {"model": "", **dict.fromkeys(keys, ""), **{name: one.meaning for name, one in figures.items()}}
    title = "How well it predicts, and what its updates give away"
    return plain_table("audit", title, heads, rows, *notes)


def _summed(audit: Audit) -> list[str]:
    """What a reader must know where single updates were attacked that nobody can read."""
    return [WORDS["summed"]] if audit.summed and not audit.read_sums else []


def audited_entries_picture(found: Mapping[str, Audit], results: Results) -> drawing.Picture | None:
    """Accuracy against the figures, one panel each."""
    lines = []  # with what was found among their values
    for line in results.lines:
        if audit := found.get(line.label):
            own = {name: one.value for name, one in audit_figures(audit).items()}
            lines.append(replace(line, values=line.values | own))
    shown = [name for name, one in every_figure(found).items() if one.drawn][-PANELS:]
    if not (accuracy := _accuracy(results)) or len(lines) < 2 or not shown:
        return None
    keys, said = [accuracy[-1], *shown], []
    for line in lines:
        known = (f"{key} {line.values[key].mean:.3f}" for key in keys if is_number(line.values.get(key)))
        said.append(f"{line.label}: {', '.join(known)}")
    with drawing.canvas("audit-leaks", HEIGHT) as made:
        for place, (axes, name) in enumerate(zip(made.row(len(shown)), shown)):
            having = [line for line in lines if is_number(line.values.get(name))]
            scatter(axes, having, name, keys[0], name_y=place == 0)
    return made.picture(
        f"{keys[0]} against what updates give away",
        f"{upwards(keys[0])}, left gives away less. A pm-AUC of .5 is nothing beyond what is popular.",
        "; ".join(said) + ".",
    )


def _accuracy(results: Results) -> list[str]:
    """The errors over groups and over ratings, or the metric the models are ordered by."""
    errors: list[str] = [key for key in ("MSE", "RMSE/ratings") if key in results.metrics]
    return errors or ([results.primary] if results.primary else [])


def findings_table(found: Audit) -> ReportTable | None:
    """Every attack, with intervals over clients."""
    about_items = [one for one in found.findings if "pm-AUC" in one.values]
    if not about_items:
        return None
    keys = about_items[0].values
    clients = "groups" if found.grouped else "people"
    rows = (
        (one.attack, f"{one.victims:,} {clients if one.of == 'client' else 'people'}", *one.values.values())
        for one in about_items
    )
    matched = min(one.matched for one in about_items)
    notes = [
        *_summed(found),
        *([WORDS["guessed"]] if any(key.endswith(GUESSED) for key in keys) else []),
        *dict.fromkeys(f"{one.attack}: {one.title}." for one in about_items),
        f"Means over {found.clients:,} clients with 95 % bootstrap intervals over clients; "
        f"{seeds_sentence(found)}. "
        f"pm-AUC leaves out items without a rival of like popularity: at most {100 * (1 - matched):.1f} %.",
    ]
    heads = {"attack": "", "victims": "", **{key: WORDS["meanings"].get(key, "") for key in keys}}
    return plain_table("audit", "What was found, beside attackers who read no update", heads, rows, *notes)


def presence_table(found: Audit) -> ReportTable | None:
    """Attacks that ask who was there: in a round, in the training, or as a canary."""
    asked = [one for one in found.findings if "pm-AUC" not in one.values]
    if not asked:
        return None
    every = {key for one in asked for key in one.values}
    heads = {key: meaning for key, meaning in WORDS["meanings of people"].items() if key in every}
    victims = [f"{one.victims:,} {WORDS['victims'][one.of]}" for one in asked]
    rows = (
        (one.attack, who, *(one.values.get(key, MISSING) for key in heads)) for one, who in zip(asked, victims)
    )
    notes = [*dict.fromkeys(f"{one.attack}: {one.title}." for one in asked), f"Of {seeds_sentence(found)}."]
    return plain_table("audit-presence", "Who was there", {"attack": "", "victims": "", **heads}, rows, *notes)


def roc_picture(found: Audit) -> drawing.Picture | None:
    """How much is found at how many false alarms, on log scales."""
    curves = {one.attack: one.roc for one in found.findings if one.of == "round" and one.roc}
    if not curves:
        return None
    styles = drawing.curve_styles(list(curves))
    with drawing.canvas("audit-roc", CURVE_HEIGHT, styles) as made:
        (axes,) = made.panels(1, 2)
        for name, points in curves.items():
            shown = [(x, y) for x, y in points if y > 0]
            axes.plot([x for x, _ in shown], [y for _, y in shown], **styles[name] | {"markersize": 3})
        axes.plot([1e-4, 1], [1e-4, 1], color="0.6", linewidth=0.8, linestyle=":")
        drawing.logarithmic(axes, "x", "y")
        axes.set(xlabel="false alarms", ylabel="found")
    said = (f"{name}: {dict(points).get(FALSE_ALARMS, 0.0):.3f}" for name, points in curves.items())
    return made.picture(
        "Rounds somebody was in, found at so many false alarms",
        "Of all rounds people were in the share that is found, against the share of other rounds that is taken "
        "for one, pooled over people. On the dotted line is a guess.",
        f"Found at 0.1 % false alarms: {'; '.join(said)}.",
    )


def hints_table(found: Audit, shares: Sequence[float] = SHOWN) -> ReportTable | None:
    """Errors of guessed ratings at some shares of hints, beside the guesses of who read no update."""
    unknown = [key for key in GUESSES if key != "error/all"]
    shown = [one for one in found.points if any(math.isclose(one.share, share) for share in shares)]
    alone = {(one.kind, one.share): one.values for one in shown if one.attack == HINTS}
    if not shown:
        return None
    rows = (
        (
            one.kind,
            TableCell(one.share, f"{100 * one.share:.0f} %"),
            *(one.values[key] for key in GUESSES),
            *(alone[one.kind, one.share][key] for key in unknown),
        )
        for one in shown
        if one.attack != HINTS
    )
    blind = {f"no update: {key.split('/')[0]}": f"{GUESSES[key]}, by who read no update" for key in unknown}
    heads = {"known": "what a share is known of", "share": "", **GUESSES, **blind}
    return plain_table("audit-ratings", "Guessed ratings, by what was known before", heads, rows)


def poisoning_table(found: Audit) -> ReportTable | None:
    """Every training with liars, beside the same one without."""
    if not found.poisonings:
        return None
    rows = []
    for one in found.poisonings:
        target = f"{one.target} ({one.owners:,} owners)" if one.target else NONE
        liars = f"{one.liars:,} of {one.clients:,}"
        rows.append((one.attack, liars, target, *(one.values[key] for key in WORDS["lies"])))
    notes = [
        *dict.fromkeys(f"{one.attack}: {one.title}." for one in found.poisonings),
        f"Means over honest people with 95 % bootstrap intervals; {seeds_sentence(found)}.",
    ]
    heads = {"attack": "", "liars": "", "target": "", **WORDS["lies"]}
    return plain_table(
        "audit-poisoning", "What malicious clients make of everybody else's lists", heads, rows, *notes
    )


def seeds_sentence(found: Audit) -> str:
    """Which seeds were trained with."""
    last = found.seed + found.seeds - 1
    return f"seed {found.seed}" if found.seeds == 1 else f"seeds {found.seed} to {last}"


def hints_picture(found: Audit) -> drawing.Picture | None:
    """A panel for each kind of hint; over all ratings as in the paper, and over the unknown ones."""
    if not found.points:
        return None
    attacks = list(dict.fromkeys(one.attack for one in found.points))
    curves = {
        "all ratings (paper)": (attacks[0], "error/all"),
        "unknown ratings": (attacks[0], "error/unknown"),
        "unknown, no update": (HINTS, "error/unknown"),
    }
    styles = drawing.curve_styles(list(curves))
    with drawing.canvas("audit-hints", CURVE_HEIGHT, styles) as made:
        row = made.row(len(TITLES))
        for axes, kind in zip(row, TITLES):
            for name, (attack, score) in curves.items():
                mine = [one for one in found.points if (one.attack, one.kind) == (attack, kind)]
                known = [(100 * one.share, one.values[score]) for one in mine if is_number(one.values[score])]
                x, errors, look = [x for x, _ in known], [one for _, one in known], styles[name]
                axes.plot(x, [one.mean for one in errors], **look | {"markersize": 3})
                ends = [one.low for one in errors], [one.high for one in errors]
                axes.fill_between(x, *ends, color=look["color"], alpha=0.15, linewidth=0)
            axes.set(title=TITLES[kind], xlabel="known before, %", ylim=(0, None))
        row[0].set_ylabel("relative error")
    half = [one for one in found.points if one.kind == "ratings" and one.share == 0.5]
    half.sort(key=lambda one: attacks.index(one.attack))
    said = (f"{one.attack} {one.values['error/unknown'].mean:.3f}" for one in half)
    return made.picture(
        "Error of guessed ratings over what was known before",
        "Relative squared error, mean over groups, with 95 % intervals over groups. The paper's figure scores "
        "all ratings, the known ones included; the other curves score only what the attacker did not know. "
        "Without an update a person is taken to rate like the mean of what is known of her.",
        f"Relative error over the unknown ratings when half of the ratings are known: {', '.join(said)}.",
    )
