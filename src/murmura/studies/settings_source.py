"""Where the settings of a comparison came from, where nobody gave or searched them: the rule from sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from murmura.engine.run import Run
from murmura.runs.comparison import RULE
from murmura.studies.size_rule import Sizes


def record_rule(run: Run, labels: Sequence[str], sizes: Sizes) -> None:
    """Keep whose settings are the rule's; nothing where nobody's are."""
    if labels:
        run.write_json(RULE, {"by rule": list(labels), "sizes": asdict(sizes)})


def rule_sentence(found: dict[str, Any]) -> str:
    """What a reader must know of such settings, from what a folder keeps; "" of nothing."""
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
