"""A catalogue follows its items when they are filtered."""

import numpy as np

from murmura.core.catalogue import Catalogue, Relation
from murmura.core.interactions import Vocabulary


def test_restricting_moves_names_and_categories() -> None:
    genres = Relation(("comedy", "drama"), np.array([0, 1, 2, 2], np.int32), np.array([0, 1, 0, 1], np.int32))
    whole = Catalogue(Vocabulary(np.array([10, 20, 30])), np.array(["A", "B", "C"]), genres)
    part = whole.restrict(Vocabulary(np.array([5, 20, 30])))
    assert part.names is not None
    assert part.names.tolist() == ["", "B", "C"]
    assert part.categories is not None
    pairs = set(zip(part.categories.item.tolist(), part.categories.label.tolist()))
    assert pairs == {(1, 1), (2, 0), (2, 1)}
    assert part.name(0) == "5"
    assert part.name(1) == "B"
