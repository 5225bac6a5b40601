"""How many examples a property is tried on: HYPOTHESIS_PROFILE says it for all of them at once."""

import os
from typing import Any

from hypothesis import settings

# The same examples on every machine, however slow it is; only `new` draws others every time.
EXAMPLES = {"quick": 10, "daily": 25, "all": 100, "new": 100}
CHOSEN = os.environ.get("HYPOTHESIS_PROFILE", "daily")


def load_profile() -> None:
    for name, count in EXAMPLES.items():
        settings.register_profile(name, derandomize=name != "new", deadline=None, max_examples=count)
    settings.load_profile(CHOSEN)


def examples(part: float = 1.0, **named: Any) -> settings:
    """As many examples as the profile has, times `part`: less where one is dear, more where much can differ."""
    return settings(max_examples=max(1, round(EXAMPLES[CHOSEN] * part)), **named)
