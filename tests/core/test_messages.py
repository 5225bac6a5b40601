"""Messages of version 2: the golden ones, and what changed of a model is the model."""

import json
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.codec import (
    VERSION,
    decode,
    decode_changes,
    decode_model,
    downloaded_model,
    encode_changes,
    encode_model,
)
from murmura.core.errors import FederationError
from murmura.core.message import MessageSpec, TableSpec
from murmura.testing.checks import assert_same_bits, same_update
from tests.core.message_vectors import LISTED, NARROW, PUBLISHES, SENDS, base, message_vectors, newer, update

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "messages.json").read_text(encoding="utf-8"))


def read(kind: str, message: bytes) -> Any:
    if kind == "update":
        return decode(message, SENDS)
    if kind == "model":
        return decode_model(message, PUBLISHES, LISTED)
    if kind == "int8 model":
        return decode_model(message, NARROW, LISTED)
    return decode_changes(message, base(), PUBLISHES, LISTED)


def test_the_golden_messages_are_what_is_written_and_read() -> None:
    assert message_vectors() == VECTORS, "run python -m tests.core.message_vectors vectors/messages.json"
    assert VECTORS["version"] == VERSION
    assert same_update(read("update", bytes.fromhex(VECTORS["update"])), update())
    whole = read("model", bytes.fromhex(VECTORS["model"]))
    assert_same_bits(read("changes", bytes.fromhex(VECTORS["changes"])), whole, "model")
    same = decode_changes(bytes.fromhex(VECTORS["unchanged"]), newer(), PUBLISHES, LISTED)
    assert_same_bits(same, whole, "model")
    narrow = read("int8 model", bytes.fromhex(VECTORS["int8 model"]))
    changed = decode_changes(bytes.fromhex(VECTORS["int8 changes"]), base(), NARROW, LISTED)
    assert_same_bits(changed, narrow, "model")
    assert {name: values.tolist() for name, values in narrow.items()} == VECTORS["int8 values"]


@pytest.mark.parametrize("bad", VECTORS["tampered"], ids=lambda one: f"{one['message']}: {one['what']}")
def test_tampered_messages_are_refused(bad: dict[str, str]) -> None:
    with pytest.raises(FederationError, match="must"):
        read(bad["message"], bytes.fromhex(bad["bytes"]))


def test_the_layout_of_changes_is_the_documented_one() -> None:
    """Header, base, then of Q row 3, of b rows 0 and 1 (a sign is a change), of n none."""
    message = encode_changes(base(), newer(), PUBLISHES, LISTED)
    assert message[:4] == b"mc\x02\x03"
    assert len(message) == 8 + 32 + (4 + 4 + 2 * 4) + (4 + 2 * (4 + 8)) + 4
    assert len(encode_changes(newer(), newer(), PUBLISHES, LISTED)) == 8 + 32 + 3 * 4


@given(st.data(), st.sampled_from([None, "float16", "int8"]))
def test_changes_decode_to_the_arrays_of_the_whole_message(data: st.DataObject, narrow: Any) -> None:
    """Any rows changed, NaN and minus zero too; in shorter numbers the model is compared as it travels."""
    publishes = PUBLISHES.narrowed(narrow) if narrow else PUBLISHES
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    old: dict[str, Any] = {
        "Q": rng.normal(size=(5, 2)).astype(np.float32),
        "b": rng.normal(size=3),
        "n": np.ones(5, np.uint32),
    }
    new = {name: array.copy() for name, array in old.items()}
    for name, array in new.items():
        for row in data.draw(st.sets(st.integers(0, len(array) - 1))):
            array[row] = data.draw(st.sampled_from([7, 1] if name == "n" else [0.0, -0.0, 1.5, 1e-9]))
    if not narrow and data.draw(st.booleans()):
        new["b"][1] = np.nan
    message = encode_changes(old, new, publishes, LISTED)
    whole = decode_model(encode_model(new, publishes, LISTED), publishes, LISTED)
    here = decode_model(encode_model(old, publishes, LISTED), publishes, LISTED)
    for kept in (old, here, downloaded_model(here, publishes, LISTED)):
        assert_same_bits(decode_changes(message, kept, publishes, LISTED), whole, "model")
    with pytest.raises(FederationError, match="download the whole model"):
        decode_changes(message, {**old, "n": np.zeros(5, np.uint32)}, publishes, LISTED)


