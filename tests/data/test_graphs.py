"""Knowledge graphs: formats read, bad ones refused with file and line, features found by exploring."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from murmura.core.catalogue import Dataset
from murmura.core.errors import DataError, MissingExtraError, SettingError
from murmura.data.graphs.knowledge_graph import read_graph
from murmura.data.sources.registry import load

RATINGS = "user,item\n" + "".join(f"{user},{item}\n" for user in (1, 2) for item in ("a", "b", "c", "d"))
MAPPING = "a\thttp://x/A\nb\thttp://x/B\nc\thttp://x/C\n"
# two books of one author, who was born in Dublin; Dublin knows its writers, and a book knows itself
NT = """\
# books
<http://x/A> <http://p/author> <http://x/Ann> .
<http://x/B> <http://p/author> <http://x/Ann> .
<http://x/A> <http://p/genre> "Comedy"@en .
<http://x/B> <http://p/genre> "Comedy" . # the same

<http://x/C> <http://p/genre> "War"^^<http://www.w3.org/2001/XMLSchema#string> .
<http://x/Ann> <http://p/birthPlace> <http://x/Dublin> .
<http://x/Ann> <http://p/wrote> <http://x/A> .
<http://x/Dublin> <http://p/writer> <http://x/Ann> .
<http://x/A> <http://p/author> <http://x/Ann> .
"""


def write(folder: Path, **files: str) -> dict[str, Path]:
    """Files by name, `_` for the dot."""
    made = {name: folder / name.replace("_", ".") for name in files}
    for name, text in files.items():
        made[name].write_text(text, "utf-8")
    return made


def features(dataset: Dataset) -> dict[str, list[str]]:
    """The items of every feature, both by name."""
    relation = dataset.catalogue.features
    assert relation is not None
    found: dict[str, list[str]] = {label: [] for label in relation.labels}
    for item, label in zip(relation.item.tolist(), relation.label.tolist()):
        found[relation.labels[label]].append(str(dataset.catalogue.items.labels[item]))
    return {label: sorted(items) for label, items in found.items()}


def test_a_graph_gives_features_of_one_and_two_hops(tmp_path: Path) -> None:
    files = write(tmp_path, r_csv=RATINGS, g_nt=NT, m_tsv=MAPPING)
    found = load(files["r_csv"], features=files["g_nt"], mapping=files["m_tsv"], feature_items=1)
    assert features(found) == {
        "http://p/author=http://x/Ann": ["a", "b"],
        "http://p/genre=Comedy": ["a", "b"],
        "http://p/genre=War": ["c"],
        "http://p/author~http://p/birthPlace=http://x/Dublin": ["a", "b"],
        "http://p/author~http://p/wrote=http://x/A": ["b"],  # a's own entity is no feature of a
    }
    assert found.notes == (
        "g.nt: 1 of 9 triples are repeats and count once.",
        "1 of 4 items have no feature in g.nt; they are kept.",
    )
    assert len(found.catalogue.items) == 4
    assert found.catalogue.links is not None
    assert found.catalogue.links.tolist() == ["http://x/A", "http://x/B", "http://x/C", ""]
    known = found.catalogue.item_features()
    assert known is not None
    assert {known.name(code) for code in range(len(known))} == {
        "author: Ann", "author → birth place: Dublin", "author → wrote: A", "genre: Comedy", "genre: War",
    }  # fmt: skip
    shared = load(files["r_csv"], features=files["g_nt"], mapping=files["m_tsv"], feature_items=2)
    assert "http://p/genre=War" not in features(shared)


def test_the_rows_and_their_fingerprint_do_not_depend_on_features(tmp_path: Path) -> None:
    files = write(tmp_path, r_csv=RATINGS, g_nt=NT, m_tsv=MAPPING)
    plain = load(files["r_csv"])
    found = load(files["r_csv"], features=files["g_nt"], mapping=files["m_tsv"], feature_items=1)
    assert found.interactions.fingerprint == plain.interactions.fingerprint
    assert plain.catalogue.features is None


def test_how_far_is_a_choice(tmp_path: Path) -> None:
    files = write(tmp_path, r_csv=RATINGS, g_nt=NT, m_tsv=MAPPING)
    ends = {}
    for hops in (1, 2, 3, 9):
        found = load(files["r_csv"], features=files["g_nt"], mapping=files["m_tsv"], feature_items=1, hops=hops)
        ends[hops] = set(features(found))
    assert all("~" not in label for label in ends[1])
    assert ends[3] - ends[2] == {"http://p/author~http://p/wrote~http://p/genre=Comedy"}  # b by Ann by A
    assert ends[9] == ends[3]  # Dublin → Ann would be a loop
    with pytest.raises(SettingError, match="hops"):
        load(files["r_csv"], features=files["g_nt"], hops=0)


@pytest.mark.parametrize("name", ["g_ttl", "g_tsv", "g_csv", "g_nt_gz"])
def test_every_format_says_the_same(tmp_path: Path, name: str) -> None:
    files = write(tmp_path, r_csv=RATINGS, g_nt=NT, m_tsv=MAPPING)
    triples = read_graph(files["g_nt"]).triples.unique(maintain_order=True)
    path = tmp_path / name.replace("_", ".")
    if name == "g_nt_gz":
        path.write_bytes(gzip.compress(NT.encode()))
    elif name == "g_ttl":
        pytest.importorskip("rdflib")
        path.write_text(
            "@prefix x: <http://x/> . @prefix p: <http://p/> .\n"
            'x:A p:author x:Ann ; p:genre "Comedy"@en .\nx:B p:author x:Ann ; p:genre "Comedy" .\n'
            'x:C p:genre "War" .\nx:Ann p:birthPlace x:Dublin ; p:wrote x:A .\nx:Dublin p:writer x:Ann .\n'
        )
    else:
        triples.write_csv(path, separator="\t" if name == "g_tsv" else ",", include_header=name == "g_csv")
    wanted = load(files["r_csv"], features=files["g_nt"], mapping=files["m_tsv"], feature_items=1)
    found = load(files["r_csv"], features=path, mapping=files["m_tsv"], feature_items=1)
    assert features(found) == features(wanted)


def test_a_folder_of_edge_lists_and_other_graphs(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    write(folder, director_edgelist="http://x/A http://x/Mel\nhttp://x/B http://x/Mel\n")
    write(folder, starring_edgelist="http://x/C\thttp://x/Gene Wilder\n", readme_txt="no graph")
    write(folder, more_nt="<http://x/Mel> <http://p/born> <http://x/NY> .\n")
    files = write(tmp_path, r_csv=RATINGS, m_tsv=MAPPING)
    found = load(files["r_csv"], features=folder, mapping=files["m_tsv"], feature_items=1)
    assert features(found) == {
        "director=http://x/Mel": ["a", "b"],
        "director~http://p/born=http://x/NY": ["a", "b"],
        "starring=http://x/Gene Wilder": ["c"],
    }
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match=r"the folder must hold files of a graph \(.nt, .ttl, .edgelist\)"):
        load(files["r_csv"], features=empty)


def test_items_stand_at_their_links_or_under_their_own_ids(tmp_path: Path) -> None:
    folder = tmp_path / "facebook-books"
    folder.mkdir()
    (folder / "dataset.tsv").write_text("1\t1\t1\n1\t2\t1\n")
    (folder / "mappingLinkedData.tsv").write_text("1\thttp://x/A\n2\thttp://x/B\n")
    files = write(tmp_path, g_nt=NT, own_tsv="subject\tpredicate\tobject\n1\tgenre\tWar\nWar\tis\tgrim\n")
    at_links = features(load(folder, features=files["g_nt"], feature_items=2))
    assert at_links["http://p/author=http://x/Ann"] == ["1", "2"]
    own = write(tmp_path, r_csv="user,item\n1,1\n1,2\n")["r_csv"]
    assert features(load(own, features=files["own_tsv"], feature_items=1)) == {
        "genre=War": ["1"],
        "genre~is=grim": ["1"],
    }


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("<http://x/A> <http://p/a> .", "no object"),
        ("<http://x/A> <http://p/a> <http://x/B>", "no full stop"),
        ("<A> <http://p/a> <http://x/B> .", "a relative address"),
        ('<http://x/A> <http://p/a> "open .', "an open literal"),
        ('"A" <http://p/a> <http://x/B> .', "a literal as subject"),
        ("<http://x/A> _:p <http://x/B> .", "a blank predicate"),
        ('<http://x/A> <http://p/a> "\\ud800" .', "half a character"),
        ('<http://x/A> <http://p/a> "\\UFFFFFFFF" .', "no character"),
        ("<http://x/ A> <http://p/a> <http://x/B> .", "a space"),
        ("<http://x/A> <http://p/a> <http://x/B> <http://g> .", "a quad"),
    ],
)
def test_a_bad_triple_is_named_with_file_and_line(tmp_path: Path, line: str, why: str) -> None:
    files = write(tmp_path, r_csv=RATINGS, g_nt=NT + line + "\n", m_tsv=MAPPING)
    with pytest.raises(DataError, match=r"g.nt, line 12: a triple must be '<subject> <predicate> <object> .'"):
        load(files["r_csv"], features=files["g_nt"], mapping=files["m_tsv"])
    found = load(files["r_csv"], features=files["g_nt"], mapping=files["m_tsv"], feature_items=1, skip_bad=True)
    assert found.notes[0] == "g.nt: left out 1 bad row (no triple 1)."
    assert len(features(found)) == 5


def test_escapes_of_ntriples(tmp_path: Path) -> None:
    text = '<http://x/\\u00C9> <http://p/a> "tab\\tquote\\" \\U0001F600 back\\\\" .\r\n_:b <http://p/a> _:c.d .'
    (tmp_path / "g.nt").write_bytes(text.encode())
    assert read_graph(tmp_path / "g.nt").triples.rows() == [
        ("http://x/É", "http://p/a", 'tab\tquote" 😀 back\\'),
        ("_:g.nt/b", "http://p/a", "_:g.nt/c.d"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (
            "g_tsv",
            "s\tp\to\nx\ty\n",
            "g.tsv, line 2: a row must have 3 fields, but this has 2; correct the line",
        ),
        ("g_tsv", "s\tp\to\nx\ty\tz\tw\n", "line 2: a row must have 3 fields, but this has 4"),
        ("g_tsv", "s\tp\to\n\nx\t\tz\n", "line 3: a row must have 3 fields with something in them"),
        ("p_edgelist", "s o\nx\n", "p.edgelist, line 2: a row must have 2 fields, but this has 1"),
        ("g_nt", "# nothing\n\n", "g.nt: the graph must have at least one triple, but has none"),
        ("g_nt", "", "g.nt: the file must hold rows, but it is empty"),
    ],
)
def test_other_bad_graphs(tmp_path: Path, name: str, text: str, says: str) -> None:
    files = write(tmp_path, **{name: text}, r_csv=RATINGS, m_tsv=MAPPING)
    with pytest.raises(DataError, match=says):
        load(files["r_csv"], features=files[name], mapping=files["m_tsv"])


def test_a_mistake_in_line_3_of_a_turtle_file(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    text = "@prefix x: <http://x/> .\nx:A x:b x:C .\nx:A x:b .\nx:A x:b x:D .\n"
    files = write(tmp_path, r_csv=RATINGS, g_ttl=text)
    with pytest.raises(
        DataError, match=r"g.ttl, line 3: the file must be Turtle, but here it is not \("
    ) as caught:
        load(files["r_csv"], features=files["g_ttl"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["((((((", "(" * 3000, '<http://a> <http://b> "\\ud800" .', "@base <h", "\\"])
def test_turtle_that_the_parser_trips_over(tmp_path: Path, text: str) -> None:
    pytest.importorskip("rdflib")
    files = write(tmp_path, r_csv=RATINGS, g_ttl=text)
    with pytest.raises(DataError):
        load(files["r_csv"], features=files["g_ttl"])


def test_turtle_names_no_folder_of_this_computer(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    (tmp_path / "g.ttl").write_text("<rel> <p> <o> .")
    assert "file:" not in str(read_graph(tmp_path / "g.ttl").triples.rows())


def test_turtle_without_rdflib_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib", None)
    (tmp_path / "g.ttl").write_text("<rel> <p> <o> .")
    with pytest.raises(MissingExtraError, match=r"a graph in Turtle needs .* pip install 'murmura\[graphs\]'"):
        read_graph(tmp_path / "g.ttl")


def test_a_mapping_to_items_that_are_not_there(tmp_path: Path) -> None:
    files = write(tmp_path, r_csv=RATINGS, g_nt=NT, m_tsv=MAPPING + "z\thttp://x/Z\ny\thttp://x/A\n")
    found = load(files["r_csv"], features=files["g_nt"], mapping=files["m_tsv"], feature_items=1)
    assert found.notes[0] == ("m.tsv: 2 entries are of items that the data does not have ('z', 'y'); left out.")
    assert features(found)["http://p/genre=Comedy"] == ["a", "b"]
    none = write(tmp_path, n_tsv="z\thttp://x/A\n")["n_tsv"]
    with pytest.raises(
        DataError, match=r"n.tsv: it must name items of the data such as 'a', 'b', 'c', but names 'z'"
    ):
        load(files["r_csv"], features=files["g_nt"], mapping=none)
    with pytest.raises(SettingError, match="say how features are read, but there are none to read"):
        load(files["r_csv"], mapping=files["m_tsv"])
    with pytest.raises(SettingError, match="say how features are read, but there are none to read"):
        load(files["r_csv"], hops=3)


def test_mappings_may_have_titles_and_headers(tmp_path: Path) -> None:
    titled = 'item,title,entity\na,"A, or B",http://x/A\nb,B,http://x/B\n'
    files = write(tmp_path, r_csv=RATINGS, g_nt=NT, m_csv=titled)
    found = load(files["r_csv"], features=files["g_nt"], mapping=files["m_csv"], feature_items=2)
    assert features(found)["http://p/author=http://x/Ann"] == ["a", "b"]


def test_a_graph_that_no_item_stands_in_is_refused(tmp_path: Path) -> None:
    files = write(tmp_path, r_csv=RATINGS, g_nt=NT)
    with pytest.raises(DataError, match=r"g.nt: it must say something .* looked for as 'a', 'b'.* --mapping"):
        load(files["r_csv"], features=files["g_nt"])


def test_a_mapping_to_entities_that_the_graph_does_not_have_is_refused(tmp_path: Path) -> None:
    files = write(tmp_path, r_csv=RATINGS, g_nt=NT, m_tsv="a\thttp://elsewhere/A\nb\thttp://elsewhere/B\n")
    with pytest.raises(DataError, match=r"g.nt: it must say something .* looked for as 'http://elsewhere/A'"):
        load(files["r_csv"], features=files["g_nt"], mapping=files["m_tsv"], feature_items=1)


def test_a_graph_in_which_too_few_items_share_a_feature_is_refused(tmp_path: Path) -> None:
    files = write(tmp_path, r_csv=RATINGS, g_nt=NT, m_tsv="a\thttp://x/A\nb\thttp://x/B\n")
    with pytest.raises(DataError, match=r"g.nt: 11 items must share a feature within 2 hops, but none do"):
        load(files["r_csv"], features=files["g_nt"], mapping=files["m_tsv"])


def test_names_make_features_readable_and_keep_them_apart(tmp_path: Path) -> None:
    labels = "http://x/Ann\tAnn Enright\nhttp://x/Dublin\tDublin\nhttp://p/birthPlace\tborn=in\nComedy\tfun\nWar\tfun\n"
    files = write(tmp_path, r_csv=RATINGS, g_nt=NT, m_tsv=MAPPING, l_tsv=labels, o_tsv="nobody\tNobody\n")
    found = load(
        files["r_csv"],
        features=files["g_nt"],
        mapping=files["m_tsv"],
        labels=files["l_tsv"],
        feature_items=1,
    )
    known = found.catalogue.item_features()
    assert known is not None
    assert {known.name(code): int(known.hops[code]) for code in range(len(known))} == {
        "author: Ann Enright": 1,
        "author → born=in: Dublin": 2,
        "author → wrote: A": 2,
        "genre: fun (Comedy)": 1,  # two things of one name stay two features
        "genre: fun (War)": 1,
    }
    unused = load(
        files["r_csv"],
        features=files["g_nt"],
        mapping=files["m_tsv"],
        labels=files["o_tsv"],
        feature_items=1,
    )
    assert unused.notes[-1] == "o.tsv: nothing in it is part of a feature, so no name was used."
    with pytest.raises(SettingError, match="names features, but the data has none of a graph"):
        load(files["r_csv"], labels=files["l_tsv"])


def test_names_for_the_features_of_a_source(tmp_path: Path) -> None:
    folder = tmp_path / "facebook-books"
    folder.mkdir()
    (folder / "dataset.tsv").write_text("1\t1\t1\n1\t2\t1\n")
    (folder / "item_features.tsv").write_text("1\t0\t7\n2\t0\t8\n")
    (folder / "predicate_mapping.tsv").write_text("http://dbpedia.org/ontology/author\t0\t1\n")
    names = write(tmp_path, l_tsv="7\tAnn\n")["l_tsv"]
    assert features(load(folder, labels=names)) == {
        "http://dbpedia.org/ontology/author=Ann": ["1"],
        "http://dbpedia.org/ontology/author=8": ["2"],
    }
