"""What a protocol leaves of a data set: counted by hand, and as the papers print it."""

from pathlib import Path

import numpy as np
import pytest

from murmura.core.catalogue import Catalogue, Dataset, Relation
from murmura.core.interactions import Interactions
from murmura.data.filters import MinPerUser
from murmura.data.sources.registry import load
from murmura.data.splits.temporal import TemporalHoldout
from murmura.engine.protocol import Protocol, protocol
from murmura.lab.papers.data_facts import GROUPS, SIZES, SOURCE, TRAINING, WHOLE, data_facts
from tests.studies.worlds import small_world


def known() -> Dataset:
    """User 1 met items 1 to 5 in this order, user 2 items 3 to 7, user 3 only item 8."""
    user = np.array([1] * 5 + [2] * 5 + [3])
    item = np.array([1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8])
    data = Interactions.of(user, item, np.ones(11), np.arange(11))
    colours = Relation(("red", "blue"), np.arange(8, dtype=np.int32), np.array([0] * 4 + [1] * 4, np.int32))
    return Dataset("known", data, Catalogue(data.items, None, colours))


def test_known_answers() -> None:
    rules = Protocol(name="five", filters=(MinPerUser(rows=5),), split=TemporalHoldout(test=0.2))
    facts = data_facts(known(), rules)
    sizes = {part: tuple(values[key].mean for key in SIZES) for part, values in facts.items()}
    assert sizes[SOURCE] == pytest.approx((3, 8, 11, 11 / 3, 11 / 8, 11 / 24))
    assert sizes[WHOLE] == pytest.approx((2, 7, 10, 5, 10 / 7, 10 / 14))
    assert sizes[TRAINING] == pytest.approx((2, 6, 8, 4, 8 / 6, 8 / 12))  # items 5 and 7 are held out; 5 once
    # training rows: items 1 2 3 4, 3 4 5 6; red are 1 to 4 of the seven that are left
    assert facts[TRAINING]["B_T red"].mean == pytest.approx((6 / 8) / (4 / 7))
    assert facts[TRAINING]["B_T blue"].mean == pytest.approx((2 / 8) / (3 / 7))
    assert GROUPS not in facts[TRAINING]


def test_groups_are_counted_where_ratings_are_predicted() -> None:
    world = small_world(users=200)
    rules = protocol("ratings", world)
    groups = data_facts(world, rules, groupings=30)[TRAINING][GROUPS]
    assert groups.low < 200 / 16.5 + 0.6 < groups.high  # sizes 3 to 30: 16.5 on average, and a last one


@pytest.mark.parametrize(
    ("data", "rules", "part", "printed"),
    [
        ("amazon-digital-music", "fpl", WHOLE, (1835, 41488, 75932)),
        ("ml-1m", "fpl", WHOLE, (6040, 3706, 1000209)),
        ("ml-latest-small", "fedsplit", SOURCE, (610, 9724, 100836)),
        ("foursquare-italy", "fpl", TRAINING, (1353, 25498, 54088)),  # printed: 25,522 items
        ("foursquare-italy", "fpl:pick=oldest", TRAINING, (1353, 25702, 54088)),
    ],
)
def test_sizes_as_printed(data: str, rules: str, part: str, printed: tuple[int, ...], data_dir: Path) -> None:
    dataset = load(data, data_dir)
    found = data_facts(dataset, protocol(rules, dataset), groupings=2)[part]
    assert tuple(found[key].mean for key in SIZES[:3]) == printed
