"""What the folder of a sweep says of itself: the setting, its values, and which entries make a curve."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from murmura.core.errors import RunError
from murmura.engine.run import Run
from murmura.runs.parts import printable

FILE = "sweep.json"


@dataclass(frozen=True)
class Sweep:
    """What is varied: the setting, its values, and the entries of a comparison that make each curve."""

    key: str
    values: tuple[Any, ...]
    curves: dict[str, tuple[str, ...]]  # model -> the labels of its entries, in the order of the values
    beside: tuple[str, ...] = ()  # models that do not have the setting, run once: horizontal lines

    def place(self, label: str) -> tuple[str, Any]:
        """The curve an entry is of, and its value; the label itself and None for one beside the curves."""
        for curve, labels in self.curves.items():
            if label in labels:
                return curve, self.values[labels.index(label)]
        return label, None


def write_sweep(whole: Run, what: Sweep) -> None:
    """Say in a comparison's folder which entries make a curve."""
    whole.write_json(FILE, asdict(what))


def read_sweep(run: Run, labels: Collection[str]) -> Sweep | None:
    """What a folder with these entries sweeps; None where it is an ordinary comparison."""
    if not run.has(FILE):
        return None
    found = run.read(FILE)
    try:
        curves = {printable(name): tuple(map(printable, own)) for name, own in found["curves"].items()}
        curves = {name: own for name, own in curves.items() if {*own} & {*labels}}
        beside = tuple(label for label in map(printable, found["beside"]) if label in labels)
        return Sweep(str(found["key"]), tuple(found["values"]), curves, beside)
    except (KeyError, TypeError, AttributeError):
        raise RunError(f"{run.path / FILE} is damaged: run the sweep again with the same --out.") from None


def entry_label(label: str, key: str, value: Any) -> str:
    """The label of one entry: `sfpl+ pi=0.3`."""
    return f"{label} {key}={value_text(value)}"


def value_text(value: Any) -> str:
    """A value as it is shown: 0.3, 500, all."""
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def mean(found: list[dict[str, float | None]]) -> dict[str, float | None]:
    """Key by key, over seeds; None where a metric is not defined."""
    means: dict[str, float | None] = {}
    for key in dict.fromkeys(key for one in found for key in one):
        known = [value for one in found if (value := one.get(key)) is not None]
        means[key] = math.fsum(known) / len(known) if known else None
    return means
