"""Every attack by its name on the command line: a new one is one class and one row here.

docs/audit.md describes each under the same name; a test refuses a row without a description.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from murmura.core.errors import SettingError
from murmura.core.plugins import unknown_name

if TYPE_CHECKING:
    from murmura.audit.attack import Attack

ATTACKS: dict[str, str] = {
    "fedsplit-items": "fedsplit.items:FedSplitItems",
    "fedsplit-learned": "fedsplit.learned_items:FedSplitLearned",
    "fedsplit-members": "fedsplit.items:FedSplitMembers",
    "fedsplit-ratings": "fedsplit.group_ratings:FedSplitRatings",
    "fedsplit-svd-ratings": "fedsplit.svd_ratings:FedSplitSvdRatings",
    "fpl-signs": "fpl:FplSigns",
    "fpl-absence": "fpl:FplAbsence",
    "fpl-inversion": "fpl:FplInversion",
    "fpl-residuals": "fpl:FplResiduals",
}


def attack(name: str) -> Attack:
    """The attack of that name."""
    if name not in ATTACKS:
        raise SettingError(unknown_name("attack", name, tuple(ATTACKS)))
    module, _, cls = ATTACKS[name].partition(":")
    found: Attack = getattr(import_module(f"murmura.audit.{module}"), cls)()
    return found


def attacks_on(algorithm: str) -> tuple[Attack, ...]:
    """Every attack against the updates of an algorithm."""
    return tuple(found for found in map(attack, ATTACKS) if algorithm in found.against)
