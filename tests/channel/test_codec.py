"""Messages: exact lengths, round trips, and nothing malformed gets in."""

import struct
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.codec import decode, decode_model, downloaded_model, encode, encode_model
from murmura.core.errors import FederationError
from murmura.core.message import MessageSpec, Number, TableSpec
from murmura.core.update import SparseRows, Update, add_up
from murmura.testing.checks import same_update

SENDS = MessageSpec(
    (TableSpec("items", "item", 50, 3, "float32", bound=10.0), TableSpec("whole", "dense", 4, 2, "float64")),
    ("loss",),
)


def update(index: list[int], dense: bool = True, loss: float = 0.5) -> Update:
    rows = np.array(index, np.int32)
    values = (rows[:, None] / 7 - np.arange(3)).astype(np.float32)
    whole = SparseRows(np.arange(4, dtype=np.int32), np.arange(8.0).reshape(4, 2))
    return Update({"items": SparseRows(rows, values), "whole": whole if dense else SparseRows.empty(2, float)},
                  {"loss": loss})  # fmt: skip


@given(st.sets(st.integers(0, 49)), st.booleans(), st.floats(allow_nan=False, allow_infinity=False))
def test_what_is_sent_is_what_arrives(index: set[int], dense: bool, loss: float) -> None:
    sent = update(sorted(index), dense, loss)
    message = encode(sent, SENDS)
    assert len(message) == SENDS.message_bytes({"items": len(index), "whole": 4 if dense else 0})
    assert same_update(decode(message, SENDS), sent)


def test_the_layout_is_the_documented_one() -> None:
    sends = MessageSpec((TableSpec("t", "item", 10, 2, "float32"),), ())
    rows = SparseRows(np.array([3, 8], np.int32), np.array([[1, 2], [3, 4]], np.float32))
    expected = struct.pack("<2sBBI", b"mu", 2, 1, sends.mark) + struct.pack("<III4f", 2, 3, 8, 1, 2, 3, 4)
    assert encode(Update({"t": rows}), sends) == expected
    assert len(expected) == 8 + 4 + 2 * (4 + 2 * 4)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint32"])
def test_every_number_travels(dtype: Number) -> None:
    sends = MessageSpec((TableSpec("t", "feature", 5, 1, dtype),))
    sent = Update({"t": SparseRows(np.array([4], np.int32), np.array([[7]], dtype))})
    assert same_update(decode(encode(sent, sends), sends), sent)


def wrong(name: str) -> Update:
    good = update([1, 2, 3])
    items = good.tables["items"]
    tables = {
        "row too large": SparseRows(np.array([1, 2, 50], np.int32), items.values),
        "row below zero": SparseRows(np.array([-1, 2, 3], np.int32), items.values),
        "rows in disorder": SparseRows(np.array([2, 1, 3], np.int32), items.values),
        "row twice": SparseRows(np.array([1, 1, 3], np.int32), items.values),
        "wide numbers": SparseRows(items.index, items.values.astype(np.float64)),
        "wrong width": SparseRows(items.index, items.values[:, :2]),
        "not finite": SparseRows(items.index, np.full((3, 3), np.nan, np.float32)),
        "above the bound": SparseRows(items.index, np.full((3, 3), 11, np.float32)),
    }
    if name in tables:
        return Update({**good.tables, "items": tables[name]}, good.scalars)
    whole = SparseRows(np.arange(2, dtype=np.int32), np.zeros((2, 2)))
    return {
        "a table more": Update({**good.tables, "more": items}, good.scalars),
        "a table less": Update({"items": items}, good.scalars),
        "a scalar more": Update(good.tables, {"loss": 1.0, "age": 44.0}),
        "a scalar not finite": Update(good.tables, {"loss": float("inf")}),
        "half a dense table": Update({"items": items, "whole": whole}, good.scalars),
    }[name]


WRONG_ROWS = ["row too large", "row below zero", "rows in disorder", "row twice"]
WRONG_VALUES = ["wide numbers", "wrong width", "not finite", "above the bound"]
WRONG_PARTS = ["a table more", "a table less", "a scalar more", "a scalar not finite", "half a dense table"]


@pytest.mark.parametrize("name", [*WRONG_ROWS, *WRONG_VALUES, *WRONG_PARTS])
def test_what_is_not_declared_is_refused_before_it_leaves(name: str) -> None:
    with pytest.raises(FederationError, match="must"):
        encode(wrong(name), SENDS)


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_a_declared_update(message: bytes) -> None:
    with suppress(FederationError):
        SENDS.check(decode(message, SENDS))


