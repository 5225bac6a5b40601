"""Where the settings of a comparison came from: kept for the data, or where none are, the rule from sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from murmura.core.channel import ChannelSettings
from murmura.engine.run import Run
from murmura.runs.comparison import RULE
from murmura.studies.size_rule import Sizes

if TYPE_CHECKING:
    from murmura.studies.compare import Comparison


def source_of_settings(ruled: Sequence[str], few: Sequence[str], sizes: Sizes) -> dict[str, Any]:
    """Whose settings are the rule's, and whose sums are of few people; {} where nobody's are."""
    kept = {"by rule": list(ruled), "few": list(few)}
    told = {key: labels for key, labels in kept.items() if labels}
    return {**told, "sizes": asdict(sizes)} if told else {}


def record_rule(run: Run, source: dict[str, Any]) -> None:
    """Keep where settings came from; nothing where they were given."""
    if source:
        run.write_json(RULE, source)


def rule_sentence(found: dict[str, Any]) -> str:
    """What a reader must know of such settings, from what a folder keeps; "" of nothing."""
    return " ".join(filter(None, (_ruled(found), _few(found))))


def _few(found: dict[str, Any]) -> str:
    labels, users = [str(label) for label in found.get("few") or ()], (found.get("sizes") or {}).get("users")
    if not labels:
        return ""
    least = ChannelSettings().minimum_cohort
    return (
        f"Simulated among {users} people: {', '.join(labels)}. A federation of devices releases no sum of "
        f"fewer than {least} by default (minimum_cohort)."
    )


def _ruled(found: dict[str, Any]) -> str:
    labels = [str(label) for label in found.get("by rule") or ()]
    if not labels:
        return ""
    sizes = found.get("sizes") or {}
    known = {key: sizes.get(key) for key in ("users", "items", "rows")}
    counts = ", ".join(f"{count:,} {key}" for key, count in known.items() if isinstance(count, int))
    return (
        f"Settings by rule from sizes ({counts}): {', '.join(labels)}. None are kept for this data; "
        "they were not chosen on it, and murmura search may find better ones."
    )


def left_in_place(plan: Comparison) -> list[str]:
    """A line for each model of which some settings were given: which tuned ones stay beside them."""
    told = []
    for entry in plan.entries:
        if entry.own and entry.usual:
            given, stay = (
                ", ".join(f"{key}={value}" for key, value in some.items()) for some in (entry.own, entry.usual)
            )
            source = "given by the rule from sizes" if entry.by_rule else "tuned for this data"
            told.append(f"{entry.label}: {given} is yours; {stay} stay as {source}. -S changes them too.")
    return told
