"""Centralised methods, one file each: the twins and rivals of the federated ones."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING

from murmura.core.errors import SettingError

if TYPE_CHECKING:
    from murmura.baselines.base import Baseline

# name on the command line -> module and class; a new baseline adds one row and inherits every test
BASELINES: dict[str, str] = {
    "random": "random:Random",
    "mostpop": "mostpop:MostPop",
    "user-knn": "user_knn:UserKnn",
    "item-knn": "item_knn:ItemKnn",
    "ease": "ease:Ease",
    "ials": "ials:Ials",
    "bpr-mf": "bpr_mf:BprMf",
    "mf": "mf:Mf",
    "cnmf": "cnmf:Cnmf",
    "multvae": "multvae:MultVae",
    "neumf": "neumf:NeuMf",
}


def baseline(name: str) -> type[Baseline]:
    """The class behind a name on the command line."""
    if name not in BASELINES:
        near = difflib.get_close_matches(name, BASELINES, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"it is one of {', '.join(BASELINES)}."
        raise SettingError(f"there is no model '{name}': {hint}")
    module, _, cls = BASELINES[name].partition(":")
    found: type[Baseline] = getattr(import_module(f"murmura.baselines.{module}"), cls)
    return found
