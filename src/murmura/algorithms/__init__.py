"""Federated methods, one file per paper, and the names they have on the command line."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING

from murmura.core.errors import SettingError

if TYPE_CHECKING:
    from murmura.algorithms.preset import Preset

# name on the command line -> module and preset; a new method adds a row and inherits the conformance kit
ALGORITHMS: dict[str, str] = {
    "sfpl": "fpl.presets:SFPL",
    "sfpl+": "fpl.presets:SFPLPlus",
    "pfpl": "fpl.presets:PFPL",
    "pfpl+": "fpl.presets:PFPLPlus",
    "cfpl": "fpl.presets:CFPL",
    "fcf": "fcf.presets:FCFBaseline",
    "fcf-paper": "fcf.presets:FCFPublished",
    "fedsplit": "fedsplit.presets:FedSplitPrinted",
    "cnmf-groups": "fedsplit.presets:GroupsAlone",
    "fedsplit-ridge": "fedsplit.presets:FedSplitRidge",
    "fedsplit-svd": "fedsplit.presets:FedSplitOfVectors",
    "co-statistics": "fedsplit.presets:CoStatisticsOfGroups",
    "item-means": "fedsplit.presets:ItemMeansOfGroups",
}


def algorithm(name: str) -> type[Preset]:
    """The settings class behind a name on the command line."""
    if name not in ALGORITHMS:
        near = difflib.get_close_matches(name, ALGORITHMS, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"it is one of {', '.join(ALGORITHMS)}."
        raise SettingError(f"there is no federated method '{name}': {hint}")
    module, _, cls = ALGORITHMS[name].partition(":")
    found: type[Preset] = getattr(import_module(f"murmura.algorithms.{module}"), cls)
    return found
