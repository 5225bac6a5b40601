"""What a reader must know beside the numbers: the order that was seen, whose settings, who is exposed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

import yaml

from murmura.algorithms.cooccurrence.cooccurrence import RARE, SAFE
from murmura.channel.ledger import EXPOSED
from murmura.core.channel import ChannelSettings
from murmura.core.errors import SettingError
from murmura.data.splits.temporal import Order
from murmura.engine.run_folder import Run
from murmura.studies.compare.folder import ORDER
from murmura.studies.methods import method

if TYPE_CHECKING:
    from murmura.studies.compare.comparison_plan import Comparison, ComparisonEntry


def parse_orders(text: str) -> tuple[Order, ...]:
    """`real`, `day` or `real,day`; nothing given: none, which leaves the protocol as it is."""
    found: tuple[Order, ...] = tuple(one for one in get_args(Order) if one in text.split(","))
    if ",".join(found) != text:
        raise SettingError(f"--order must be real, day or real,day, but it is '{text}'.")
    return found


def order_users(entries: Iterable[ComparisonEntry]) -> list[str]:
    """The labels of the entries whose methods use the order of a person's rows."""
    return [entry.label for entry in entries if method(entry.model, entry.settings).uses_order]


def record_order(run: Run, labels: Sequence[str], order: Order) -> None:
    """Keep which order was seen; nothing where nobody uses it."""
    if labels:
        run.write_json(ORDER, {"order": order, "used by": list(labels)})


def order_sentence(found: dict[str, Any], both: bool = False) -> str:
    """What a reader must know of the order behind the results, from what a folder keeps; "" of nothing."""
    if not found.get("used by"):
        return ""
    labels = [str(label) for label in found["used by"]]
    who = labels[0] if len(labels) == 1 else ", ".join(labels[:-1]) + " and " + labels[-1]
    uses = f"{who} {'uses' if len(labels) == 1 else 'use'} timestamps"
    if found.get("order") == "day":
        hidden = "the order inside a day was hidden from training and ranking"
        return f"{uses}, cut to whole days (UTC): {hidden}. The split was made with real times."
    if both:
        more = "Where real times score higher than whole days, part of the score may be session order."
        return f"{uses}. The split is the same for both orders. {more}"
    session = "If users rated many items in one session, part of this score may be session order"
    return f"{uses}. {session}: check with --order real,day."


def rule_sentence(found: dict[str, Any]) -> str:
    """What a reader must know of such settings, from what a folder keeps; "" of nothing."""
    sizes = found.get("sizes") or {}
    from_rule, few = (", ".join(map(str, found.get(key) or ())) for key in ("by rule", "few"))
    messages = []
    if from_rule:
        known = {key: sizes.get(key) for key in ("users", "items", "rows")}
        counts = ", ".join(f"{count:,} {key}" for key, count in known.items() if isinstance(count, int))
        messages.append(
            f"Settings by rule from sizes ({counts}): {from_rule}. None are kept for this data; "
            "they were not chosen on it, and murmura search may find better ones."
        )
    if few:
        messages.append(
            f"Simulated among {sizes.get('users')} people: {few}. A federation of devices releases no sum of "
            f"fewer than {ChannelSettings().minimum_cohort} by default (minimum_cohort)."
        )
    return " ".join(messages)


def left_in_place(plan: Comparison) -> list[str]:
    """A line for each model of which some settings were given: which tuned ones stay beside them."""
    messages = []
    for entry in plan.entries:
        if entry.given and entry.default:
            given, stay = (
                ", ".join(f"{key}={some[key]}" for key in some) for some in (entry.given, entry.default)
            )
            source = "given by the rule from sizes" if entry.from_size_rule else "tuned for this data"
            messages.append(f"{entry.label}: {given} is yours; {stay} stay as {source}. -S changes them too.")
    return messages


def cautions(plan: Comparison, costs: Mapping[str, Mapping[str, float | None]]) -> str:
    """One line under the table: what to know before citing it. The report has a sentence on each."""
    source, drawn = plan.settings_source, plan.prepared.protocol.sampled
    exposed = {label: values[EXPOSED] for label, values in costs.items() if values.get(EXPOSED)}
    people = [f"{label}: {_plain(count)}" for label, count in exposed.items() if count]
    found = {
        "sampled metrics": [f"{drawn.count:,} drawn items"] if drawn else [],
        "timestamps": order_users(plan.entries),
        "settings by size": source.get("by rule") or (),
        f"fewer than {ChannelSettings().minimum_cohort} people": source.get("few") or (),
        "edge of a search": published_on_edges(plan),
        "people exposed without noise": people,
    }
    said = [f"{what} ({_first(who)})" for what, who in found.items() if who]
    return f"Note: {'; '.join(said)}. The report explains." if said else ""


def _first(names: Sequence[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def published_on_edges(plan: Comparison) -> list[str]:
    """The labels whose published settings won on the edge of their grid."""
    from murmura.studies.search.space import edges

    grids = (_published_grids().get(plan.prepared.protocol.name) or {}).get(plan.prepared.data) or {}
    return [
        entry.label
        for entry in plan.entries
        if (axes := grids.get(entry.model) or {})
        and not entry.from_size_rule
        and edges(entry.model, entry.default, axes)
    ]


@cache
def _published_grids() -> dict[str, Any]:
    """The grids behind the settings the package keeps: protocol -> data -> model -> axes."""
    from murmura.studies.configuration import experiment_folder

    values = yaml.safe_load((experiment_folder() / "defaults.yaml").read_text("utf-8"))
    return dict(values["grids"])


def exposure_sentence(costs: Mapping[str, Mapping[str, float | None]]) -> str:
    """Which of the models tell on people, with the numbers their releases gave; "" where none does.

    `costs` has the values beside accuracy by the model's label, means over seeds.
    """
    messages = []
    for label, values in costs.items():
        rare, exposed = values.get(RARE), values.get(EXPOSED)
        if not exposed:
            continue
        whose = "1 person" if exposed == 1 else f"any of {_plain(exposed)} people"
        few = f" (items with fewer than {SAFE} owners take part: {_plain(rare)})" if rare else ""
        messages.append(
            f"The release of {label} has no noise: who knows the rarest item in it of {whose} learns "
            f"another one for certain{few}."
        )
    return " ".join(messages)


def _plain(mean: float) -> str:
    return f"{mean:,.1f}".removesuffix(".0")
