"""Device policy: why the owner of a device would not take part in a round that is otherwise in order."""

from __future__ import annotations

from murmura.core.consent import Permission
from murmura.device.storage import DeviceMemory, Identity
from murmura.wire.manifest import Manifest


def objection(own: Identity, memory: DeviceMemory, allowed: Permission, manifest: Manifest) -> str | None:
    """The reason, in one clause; None: there is none."""
    least = min(own.terms.minimum, manifest.called)
    if least < own.minimum:
        return f"the round may release a sum of {least} devices, but this one wants at least {own.minimum}"
    if manifest.hold + manifest.spread >= manifest.deadline - manifest.opened:
        return "the round asks to be answered after it is over"
    for label in own.disallowed.values():
        return f"{label}, and this device does not allow that"
    return _of_noise(own, memory, allowed, manifest)


def _of_noise(own: Identity, memory: DeviceMemory, allowed: Permission, manifest: Manifest) -> str | None:
    noise = own.terms.noise
    if allowed.epsilon is None and allowed.release_epsilon is None:
        return None
    if not noise:
        return "no noise is added to the sums, and this device asks for a bound on what they reveal"
    if allowed.release_epsilon is not None and noise.epsilon > allowed.release_epsilon:
        return (
            f"noise bounds what the federation reveals to epsilon {noise.epsilon:g} only, but this device asks "
            f"for {allowed.release_epsilon:g}"
        )
    again = memory.pending is not None and memory.pending.manifest == manifest.hash.hex()
    after = (memory if again else memory.spending(noise.of_phase(manifest.phase))).epsilon(noise.delta)
    if allowed.epsilon is not None and after > allowed.epsilon:
        return f"this upload would bring epsilon to {after:.3g}, but {allowed.epsilon:g} is allowed in all"
    return None
