"""The sources: counts of the real files, catalogues, and what is said when a file is not there."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from murmura.core.catalogue import Dataset
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.data.filters import Binarise, KCore, LatestPerPair, MinPerUser, apply_filters
from murmura.data.sources.registry import ALIASES, SOURCES, every_source, load, source_named
from murmura.data.splits.random_holdout import LegacyRandomHoldout
from murmura.data.splits.temporal import TemporalHoldout
from murmura.engine.prepared import prepare
from murmura.engine.protocol import protocol

# rows, users, items as their owners state them
COUNTS = {
    "ml-1m": (1_000_209, 6_040, 3_706),
    "ml-100k": (100_000, 943, 1_682),
    "ml-latest-small": (100_836, 610, 9_724),
    "amazon-digital-music": (75_932, 1_835, 41_488),
    "foursquare-italy": (89_616, 6_596, 34_332),
    "yahoo-movies": (66_600, 4_000, 2_491),
    "facebook-books": (17_626, 1_398, 2_726),
}
FPL = (LatestPerPair(), Binarise(), MinPerUser(rows=20))


@cache
def loaded(name: str, data_dir: Path) -> Dataset:
    if not (data_dir / name).is_dir():
        pytest.skip(f"{name} is not in the data folder")
    return load(name, data_dir)


def sizes(data: Interactions) -> tuple[int, int, int]:
    return len(data), data.n_users, data.n_items


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name: str, data_dir: Path) -> None:
    found = loaded(name, data_dir)
    assert sizes(found.interactions) == COUNTS[name]
    assert found.notes == ()  # among others: every sha256 is the owner's
    assert found.catalogue.items is found.interactions.items


def test_ids_are_numbers_or_text_as_the_papers_ordered_them(data_dir: Path) -> None:
    kinds = {
        name: tuple(v.is_text for v in (d.users, d.items))
        for name in ("ml-1m", "amazon-digital-music", "foursquare-italy", "facebook-books")
        for d in [loaded(name, data_dir).interactions]
    }
    assert kinds == {
        "ml-1m": (False, False),
        "amazon-digital-music": (True, True),
        "foursquare-italy": (False, True),
        "facebook-books": (False, False),
    }


def test_rows_stay_in_the_order_of_the_file(data_dir: Path) -> None:
    data = loaded("ml-1m", data_dir).interactions
    assert data.users.labels[data.user[:3]].tolist() == [1, 1, 1]
    assert data.items.labels[data.item[:3]].tolist() == [1193, 661, 914]
    assert data.value[:3].tolist() == [5.0, 3.0, 3.0]
    assert data.time is not None
    assert data.time[:3].tolist() == [978300760, 978302109, 978301968]
    music = loaded("amazon-digital-music", data_dir).interactions
    assert music.users.labels[music.user[0]] == "A3EBHHCZO6V2A4"
    assert music.items.labels[music.item[0]] == "5555991584"


def test_ml_1m_catalogue(data_dir: Path) -> None:
    known = loaded("ml-1m", data_dir).catalogue
    assert known.name(0) == "Toy Story (1995)"
    assert known.names is not None
    assert "Misérables, Les (1995)" in known.names.tolist()  # latin-1
    assert known.categories is not None
    assert len(known.categories.labels) == 18
    assert known.links is not None
    assert known.features is not None
    beauty = known.names.tolist().index("Stealing Beauty (1996)")
    assert known.links[beauty] == "http://dbpedia.org/resource/Stealing_Beauty"
    assert "director=http://dbpedia.org/resource/Mel_Brooks" in known.features.labels
    assert (len(known.features.labels), len(known.features.item)) == (15_023, 34_883)


def test_facebook_books_features(data_dir: Path) -> None:
    known = loaded("facebook-books", data_dir).catalogue
    assert known.features is not None
    assert (len(known.features.labels), len(known.features.item)) == (7_761, 306_847)
    two_hops = sum("~" in label for label in known.features.labels)
    assert (len(known.features.labels) - two_hops, two_hops) == (523, 7_238)
    assert known.links is not None
    assert (known.links != "").all()


def test_yahoo_movies_features(data_dir: Path) -> None:
    known = loaded("yahoo-movies", data_dir).catalogue
    assert known.features is not None
    assert len(np.unique(known.features.item)) == known.items.labels.size


@pytest.mark.parametrize(
    ("name", "after", "train"),
    [
        ("amazon-digital-music", (75_932, 1_835, 41_488), 61_408),
        ("ml-1m", (1_000_209, 6_040, 3_706), 802_553),
        ("foursquare-italy", (66_971, 1_353, 29_772), 54_088),
    ],
)
def test_the_split_of_federank_and_fpl(
    name: str, after: tuple[int, int, int], train: int, data_dir: Path
) -> None:
    data = apply_filters(loaded(name, data_dir).interactions, FPL)
    assert sizes(data) == after
    assert len(TemporalHoldout().apply(data).train) == train


@pytest.mark.parametrize(
    ("name", "k", "after", "train"),
    [
        ("yahoo-movies", 10, (47_569, 1_555, 1_050), 37_440),
        ("facebook-books", 5, (13_788, 1_363, 782), 10_490),
    ],
)
def test_the_split_of_kgflex(
    name: str, k: int, after: tuple[int, int, int], train: int, data_dir: Path
) -> None:
    data = apply_filters(loaded(name, data_dir).interactions, [KCore(k=k)])
    assert sizes(data) == after
    assert len(LegacyRandomHoldout().apply(data).train) == train


# the rows, the rows of protocol kgflex and the graph's features: what every kept result of these rests on
KEPT = {
    "ml-1m": ("7aa0c119c0d173c3", "70e6707acdf3418f", "e828f053256f0add"),
    "yahoo-movies": ("25dc565058914706", "9774b4a942345a5b", "3ad772a08164fcb3"),
    "facebook-books": ("1e633f9bf8926c94", "791a2978d23b89b0", "998707cb81f8b9a6"),
}


@pytest.mark.parametrize("name", KEPT)
def test_rows_splits_and_features_are_those_of_the_saved_results(name: str, data_dir: Path) -> None:
    found = loaded(name, data_dir)
    cut = prepare(found, protocol("kgflex", found)).describe()["fingerprint"]
    known = found.catalogue.features
    assert known is not None
    parts = "\n".join(known.labels).encode(), known.item.tobytes(), known.label.tobytes()
    features = hashlib.sha256(b"|".join(parts)).hexdigest()
    assert tuple(one[:16] for one in (found.interactions.fingerprint, cut, features)) == KEPT[name]


SPEED = """
import resource
import time
from pathlib import Path
from murmura.data.sources.registry import load
from murmura.data.filters import Binarise, LatestPerPair, MinPerUser, apply_filters
from murmura.data.splits.temporal import TemporalHoldout
data = apply_filters(load(Path({folder!r})).interactions, (LatestPerPair(), Binarise(), MinPerUser(rows=20)))
TemporalHoldout().apply(data)
used = resource.getrusage(resource.RUSAGE_SELF)
spent = used.ru_utime + used.ru_stime
begun = time.process_time()
with (Path({folder!r}) / "ratings.dat").open(encoding="latin-1") as lines:
    assert sum(len(line.split("::")) for line in lines) == 4 * 1_000_209
