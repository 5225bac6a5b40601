"""Whose update counts how much: criteria measured on clients, scores made of them, and the wrapper `Weighted`.

Ferrara's thesis, chapter 5: a client measures criteria of itself, a score function makes one number of them,
and the numbers of a round, divided by their sum, are the weights of its updates. docs/federation.md is the
guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from murmura.core.errors import SettingError
from murmura.core.plugins import Registry

if TYPE_CHECKING:
    from murmura.aggregation.criteria import Criterion


def _criterion(name: str, found: object) -> type[Criterion] | Criterion | None:
    """A criterion as it is, or a class of them."""
    from inspect import isabstract

    from murmura.aggregation.criteria import Criterion

    if isinstance(found, type):
        return found if issubclass(found, Criterion) and not isabstract(found) else None
    return found if isinstance(found, Criterion) else None


# a new criterion of ours adds a row; other packages register an entry point
CRITERIA: Registry[type[Criterion] | Criterion] = Registry(
    kind="criterion",
    group="murmura.criteria",
    built_in={
        "dataset_size": "murmura.aggregation.criteria:DatasetSize",
        "profile_size": "murmura.aggregation.criteria:DatasetSize",  # the same, in the recommenders' word
        "label_diversity": "murmura.lab.classification.label_criteria:LabelDiversity",
        "class_balance": "murmura.lab.classification.label_criteria:ClassBalance",
        "sharpness": "murmura.lab.classification.label_criteria:Sharpness",
        "model_divergence": "murmura.aggregation.criteria:ModelDivergence",
        "layer_divergence": "murmura.aggregation.criteria:LayerDivergence",
        "update_novelty": "murmura.aggregation.criteria:UpdateNovelty",
        "category_diversity": "murmura.aggregation.criteria:CategoryDiversity",
        "long_tail": "murmura.aggregation.criteria:LongTail",
        "trust": "murmura.aggregation.criteria:TRUST",
        "capability": "murmura.aggregation.criteria:CAPABILITY",
        "attribute": "murmura.aggregation.criteria:Attribute",
    },
    wanted="a Criterion, or a class of them that implements measure",
    read=_criterion,
)


def criterion(name: str) -> Criterion:
    """The criterion of that name; what follows a colon says which one of its kind: `attribute:premium`."""
    kind, colon, argument = name.partition(":")
    found = CRITERIA.get(kind)
    try:
        made = found(*([argument] if colon else [])) if isinstance(found, type) else found
    except TypeError:
        made = None
    if made is None or (colon and not isinstance(found, type)):
        after = (
            "be followed by a name, as in attribute:premium" if not colon else "stand alone, without a colon"
        )
        raise SettingError(f"the criterion '{kind}' must {after}, but it is '{name}'.")
    return made
