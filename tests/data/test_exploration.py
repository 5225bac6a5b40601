"""Features found by exploring a graph, beside a plain twin that walks every path."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.catalogue import Relation
from murmura.data.graphs.knowledge_graph import EXCLUDED, PREFIXES, explore
from murmura.data.sources.registry import load


def walk(
    edges: list[tuple[str, str, str]], start: str, hops: int, exclude: tuple[tuple[str, ...], ...]
) -> set[str]:
    """The plain twin: every simple path from an entity, one at a time."""
    found: set[str] = set()
    paths: list[tuple[tuple[str, ...], str]] = [((start,), "")]
    for hop in range(hops):
        banned = set(exclude[hop]) if hop < len(exclude) else set()
        paths = [
            ((*nodes, end), f"{path}~{predicate}" if path else predicate)
            for nodes, path in paths
            for begin, predicate, end in edges
            if begin == nodes[-1] and predicate not in banned and end not in nodes
        ]
        found |= {f"{path}={nodes[-1]}" for nodes, path in paths if not nodes[-1].startswith("_:")}
    return found


def pairs(relation: Relation) -> set[tuple[int, str]]:
    return {
        (item, relation.labels[label]) for item, label in zip(relation.item.tolist(), relation.label.tolist())
    }


NODES = ["A", "B", "C", "D", "_:e"]
EDGES = st.tuples(st.sampled_from(NODES), st.sampled_from("pqr"), st.sampled_from(NODES))


@given(
    st.lists(EDGES, min_size=1, max_size=14),
    st.integers(1, 4),
    st.integers(1, 3),
    st.lists(st.lists(st.sampled_from("pqr"), max_size=2).map(tuple), max_size=3).map(tuple),
)
def test_exploring_agrees_with_walking_every_path(
    edges: list[tuple[str, str, str]], hops: int, least: int, exclude: tuple[tuple[str, ...], ...]
) -> None:
    triples = pl.DataFrame(edges, schema=["subject", "predicate", "object"], orient="row")
    items = ["A", "B", "B", "nowhere"]
    found = explore(triples, np.arange(4, dtype=np.int32), pl.Series(items), hops, least, exclude)
    walked = {(item, label) for item, start in enumerate(items) for label in walk(edges, start, hops, exclude)}
    counts = {label: sum(one == label for _, one in walked) for _, label in walked}
    assert pairs(found) == {(item, label) for item, label in walked if counts[label] >= least}
    assert len(pairs(found)) == len(found.item)  # each pair once
    assert all(a < b for a, b in pairwise(found.labels))


def test_the_papers_predicates_are_passed_over_on_the_first_hop_only() -> None:
    full = [PREFIXES[name.split(":")[0]] + name.split(":")[1] for name in EXCLUDED]
    assert len(full) == 10
    assert "http://www.w3.org/1999/02/22-rdf-syntax-ns#type" in full
    edges = [("A", predicate, "B") for predicate in [*full, "rdf:type", "p"]]
    edges += [("B", predicate, "C") for predicate in full]
    triples = pl.DataFrame(edges, schema=["subject", "predicate", "object"], orient="row")
    found = explore(triples, np.zeros(1, np.int32), pl.Series(["A"]), least=1)
    assert set(found.labels) == {"p=B", *(f"p~{predicate}=C" for predicate in full)}


def test_a_sign_of_ours_inside_a_predicate_is_escaped() -> None:
    triples = pl.DataFrame(
        [("A", "http://p/?a=1", "B"), ("B", "http://p/~q", "C")],
        schema=["subject", "predicate", "object"],
        orient="row",
    )
    found = explore(triples, np.zeros(1, np.int32), pl.Series(["A"]), least=1)
    assert found.labels == ("http://p/?a%3D1=B", "http://p/?a%3D1~http://p/%7Eq=C")


def test_the_dbpedia_folder_of_ml_1m_explored(data_dir: Path) -> None:
    """As the source itself, but for what a movie says of itself, and for two movies at one address."""
    if not (data_dir / "ml-1m" / "dbpedia").is_dir():
        pytest.skip("ml-1m is not in the data folder")
    source = load("ml-1m", data_dir).catalogue.features
    explored = load("ml-1m", data_dir, features=data_dir / "ml-1m" / "dbpedia", hops=1, feature_items=1)
    assert source is not None
    assert explored.catalogue.features is not None
    assert set(source.labels) - set(explored.catalogue.features.labels) == {
        "starring=http://dbpedia.org/resource/Digimon:_The_Movie",
        "starring=http://dbpedia.org/resource/My_Dog_Skip_(film)",
    }
    assert pairs(explored.catalogue.features) - pairs(source)
    assert explored.notes == ("627 of 3,706 items have no feature in dbpedia; they are kept.",)