print(spent / (time.process_time() - begun))
"""


def test_ml_1m_takes_a_few_times_what_cutting_its_lines_takes(data_dir: Path) -> None:
    """Loading, filtering and splitting, Python's start and all imports included; the best of three.

    Measured 4.6 to 5 times, about 1.4 s; the loop over lines makes the bound hold on any machine.
    """
    if not (data_dir / "ml-1m").is_dir():
        pytest.skip("ml-1m is not in the data folder")
    code = SPEED.format(folder=str(data_dir / "ml-1m"))
    runs = []
    for _ in range(3):
        runs.append(float(subprocess.check_output([sys.executable, "-c", code], text=True)))
        if runs[-1] < 8.0:
            break
    assert min(runs) < 8.0


def test_a_changed_file_is_noted_not_refused(tmp_path: Path) -> None:
    folder = tmp_path / "ml-1m"
    folder.mkdir()
    (folder / "ratings.dat").write_text("1::10::5::100\n")
    found = load("ml-1m", tmp_path)
    assert found.notes[0].startswith("ratings.dat differs from the owner's file (sha256 ")
    assert found.notes[1].startswith(f"movies.dat is not in {folder}")
    assert found.catalogue.names is None


def test_a_folder_is_recognised_by_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "u.data").write_text("1\t10\t5\t100\n")
    assert load(folder).name == "ml-100k"
    (folder / "u.data").rename(folder / "ratings.csv")
    (folder / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,2,3,4\n")
    assert load(str(folder)).name.startswith("ml-latest")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Books.tsv", "user_id\titem_id\trating\tutc\n007\t9\t5\t100\n8\t10\t4.0\t99\n"),
        ("ratings_Books.csv", "007,9,5.0,100\n8,10,4.0,99\n"),
    ],
)
def test_amazon_ratings_of_any_category(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    found = load(tmp_path)
    data = found.interactions
    assert found.name == tmp_path.name
    assert data.users.labels.tolist() == ["007", "8"]
    assert data.items.labels.tolist() == ["10", "9"]  # text, in the order of text
    assert data.value.tolist() == [5.0, 4.0]
    (tmp_path / f"more_{name}").write_text(text)
    (tmp_path / f"ratings_more_{name}").write_text(text)
    with pytest.raises(DataError, match="it must hold one file"):
        load(tmp_path)


def test_gzipped_files_of_a_source(tmp_path: Path) -> None:
    import gzip

    folder = tmp_path / "ml-100k"
    folder.mkdir()
    (folder / "u.data.gz").write_bytes(gzip.compress(b"1\t10\t5\t100\n"))
    assert len(load("ml-100k", tmp_path).interactions) == 1


def test_an_absent_source_says_what_to_get_and_where_to_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="get it from GroupLens") as caught:
        load("ml-1m", tmp_path)
    assert f"and put ratings.dat into {tmp_path / 'ml-1m'}" in str(caught.value)
    monkeypatch.delenv("MURMURA_DATA", raising=False)
    with pytest.raises(DataError, match="none is given: set MURMURA_DATA or pass --data-dir"):
        load("ml-1m")
    monkeypatch.setenv("MURMURA_DATA", str(tmp_path))
    with pytest.raises(DataError, match="has no such file"):
        load("ml-1m")


def test_a_name_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"there is no data set 'ml1m': did you mean 'ml-1m'\?"):
        load("ml1m")
    with pytest.raises(SettingError, match="it is one of ml-latest-small-2016"):
        source_named("zzz")


def test_a_path_is_never_a_name_and_names_take_no_columns(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="checkerboard: there is no such file"):
        load(Path("checkerboard"))
    with pytest.raises(
        SettingError, match="repeats must be left out, as it is for a file, but 'synth' is none"
    ):
        load("synth", repeats="sum")
    with pytest.raises(SettingError, match="columns must be left out, as it is for a file"):
        load("ml-1m", tmp_path, columns={"user": "u"})


def test_every_source_says_whose_it_is() -> None:
    for name, source in every_source().items():
        assert source.name == name
        assert source.title
        assert source.owner
        assert source.licence
        assert source.url.startswith("https://")
        assert all(len(file.sha256 or "0" * 64) == 64 for file in source.files)
    assert set(ALIASES.values()) <= set(SOURCES)
