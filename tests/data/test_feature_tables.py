"""Tables of features of one's own, in each of their forms; and how features read."""

from __future__ import annotations

from pathlib import Path

import pytest

from murmura.core.errors import DataError, SettingError
from murmura.core.features import readable
from murmura.data.sources.registry import load
from tests.data.test_graphs import RATINGS, features, write

FORMS = {
    "f_csv": ("item,feature\na,x\nb,x\nb,y\nb,y\n", {"x": ["a", "b"], "y": ["b"]}),
    "g_csv": (
        "item,genre,director\na,War|Comedy,Mel\nb,War,\nc,,\"Mel, jr\"\n",
        {"genre=War": ["a", "b"], "genre=Comedy": ["a"], "director=Mel": ["a"], "director=Mel, jr": ["c"]},
    ),
    "h_tsv": (
        "movieId\tpredicate\tobject\na\tauthor\tAnn\nb\tauthor~birthPlace\tDublin\nb\ta=b\tc\n",
        {"author=Ann": ["a"], "author~birthPlace=Dublin": ["b"], "a%3Db=c": ["b"]},
    ),
    "i_tsv": ("a\tauthor\tAnn\nb\tauthor\tAnn\n", {"author=Ann": ["a", "b"]}),
    "j_tsv": ("a\t1\t2\nb\t2\nc\n", {"1": ["a"], "2": ["a", "b"]}),
    "k_txt": ("a;x\nb;x\n", {"x": ["a", "b"]}),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_forms(tmp_path: Path, name: str) -> None:
    text, wanted = FORMS[name]
    files = write(tmp_path, **{name: text}, r_csv=RATINGS)
    found = load(files["r_csv"], features=files[name])
    assert features(found) == wanted
    without = 4 - len({item for items in wanted.values() for item in items})
    assert found.notes[-1].startswith(f"{without} of 4 items have no feature in ")


def test_items_that_are_numbers_are_found_by_their_number_and_nothing_else(tmp_path: Path) -> None:
    files = write(
        tmp_path, r_csv="user,item\n1,7\n1,10\n", f_csv="item,feature\n7,x\n010,y\n1e1,y\n10,z\nq,z\n"
    )
    found = load(files["r_csv"], features=files["f_csv"])
    assert features(found) == {"x": ["7"], "z": ["10"]}
    assert found.notes == (
        "f.csv: 3 entries are of items that the data does not have ('010', '1e1', 'q'); left out.",
    )


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("f_csv", "item,feature\na,x\nb\n", "f.csv, line 3: a row must have at least 2 fields, but this has 1"),
        ("f_csv", 'item,feature\na,"x\n', "f.csv, line 2: a row must have at least 2 fields, but this has 0"),
        (
            "f_tsv",
            "item\tpredicate\tobject\na\tp\t\n",
            "f.tsv, line 2: a row must have 3 fields with something",
        ),
        ("f_csv", "item\na\n", "the header must name a column of features beside 'item', but names none"),
        (
            "f_csv",
            "item,feature\nz,x\n",
            "f.csv: it must name items of the data such as 'a', 'b', 'c', but names 'z'",
        ),
        (
            "f_csv",
            "item,feature\na,\n",
            "f.csv: the table must give enough items of the data a feature, but does not",
        ),
        ("f_csv", "", "f.csv: the file must hold rows, but it is empty"),
    ],
)
def test_bad_tables(tmp_path: Path, name: str, text: str, says: str) -> None:
    files = write(tmp_path, **{name: text}, r_csv=RATINGS)
    with pytest.raises(DataError, match=says):
        load(files["r_csv"], features=files[name])


def test_bad_rows_are_skipped_when_asked(tmp_path: Path) -> None:
    files = write(tmp_path, r_csv=RATINGS, f_tsv="item\tpredicate\tobject\na\tp\t\nb\tp\nc\tp\to\n")
    found = load(files["r_csv"], features=files["f_tsv"], skip_bad=True)
    assert features(found) == {"p=o": ["c"]}
    assert found.notes[0] == "f.tsv: left out 2 bad rows (wrong fields 2)."


def test_no_such_file_and_a_mapping_for_a_table(tmp_path: Path) -> None:
    files = write(tmp_path, r_csv=RATINGS, f_csv="item,feature\na,x\n", m_tsv="a\tA\n")
    with pytest.raises(DataError, match=r"no.csv: there is no such file"):
        load(files["r_csv"], features=tmp_path / "no.csv")
    with pytest.raises(
        SettingError, match=r"mapping, hops and exclude are for a graph, but .*f.csv is a table"
    ):
        load(files["r_csv"], features=files["f_csv"], mapping=files["m_tsv"])
    with pytest.raises(SettingError, match="are for a graph"):
        load(files["r_csv"], features=files["f_csv"], hops=3)


def test_rare_features_of_a_table_are_left_out_when_asked(tmp_path: Path) -> None:
    files = write(tmp_path, r_csv=RATINGS, f_csv="item,feature\na,x\nb,x\nb,y\nb,y\nz,y\n")
    assert features(load(files["r_csv"], features=files["f_csv"], feature_items=2)) == {"x": ["a", "b"]}
    with pytest.raises(DataError, match="the table must give enough items"):
        load(files["r_csv"], features=files["f_csv"], feature_items=3)


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("director=http://dbpedia.org/resource/Mel_Brooks", "director: Mel Brooks"),
        ("musicComposer=http://dbpedia.org/resource/AC/DC", "music composer: AC/DC"),
        (
            "distributor=http://dbpedia.org/resource/MGM/UA_Home_Entertainment",
            "distributor: MGM/UA Home Entertainment",
        ),
        (
            "producer=http://dbpedia.org/resource/Kenneth_%22Babyface%22_Edmonds",
            'producer: Kenneth "Babyface" Edmonds',
        ),
        ("starring=http://www.imdb.com/name/nm0416933/", "starring: nm0416933"),
        (
            "http://dbpedia.org/property/author~http://dbpedia.org/ontology/deathPlace=1234",
            "author → death place: 1234",
        ),
        (
            "http://dbpedia.org/ontology/author~http://www.w3.org/1999/02/22-rdf-syntax-ns#type=9",
            "author → type: 9",
        ),
        ("http://dbpedia.org/property/wordnet_type=4", "wordnet type: 4"),
        ("birth_place=Dublin", "birth place: Dublin"),
        ("a%3Db%7Ec=d", "a=b~c: d"),
        ("homepage=see http://x.org/ for more", "homepage: see http://x.org/ for more"),
        ("P57=http://www.wikidata.org/entity/Q123", "p57: Q123"),
        ("genre=Comedy", "genre: Comedy"),
        ("6813", "feature: 6813"),
        ("Café", "feature: Café"),
    ],
)
def test_what_a_person_reads(label: str, words: str) -> None:
    assert readable(label) == words


@pytest.mark.parametrize("name", ["ml-1m", "facebook-books"])
def test_every_real_feature_reads_well(name: str, data_dir: Path) -> None:
    if not (data_dir / name).is_dir():
        pytest.skip(f"{name} is not in the data folder")
    known = load(name, data_dir).catalogue.item_features()
    assert known is not None
    for label in map(known.name, range(len(known))):
        predicate, sign, thing = label.partition(": ")
        assert sign
        assert thing.strip() == thing != ""
        assert predicate == predicate.lower()
        assert not set(predicate) & set("/#_%"), label
        assert "://" not in thing
        assert "_" not in thing
