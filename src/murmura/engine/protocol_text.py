"""A protocol as text: `NAME:KEY=VALUE,KEY=VALUE`, or `split:PATH` of files, taken apart and changed."""

from __future__ import annotations

from collections.abc import Mapping

from murmura.core.errors import SettingError

GIVEN = "split:"  # a protocol of this beginning names a split in files
CHANGES = ":"  # between a protocol's name and its settings that are others here
OWN = ("candidates", "draws", "draw_seed", "order")  # settings of a protocol itself that may be others
SPLIT = "split"  # the key of another split altogether


def parse_protocol(name: str) -> tuple[str, dict[str, str]]:
    """The name, or `split:PATH`, and what is changed; a path may have a colon of its own."""
    if name.startswith(GIVEN):
        base, _, text = name.rpartition(CHANGES)
        if base == GIVEN[:-1] or not text.startswith(tuple(f"{key}=" for key in OWN)):
            return name, {}
    else:
        base, _, text = name.partition(CHANGES)
    changes: dict[str, str] = {}
    for one in filter(None, text.split(",")):
        key, equals, value = one.partition("=")
        if not (key and equals and value):
            raise SettingError(
                f"after a protocol's name must come KEY=VALUE, but '{one}' does; write for example "
                f"{base}:candidates=99."
            )
        changes[key] = value
    return base, changes


def with_changes(name: str, changes: Mapping[str, object]) -> str:
    """The same protocol with some settings changed, in one spelling; None takes a change back."""
    base, before = parse_protocol(name)
    if base.startswith(GIVEN) and changes.get(SPLIT) is not None:
        raise SettingError(f"{base} is cut already, so --split has nothing to say; leave one of them out.")
    after = {**{key: value for key, value in before.items() if key not in changes}, **changes}
    if changes.get(SPLIT) not in (None, before.get(SPLIT)):  # another split has other settings
        after = {key: value for key, value in after.items() if key in (*OWN, SPLIT)}
    first = [SPLIT] if after.get(SPLIT) is not None else []
    kept = [key for key in dict.fromkeys((*first, *after)) if after[key] is not None]
    return base + (CHANGES + ",".join(f"{key}={after[key]}" for key in kept) if kept else "")


def with_order(name: str, order: str) -> str:
    """The same protocol with another order: `fpl` and "day" are `fpl:order=day`."""
    return with_changes(name, {"order": None if order == "real" else order})
