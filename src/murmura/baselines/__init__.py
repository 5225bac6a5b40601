"""Centralised methods, one file each: the twins and rivals of the federated ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from murmura.core.plugins import Registry

if TYPE_CHECKING:
    from murmura.baselines.base import Baseline


def _class(name: str, found: object) -> type[Baseline] | None:
    from murmura.baselines.base import Baseline

    if isinstance(found, type) and issubclass(found, Baseline) and found.name == name:
        return found
    return None


# name on the command line -> module and class; a new baseline adds one row and inherits every test
BASELINES: Registry[type[Baseline]] = Registry(
    "model",
    "murmura.baselines",
    {
        "random": "murmura.baselines.unpersonalised:Random",
        "mostpop": "murmura.baselines.unpersonalised:MostPop",
        "mostpop-by-feature": "murmura.baselines.unpersonalised:MostPopByFeature",
        "user-knn": "murmura.baselines.neighbours:UserKnn",
        "v-sknn": "murmura.baselines.neighbours:VSknn",
        "item-knn": "murmura.baselines.neighbours:ItemKnn",
        "ease": "murmura.baselines.ease:Ease",
        "rp3beta": "murmura.baselines.rp3beta:Rp3Beta",
        "ials": "murmura.baselines.ials:Ials",
        "bpr-mf": "murmura.baselines.bpr_mf:BprMf",
        "gf-cf": "murmura.lab.rivals.gf_cf:GfCf",
        "mf": "murmura.lab.rivals.mf:Mf",
        "vsm": "murmura.lab.rivals.content_rivals:Vsm",
        "kahfm": "murmura.lab.rivals.content_rivals:Kahfm",
        "kgflex-central": "murmura.algorithms.kgflex.central:KGFlexCentral",
        "cnmf": "murmura.lab.rivals.cnmf:Cnmf",
        "user-knn-ratings": "murmura.lab.rivals.rating_neighbours:UserKnnRatings",
        "item-knn-ratings": "murmura.lab.rivals.rating_neighbours:ItemKnnRatings",
        "biased-mf": "murmura.lab.rivals.rating_factors:BiasedMf",
        "svd++": "murmura.lab.rivals.rating_factors:SvdPlusPlus",
        "pooled-ease": "murmura.algorithms.cooccurrence.central:PooledEase",
        "pooled-item-knn": "murmura.algorithms.cooccurrence.central:PooledItemKnn",
        "pooled-order": "murmura.algorithms.cooccurrence.central:PooledOrder",
        "pooled-neighbours": "murmura.algorithms.neighbours.central:PooledNeighbours",
        "multvae": "murmura.lab.neural.multvae:MultVae",
        "neumf": "murmura.lab.neural.neumf:NeuMf",
        "sasrec": "murmura.lab.neural.sasrec:SasRec",
    },
    "a Baseline class whose name is that of its entry point",
    _class,
)


def baseline(name: str) -> type[Baseline]:
    """The class behind a name on the command line."""
    return BASELINES.get(name)
