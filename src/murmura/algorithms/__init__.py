"""Federated methods, a folder per paper, and the names they have on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from murmura.core.plugins import Registry

if TYPE_CHECKING:
    from murmura.algorithms.preset import Preset


def _preset(name: str, found: object) -> Preset | None:
    """A preset as it is, or the neutral one of an algorithm that can be made."""
    from dataclasses import is_dataclass, replace
    from inspect import isabstract

    from murmura.algorithms.preset import Preset, neutral
    from murmura.core.contract import Algorithm

    if isinstance(found, Preset):
        return found if found.name == name else replace(found, name=name)
    if not (isinstance(found, type) and issubclass(found, Algorithm) and is_dataclass(found)):
        return None
    return None if isabstract(found) else neutral(name, found)


# a new method of ours adds a row and inherits the conformance kit; other packages register an entry point
ALGORITHMS: Registry[Preset] = Registry(
    kind="federated method",
    group="murmura.algorithms",
    built_in={
        "sfpl": "murmura.algorithms.fpl.fpl:SFPL",
        "sfpl+": "murmura.algorithms.fpl.fpl:SFPL_PLUS",
        "pfpl": "murmura.algorithms.fpl.fpl:PFPL",
        "pfpl+": "murmura.algorithms.fpl.fpl:PFPL_PLUS",
        "cfpl": "murmura.algorithms.fpl.fpl:CFPL",
        "dp-cfpl": "murmura.algorithms.fpl.fpl:DP_CFPL",
        "fcf": "murmura.algorithms.fcf.fcf:FCF_BASELINE",
        "fcf-paper": "murmura.algorithms.fcf.fcf:FCF_PAPER",
        "kgflex": "murmura.algorithms.kgflex.kgflex:KGFLEX",
        "ckgflex": "murmura.algorithms.kgflex.kgflex:CKGFLEX",
        "kgflex-hybrid": "murmura.algorithms.kgflex.hybrid:KGFLEX_HYBRID",
        "fedavg": "murmura.lab.classification.fedavg:FEDAVG",
        "fedsplit": "murmura.algorithms.fedsplit.fedsplit:FEDSPLIT",
        "cnmf-groups": "murmura.algorithms.fedsplit.fedsplit:CNMF_GROUPS",
        "fedsplit-ridge": "murmura.algorithms.fedsplit.fedsplit:FEDSPLIT_RIDGE",
        "fedsplit-svd": "murmura.algorithms.one_shot.co_statistics:FEDSPLIT_SVD",
        "co-statistics": "murmura.algorithms.one_shot.co_statistics:CO_STATISTICS",
        "item-means": "murmura.algorithms.one_shot.ridge_rater:ITEM_MEANS",
        "fedmf": "murmura.lab.rivals.federated.fedmf:FEDMF",
        "fedmf-bce": "murmura.lab.rivals.federated.pfedrec:FEDMF_BCE",
        "colr": "murmura.lab.rivals.federated.colr:COLR",
        "fedncf": "murmura.lab.rivals.federated.fedncf:FEDNCF",
        "fedrap": "murmura.lab.rivals.federated.fedrap:FEDRAP",
        "fedrec": "murmura.lab.rivals.federated.fedrec:FEDREC",
        "fedrecon": "murmura.lab.rivals.federated.fedrecon:FEDRECON",
        "gpfedrec": "murmura.lab.rivals.federated.gpfedrec:GPFEDREC",
        "pfedrec": "murmura.lab.rivals.federated.pfedrec:PFEDREC",
        "fed-ease": "murmura.algorithms.cooccurrence.presets:FED_EASE",
        "fed-mostpop": "murmura.algorithms.cooccurrence.presets:FED_MOSTPOP",
        "fed-order": "murmura.algorithms.cooccurrence.presets:FED_ORDER",
        "fed-neighbours": "murmura.algorithms.neighbours.fed_neighbours:FED_NEIGHBOURS",
        "fed-item-knn": "murmura.algorithms.cooccurrence.presets:FED_ITEM_KNN",
    },
    wanted="an Algorithm class under @settings that implements its whole contract, or a Preset",
    read=_preset,
)


def algorithm(name: str) -> Preset:
    """The preset behind a name on the command line: `algorithm("sfpl")(pi=0.9)`."""
    return ALGORITHMS.get(name)
