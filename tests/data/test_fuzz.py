"""Whatever bytes a file holds, loading answers with a Dataset or a DataError."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from murmura.core.catalogue import Dataset
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.data.sources.registry import load
from murmura.data.splits.split_files import load_split
from tests.hypothesis_profiles import examples

SHARED = [HealthCheck.function_scoped_fixture]
FUZZ = examples(0.8, suppress_health_check=SHARED)
CSV = b"user,item,value,time\n1,10,3.5,100\n1,11,4,101\n2,10,1,99\n3,12,5,5\n"
TSV = CSV.replace(b",", b"\t")
CITY = b"user_id\tvenue_id\ttype\tutc\n1\tv\tBar\tTue Apr 03 18:20:27 +0000 2012\n"
REVIEWS = b"reviews = {}\nreviews[('1','a')] = {'user': 'a', 'work': '1', 'stars': 4.5, 'unixtime': 1000}\n"

SOURCES = {
    "ml-1m": {
        "ratings.dat": b"1::10::5::100\n1::11::3::101\n2::10::4::99\n",
        "movies.dat": "10::Café (1990)::Drama|War\n11::B::Comedy\n".encode("latin-1"),
    },
    "ml-100k": {
        "u.data": b"1\t10\t5\t100\n2\t11\t3\t7\n",
        "u.genre": b"Drama|0\nWar|1\n",
        "u.item": b"10|A|01-Jan-1995||x|1|0\n11|B|01-Jan-1995||x|1|1\n",
    },
    "ml-latest-small": {
        "ratings.csv": b"userId,movieId,rating,timestamp\n1,10,4.5,100\n2,11,3,7\n",
        "movies.csv": b'movieId,title,genres\n10,"A, The",Drama|War\n11,B,(no genres listed)\n',
    },
    "facebook-books": {
        "dataset.tsv": b"1\t10\t1.0\n2\t11\t1.0\n",
        "item_features.tsv": b"10\t0\t3\n11\t1\t3\n",
        "predicate_mapping.tsv": b"p\t0\t1\np~q\t1\t2\n",
        "mappingLinkedData.tsv": b"10\thttp://a\n",
    },
    "yahoo-movies": {
        "dataset.tsv": b"1\t10\t5.0\n2\t11\t1.0\n",
        "item-features.map.tsv": b"10\t0\t3\n11\t7\n",
        "mappingLinkedData.tsv": b"10\thttp://a\n",
    },
    "foursquare-brazil": {"Rio.tsv": CITY + b"2\tw\tCaf\x1a\x1a\tTue Apr 03 18:20:28 +0000 2012\n"},
    "librarything": {"reviews.txt": REVIEWS + b"{'user': 'b', 'work': '2', 'unixtime': 7}\n"},
}


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


def check(path: Path, skip_bad: bool = False) -> Dataset | None:
    try:
        found = load(path, skip_bad=skip_bad)
    except DataError as error:
        text = str(error).partition("\n  1 | ")[0]  # the first lines of the file may follow the sentence
        assert str(path) in text
        assert "\n" not in text
        assert text.endswith(".")
        return None
    assert len(found.interactions) > 0
    return found


def mutated(content: bytes) -> st.SearchStrategy[bytes]:
    """The content with some bytes changed, removed or put in, and perhaps cut off."""

    def apply(edits: list[tuple[int, int, int]]) -> bytes:
        changed = bytearray(content)
        for place, what, byte in edits:
            place %= max(len(changed), 1)
            if what == 0:
                changed[place : place + 1] = bytes([byte])
            elif what == 1:
                changed[place:place] = bytes([byte])
            elif what == 2:
                del changed[place : place + byte % 8]
            else:
                del changed[place:]
        return bytes(changed)

    edit = st.tuples(st.integers(0, 10_000), st.integers(0, 3), st.integers(0, 255))
    return st.lists(edit, min_size=1, max_size=6).map(apply)


@FUZZ
@given(content=st.binary(max_size=300), suffix=st.sampled_from([".csv", ".tsv", ".txt", ".parquet", ".csv.gz"]))
@example(content=b"user,item\n1,2\n", suffix=".csv")
@example(content=b"\xff\xfeu\0s\0e\0r\0", suffix=".csv")
def test_random_bytes(folder: Path, content: bytes, suffix: str) -> None:
    path = folder / f"table{suffix}"
    path.write_bytes(content)
    check(path)
    check(path, skip_bad=True)


@FUZZ
@given(content=mutated(CSV) | mutated(TSV), suffix=st.sampled_from([".csv", ".tsv"]))
def test_mutated_text(folder: Path, content: bytes, suffix: str) -> None:
    path = folder / f"table{suffix}"
    path.write_bytes(content)
    strict, lenient = check(path), check(path, skip_bad=True)
    if strict is not None:  # nothing to skip: both readings are the same
        assert lenient is not None
        assert lenient.interactions.fingerprint == strict.interactions.fingerprint
        assert lenient.notes == strict.notes


@FUZZ
@given(content=mutated(gzip.compress(CSV, mtime=0)))
def test_mutated_gzip(folder: Path, content: bytes) -> None:
    path = folder / "table.csv.gz"
    path.write_bytes(content)
    check(path)
    check(path, skip_bad=True)


@FUZZ
@given(data=st.data())
def test_mutated_parquet(folder: Path, data: st.DataObject) -> None:
    good = folder / "good.parquet"
    pl.read_csv(CSV).write_parquet(good)
    path = folder / "table.parquet"
    path.write_bytes(data.draw(mutated(good.read_bytes())))
    check(path)
    check(path, skip_bad=True)


@FUZZ
@given(content=st.binary(max_size=200))
def test_random_split_file(folder: Path, content: bytes) -> None:
    path = folder / "split.npz"
    path.write_bytes(content)
    data = Interactions.of(np.array([1, 2]), np.array([1, 2]))
    with pytest.raises(DataError, match="split"):
        load_split(path, data)


@pytest.mark.parametrize("name", SOURCES)
@examples(0.4, suppress_health_check=SHARED)
@given(data=st.data())
def test_mutated_sources(folder: Path, name: str, data: st.DataObject) -> None:
    place = folder / name
    place.mkdir(exist_ok=True)
    for file, content in SOURCES[name].items():
        (place / file).write_bytes(content)
    assert len(load(name, folder).interactions) > 0
    broken = data.draw(st.sampled_from(sorted(SOURCES[name])))
    (place / broken).write_bytes(data.draw(mutated(SOURCES[name][broken])))
    for skip_bad in (False, True):
        with suppress(DataError):
            assert len(load(name, folder, skip_bad=skip_bad).interactions) > 0


FEATURES = {
    "f.csv": b'item,genre,year\n10,"War|Comedy",1999\n11,War,\n',
    "f.tsv": b"10\tauthor\tAnn\n11\tauthor\tAnn\n",
    "l.tsv": b"10\t3\t4\t5\n11\t3\n",
    "g.nt": b'<http://x/A> <http://p/a> "Caf\\u00e9"@en .\n<http://x/B> <http://p/a> _:b . # c\n',
    "p.edgelist": b"http://x/A http://x/C\nhttp://x/B http://x/C\n",
}
BESIDE = {"m.tsv": b"10\thttp://x/A\n11\thttp://x/B\n", "n.tsv": b"http://x/C\tsea\nWar\twar\n3\tthree\n"}


@FUZZ
@given(data=st.data(), name=st.sampled_from([*FEATURES]), skip_bad=st.booleans())
def test_mutated_features(folder: Path, data: st.DataObject, name: str, skip_bad: bool) -> None:
    """One sentence that names a file, or the same rows as without features."""
    (folder / "table.csv").write_bytes(CSV)
    spoilt = data.draw(st.sampled_from([name, *BESIDE]))
    for one, content in {name: FEATURES[name], **BESIDE}.items():
        (folder / one).write_bytes(data.draw(mutated(content)) if one == spoilt else content)
    graph = name in ("g.nt", "p.edgelist")
    mapping = folder / "m.tsv" if graph else None
    try:
        found = load(
            folder / "table.csv",
            features=folder / name,
            mapping=mapping,
            labels=folder / "n.tsv",
            feature_items=1,
            skip_bad=skip_bad,
        )
    except DataError as error:
        text = str(error)
        assert str(folder) in text
        assert "\n" not in text
        assert text.endswith(".")
        return
    assert found.interactions.fingerprint == load(folder / "table.csv").interactions.fingerprint
    known = found.catalogue.item_features()
    assert known is not None
    assert len(set(known.labels)) == len(known) == len(known.names)
