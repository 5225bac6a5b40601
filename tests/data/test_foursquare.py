"""Check-ins: city files joined, venue types, and how near the root categories come to the printed bias."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from murmura.core.arrays import Floats
from murmura.core.catalogue import Catalogue
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.data.filters import Binarise, LatestPerPair, MinPerUser, apply_filters
from murmura.data.sources.registry import load
from murmura.data.splits.temporal import TemporalHoldout
from murmura.lab.sources.foursquare import clean, root_of

ROOTS = (
    "Arts & Entertainment", "College & University", "Food", "Nightlife Spot", "Outdoors & Recreation",
    "Professional & Other Places", "Residence", "Shop & Service", "Travel & Transport",
)  # fmt: skip
# Ferrara's thesis, table 4.5, Italy
PRINTED = np.array([1.4130, 0.8221, 0.9317, 1.3559, 1.3292, 0.7868, 0.4171, 0.8482, 1.2678])
HEADER = "user_id\tvenue_id\ttype\tutc\n"


def bias(train: Interactions, catalogue: Catalogue) -> Floats:
    """The share of a category among the training rows over its share among the items of the catalogue."""
    roots = catalogue.restrict(train.items).categories
    assert roots is not None
    assert roots.labels == ROOTS
    root = np.empty(train.n_items, np.int64)
    root[roots.item] = roots.label
    rows = np.bincount(root[train.item], minlength=9) / len(train)
    items = np.bincount(root, minlength=9) / train.n_items
    result: Floats = rows / items
    return result


def test_the_mapping_covers_every_name_of_the_six_cities(data_dir: Path) -> None:
    if not (data_dir / "foursquare-italy").is_dir():
        pytest.skip("foursquare-italy is not in the data folder")
    known = load("foursquare-italy", data_dir).catalogue
    assert known.features is not None
    assert (
        len(known.features.labels) == 401
    )  # 402 names in the files, two of which are 'Café' with its accent lost
    assert {label.removeprefix("venueType=") for label in known.features.labels} <= set(root_of())
    assert known.categories is not None
    assert known.categories.labels == ROOTS
    assert np.bincount(known.categories.item).tolist() == [1] * len(known.items)


def test_the_bias_of_the_training_part_comes_near_the_printed_one(data_dir: Path) -> None:
    """Within 9 % on the split that comes nearest to the printed tables, the oldest fifth to test.

    On the stated rule, the newest fifth to test, Nightlife and Residence are further off; see docs/data.md.
    """
    if not (data_dir / "foursquare-italy").is_dir():
        pytest.skip("foursquare-italy is not in the data folder")
    found = load("foursquare-italy", data_dir)
    data = apply_filters(found.interactions, (LatestPerPair(), Binarise(), MinPerUser(rows=20)))
    oldest = bias(TemporalHoldout(pick="oldest").apply(data).train, found.catalogue)
    stated = bias(TemporalHoldout().apply(data).train, found.catalogue)
    assert np.abs(oldest / PRINTED - 1).max() < 0.09
    assert np.abs(stated / PRINTED - 1).max() < 0.28
    assert ((oldest > 1) == (PRINTED > 1)).all()
    assert ((stated > 1) == (PRINTED > 1)).all()


def test_the_mapping_is_a_clean_table() -> None:
    roots = root_of()
    assert set(roots.values()) == set(ROOTS)
    assert all(roots[root] == root for root in ROOTS if root in roots)
    assert list(roots) == sorted(roots)


def test_city_files_are_joined_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "foursquare-canada"
    folder.mkdir()
    (folder / "Toronto.tsv").write_text(HEADER + "2\tb\tBar\tThu Jan 01 00:00:05 +0000 1970\n")
    (folder / "Montreal.tsv").write_text(
        HEADER
        + "1\ta\tCaf\x1a\x1a\tThu Jan 01 00:00:09 +0000 1970\n"
        + "1\ta\tCaf\x1a\tThu Jan 01 00:01:00 +0000 1970\n"
        + "1\tz\tSnow Castle\tThu Jan 01 00:00:00 +0000 1970\n"
    )
    found = load("foursquare-canada", tmp_path)
    data, known = found.interactions, found.catalogue
    assert data.items.labels[data.item].tolist() == ["a", "a", "z", "b"]  # people come back: repeats are kept
    assert data.time is not None
    assert data.time.tolist() == [9, 60, 0, 5]
    assert known.features is not None
    assert known.features.labels == ("venueType=Bar", "venueType=Café", "venueType=Snow Castle")
    features = known.item_features()
    assert features is not None
    assert features.name(1) == "venue type: Café"
    assert features.name(3) == "category: Food"
    assert known.categories is not None
    assert [(i, known.categories.labels[c]) for i, c in zip(known.categories.item, known.categories.label)] == [
        (0, "Food"),
        (1, "Nightlife Spot"),
    ]
    assert found.notes == ("1 venue type has no root category: Snow Castle.",)


def test_any_folder_of_city_files(tmp_path: Path) -> None:
    (tmp_path / "Oslo.tsv").write_text(HEADER + "2\tb\tBar\tThu Jan 01 00:00:05 +0000 1970\n")
    assert load(tmp_path).name == tmp_path.name
    with (tmp_path / "Oslo.tsv").open("a") as file:
        file.write("3\tb\tBar\tyesterday\n")
    with pytest.raises(DataError, match=r"Oslo.tsv, line 3: the time \('utc'\) must be a date like"):
        load(tmp_path)


def test_clean() -> None:
    assert [clean(name) for name in ("Caf\x1a\x1a", "Caf\x1a", "Bar")] == ["Café", "Café", "Bar"]