@given(st.data())
def test_a_changed_message_is_refused_or_still_declared(data: st.DataObject) -> None:
    message = bytearray(encode(update([0, 7, 9, 31]), SENDS))
    for _ in range(data.draw(st.integers(1, 4))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(message)))
    for changed in (bytes(message), bytes(message[:cut]), bytes(message) + b"\0"):
        with suppress(FederationError):
            SENDS.check(decode(changed, SENDS))


def test_a_message_that_claims_millions_of_rows_costs_no_memory() -> None:
    sends = MessageSpec((TableSpec("t", "item", 2**31 - 1, 1000, "float64"),))
    claim = struct.pack("<2sBBII", b"mu", 2, 1, sends.mark, 2**30)
    tracemalloc.start()
    with pytest.raises(FederationError, match="at least"):
        decode(claim, sends)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


def test_a_message_of_another_declaration_is_refused() -> None:
    other = MessageSpec(
        (TableSpec("items", "item", 51, 3), TableSpec("whole", "dense", 4, 2, "float64")), ("loss",)
    )
    with pytest.raises(FederationError, match="the same configuration"):
        decode(encode(update([1]), SENDS), other)


def test_the_public_model_travels_without_items_that_are_not_on_offer() -> None:
    publishes = MessageSpec((TableSpec("Q", "item", 6, 2, "float32"), TableSpec("b", "item", 6, 1, "float32")))
    model = {"Q": np.arange(12, dtype=np.float32).reshape(6, 2), "b": np.arange(6, dtype=np.float32)}
    listed = np.array([1, 4], np.int32)
    message = encode_model(model, publishes, listed)
    assert len(message) == publishes.model_bytes(2) == 8 + 4 + 2 * 2 * 4 + 4 + 2 * 4
    got = decode_model(message, publishes, listed)
    assert got["Q"].tolist() == [[0, 0], [2, 3], [0, 0], [0, 0], [8, 9], [0, 0]]
    with pytest.raises(FederationError, match="at most 1 rows"):
        decode_model(message, publishes, listed[:1])


@given(st.lists(st.lists(st.integers(0, 12), max_size=8), min_size=1, max_size=6))
def test_adding_up_is_the_sum_in_the_order_given(parts: list[list[int]]) -> None:
    rng = np.random.default_rng(0)
    updates = [Update({"t": SparseRows.of(np.array(p, np.int32), rng.normal(size=(len(p), 2)))}, {"n": 1.0})
               for p in parts]  # fmt: skip
    total, dense = add_up(updates), np.zeros((13, 2))
    for part in updates:
        dense[part.tables["t"].index] += part.tables["t"].values
    rows = total.tables["t"]
    assert rows.index.tolist() == sorted({i for p in parts for i in p})
    assert rows.values.tolist() == dense[rows.index].tolist()
    assert total.scalars["n"] == len(parts)
    stepwise = updates[0]
    for part in updates[1:]:
        stepwise = stepwise + part
    assert same_update(stepwise, total)


def test_a_model_travels_in_half_the_bytes_and_is_what_a_simulation_rounds_to() -> None:
    publishes = MessageSpec((TableSpec("Q", "item", 6, 3, "float32"), TableSpec("n", "dense", 2, 1, "uint32")))
    listed = np.array([0, 2, 5], np.int32)
    model = {
        "Q": np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32),
        "n": np.array([[1], [2]], np.uint32),
    }
    wire = publishes.narrowed("float16")
    message = encode_model(model, wire, listed)
    assert len(message) == wire.model_bytes(3) == publishes.model_bytes(3) - 3 * 3 * 2
    got = decode_model(message, wire, listed)
    simulated = downloaded_model(model, wire, listed)["Q"][listed]
    assert (got["Q"][listed].astype(np.float32) == simulated).all()
    assert (got["n"] == model["n"]).all()
    off = np.abs(simulated - model["Q"][listed])
    assert 0 < off.max() <= np.abs(model["Q"]).max() * 2.0**-11  # half a unit of eleven bits
    with pytest.raises(FederationError, match="float16"):
        encode_model({**model, "Q": np.full((6, 3), 1e6, np.float32)}, wire, listed)
