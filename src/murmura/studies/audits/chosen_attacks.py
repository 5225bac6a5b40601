"""Which attacks are made on a method: those named, or all on what can be read of it."""

from __future__ import annotations

from collections.abc import Sequence

from murmura.audit.attack import Attack
from murmura.audit.registry import attack, attacks_on
from murmura.audit.sums.canaries import CanaryAudit
from murmura.core.contract import Algorithm
from murmura.core.errors import SettingError
from murmura.runtimes.simulation import FederatedMethod


def chosen_attacks(ready: FederatedMethod, names: Sequence[str]) -> list[Attack]:
    """The attacks of these names, or all that apply; refuses those against another method."""
    algorithm = ready.preset.algorithm()
    chosen = [attack(name) for name in names] or all_attacks(ready, algorithm)
    for one in chosen:
        if not attack_fits(ready, one, algorithm):
            against = ", ".join(one.against) or "methods that add rows of items up in rounds"
            raise SettingError(
                f"the attack '{one.name}' must be against {algorithm.name}, but is against {against}."
            )
    if not chosen:
        raise SettingError(f"{ready.name} must have an attack against its updates to be audited, but has none.")
    return chosen


def all_attacks(ready: FederatedMethod, algorithm: Algorithm) -> list[Attack]:
    """Every attack on what can be read; canaries only where there is a channel whose noise is its own."""
    channel = ready.preset.channel_settings()
    bare = not channel.on or channel.as_if is not None
    found = attacks_on(algorithm, reads_sums(ready))
    found = tuple(one for one in found if attack_fits(ready, one, algorithm))
    return [one for one in found if not (bare and isinstance(one, CanaryAudit))]


def attack_fits(ready: FederatedMethod, attack: Attack, algorithm: Algorithm) -> bool:
    """Whether an attack can be made; those on sums are about clients that are one person each."""
    return attack.fits(algorithm) and (attack.reads == "updates" or ready.preset.grouping() is None)


def reads_sums(ready: FederatedMethod) -> bool:
    """Whether a secure sum keeps everyone from reading single updates."""
    return ready.preset.channel_settings().channel == "secure-sum"
