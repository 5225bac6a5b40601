"""Which order of a person's rows methods saw, real times or whole days, and what the difference says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, get_args

from murmura.core.errors import SettingError
from murmura.data.splits.temporal import Order
from murmura.engine.run_folder import Run
from murmura.studies.compare.folder import ORDER
from murmura.studies.methods import method

if TYPE_CHECKING:
    from murmura.studies.compare.run import ComparisonEntry


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
    uses = f"{who} {'uses' if len(labels) == 1 else 'use'} the order in which people had their items"
    if found.get("order") == "day":
        return (
            f"{uses}, and saw whole days (UTC): what came first inside a day was hidden from training and "
            "ranking alike. The split was made with real times."
        )
    worth = (
        "what real times give beyond whole days comes from the order inside a day, which in data of people "
        "who enter many items in one sitting says more about the sitting than about what they will like"
    )
    if both:
        return f"{uses}. The split is the same for both orders; {worth}."
    return f"{uses}, and saw real times; --order real,day shows both: {worth}."
