"""Every attack by its name on the command line, in the order in which they are made.

docs/audit.md describes each under the same name; a test refuses an attack without a description.
"""

from __future__ import annotations

from murmura.core.contract import Algorithm
from murmura.core.errors import SettingError
from murmura.core.plugins import unknown_name
from murmura.lab.audits import fedsplit_updates, individual_updates, poisoning_attacks
from murmura.lab.audits.attack import Attack
from murmura.lab.audits.sums import canaries, matched_filters

KINDS = (individual_updates, fedsplit_updates, matched_filters, canaries, poisoning_attacks)
ATTACKS: dict[str, Attack] = {one.name: one for kind in KINDS for one in kind.ATTACKS}


def attack(name: str) -> Attack:
    """The attack of that name."""
    if name not in ATTACKS:
        raise SettingError(unknown_name("attack", name, tuple(ATTACKS)))
    return ATTACKS[name]


def attacks_on(algorithm: Algorithm, sums: bool = False) -> tuple[Attack, ...]:
    """Every attack that fits the updates of an algorithm; without any, or if `sums` are read, on sums.

    An adversary who reads single updates has no use for their sums.
    """
    fitting = [found for found in ATTACKS.values() if found.fits(algorithm)]
    single = [found for found in fitting if found.reads == "updates"]
    return tuple(found for found in fitting if found.reads == "sums") if sums or not single else tuple(single)
