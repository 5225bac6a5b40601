"""Every attack by its name on the command line: a new one is one class and one row here.

docs/audit.md describes each under the same name; a test refuses a row without a description.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from murmura.core.errors import SettingError
from murmura.core.plugins import unknown_name

if TYPE_CHECKING:
    from murmura.core.contract import Algorithm
    from murmura.lab.audits.attack import Attack

ATTACKS: dict[str, str] = {
    "fcf-items": "fcf_updates:FcfItems",
    "fedsplit-items": "fedsplit.items:FedSplitItems",
    "fedsplit-learned": "fedsplit.learned_items:FedSplitLearned",
    "fedsplit-members": "fedsplit.items:FedSplitMembers",
    "fedsplit-ratings": "fedsplit.group_ratings:FedSplitRatings",
    "fedsplit-svd-ratings": "fedsplit.svd_ratings:FedSplitSvdRatings",
    "fpl-signs": "fpl_updates:FplSigns",
    "fpl-absence": "fpl_updates:FplAbsence",
    "fpl-inversion": "fpl_updates:FplInversion",
    "fpl-residuals": "fpl_updates:FplResiduals",
    "sum-participation": "sums.participation:SumParticipation",
    "sum-matched": "sums.matched:SumMatched",
    "sum-tracing": "sums.tracing:SumTracing",
    "sum-tracing-whitened": "sums.tracing:SumTracingWhitened",
    "sybil-residual": "sums.uploads:SybilResidual",
    "co-rare-rows": "sums.rare_rows:CoRareRows",
    "co-difference": "sums.uploads:CoDifference",
    "model-membership": "sums.membership:ModelMembership",
    "canaries": "sums.canaries:CanaryAudit",
    "promotion": "poisoning.promotion:Promotion",
    "promotion-adaptive": "poisoning.promotion:AdaptivePromotion",
    "promotion-forged": "poisoning.promotion:ForgedPromotion",
    "demotion": "poisoning.demotion:Demotion",
    "demotion-adaptive": "poisoning.demotion:AdaptiveDemotion",
    "drift": "poisoning.untargeted:Drift",
    "drift-adaptive": "poisoning.untargeted:AdaptiveDrift",
    "freeze": "poisoning.untargeted:Freeze",
    "freeze-adaptive": "poisoning.untargeted:AdaptiveFreeze",
}


def attack(name: str) -> Attack:
    """The attack of that name."""
    if name not in ATTACKS:
        raise SettingError(unknown_name("attack", name, tuple(ATTACKS)))
    module, _, cls = ATTACKS[name].partition(":")
    found: Attack = getattr(import_module(f"murmura.lab.audits.{module}"), cls)()
    return found


def attacks_on(algorithm: Algorithm, sums: bool = False) -> tuple[Attack, ...]:
    """Every attack that fits the updates of an algorithm; without any, or if `sums` are read, on sums.

    An adversary who reads single updates has no use for their sums.
    """
    fitting = [found for found in map(attack, ATTACKS) if found.fits(algorithm)]
    single = [found for found in fitting if found.reads == "updates"]
    return tuple(found for found in fitting if found.reads == "sums") if sums or not single else tuple(single)
