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
    "sfpl": "fpl_presets:SFPL",
    "sfpl+": "fpl_presets:SFPLPlus",
    "pfpl": "fpl_presets:PFPL",
    "pfpl+": "fpl_presets:PFPLPlus",
    "cfpl": "fpl_presets:CFPL",
    "fcf": "fcf_presets:FCFBaseline",
    "fcf-paper": "fcf_presets:FCFPublished",
    "fedsplit": "fedsplit_presets:FedSplitPrinted",
    "cnmf-groups": "fedsplit_presets:GroupsAlone",
    "fedsplit-ridge": "fedsplit_presets:FedSplitRidge",
    "fedsplit-svd": "fedsplit_presets:FedSplitOfVectors",
    "co-statistics": "fedsplit_presets:CoStatisticsOfGroups",
    "item-means": "fedsplit_presets:ItemMeansOfGroups",
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