def plain_int8(values: Any) -> list[list[float]]:
    """By trial: the smallest power of two whose 127 multiples reach the largest value."""
    rows, e = np.asarray(values, np.float64).tolist(), -128
    while 127 * 2.0**e < max(abs(x) for row in rows for x in row):
        e += 1
    return [[round(x / 2.0**e) * 2.0**e for x in row] for row in rows]  # halves to the even one


NUMBERS = st.floats(-(2.0**100), 2.0**100, width=32)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=5, max_size=5), st.integers(-90, 0))
def test_int8_is_the_plain_rounding_and_rounds_once(rows: list[tuple[float, float]], scale: int) -> None:
    """Whoever encodes what it has decoded writes the same bytes: a device can name the model it has."""
    model = {**base(), "Q": np.ldexp(np.array(rows, np.float32), scale)}
    message = encode_model(model, NARROW, LISTED)
    assert len(message) == NARROW.model_bytes(len(LISTED))
    got = decode_model(message, NARROW, LISTED)
    assert got["Q"][LISTED].tolist() == plain_int8(model["Q"][LISTED])
    assert encode_model(got, NARROW, LISTED) == message
    simulated = downloaded_model(model, NARROW, LISTED)
    assert simulated["Q"].dtype == np.float32
    assert (simulated["Q"][LISTED] == got["Q"][LISTED]).all()
    off = np.abs(got["Q"] - model["Q"])[LISTED]
    assert (off <= max(np.abs(model["Q"][LISTED]).max() / 127, 2.0**-129)).all()


def test_an_item_that_is_not_on_offer_changes_no_number() -> None:
    """A simulation knows it, a device does not: both must round alike."""
    model, far = base(), base()
    far["Q"][2] = 1e6
    for way in (model, far):
        assert (downloaded_model(way, NARROW, LISTED)["Q"][LISTED] == model["Q"][LISTED]).all()  # eighths
    assert encode_model(far, NARROW, LISTED) == encode_model(model, NARROW, LISTED)


@pytest.mark.parametrize("wrong", [np.inf, np.nan, 3.4e38])
def test_what_int8_cannot_hold_is_refused(wrong: float) -> None:
    with pytest.raises(FederationError, match=r"'Q' must stay below 127 \* 2\*\*121 .* download it exact"):
        encode_model({**base(), "Q": np.full((5, 2), wrong, np.float32)}, NARROW, LISTED)


@given(st.data())
def test_changed_bytes_are_refused_or_still_a_model(data: st.DataObject) -> None:
    message = bytearray(encode_changes(base(), newer(), PUBLISHES, LISTED))
    for _ in range(data.draw(st.integers(1, 4))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(message)))
    for changed in (bytes(message), bytes(message[:cut]), bytes(message) + b"\0"):
        with suppress(FederationError):
            read_back = read("changes", changed)
            assert read_back.keys() == base().keys()


def test_changes_that_claim_millions_of_rows_cost_no_memory() -> None:
    publishes = MessageSpec((TableSpec("t", "dense", 1000, 2, "float64"),))
    model = {"t": np.zeros((1000, 2))}
    good = encode_changes(model, model, publishes, LISTED)
    claim = good[:40] + (2**31).to_bytes(4, "little")
    tracemalloc.start()
    with pytest.raises(FederationError, match="at most 1000 rows"):
        decode_changes(claim, model, publishes, LISTED)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000  # the base's own message is most of it
