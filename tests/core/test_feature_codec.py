"""Item features as bytes: a known answer, round trips, and what hostile bytes end in."""

import struct
import tracemalloc
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core import features
from murmura.core.errors import FederationError
from murmura.core.features import LARGEST, MAGIC, ItemFeatures, decode_features, encode_features

# three items: the first has features 0 and 2, the second none, the third 1 and 2
KNOWN = ItemFeatures(("a=1", "b=é", "c~d=2"), np.array([0, 2, 2, 4]), np.array([0, 2, 1, 2], np.int32))
TEXT = "a=1\nb=é\nc~d=2".encode()


def planes(*numbers: int) -> bytes:
    return b"".join(bytes(n >> 8 * plane & 255 for n in numbers) for plane in range(4))


def packed(sizes: tuple[int, int, int], counts: bytes, steps: bytes, text: bytes = TEXT) -> bytes:
    return MAGIC + zlib.compress(struct.pack("<III", *sizes) + counts + steps + text, 9)


GOOD = packed((3, 3, 4), planes(2, 0, 2), planes(0, 2, 1, 1))


def test_the_bytes_are_those_of_the_wire() -> None:
    assert zlib.decompress(encode_features(KNOWN)[3:]) == zlib.decompress(GOOD[3:])
    read = decode_features(GOOD)
    assert read.fingerprint == KNOWN.fingerprint
    assert (read.start.dtype.name, read.feature.dtype.name) == ("int64", "int32")


@given(st.integers(0, 8), st.data())
def test_what_is_written_is_read(items: int, data: Any) -> None:
    """Items without a feature, no feature at all, empty and odd labels."""
    cells = st.tuples(st.integers(0, max(items - 1, 0)), st.integers(0, 600))
    pairs = data.draw(st.sets(cells, max_size=40)) if items else set()
    item, feature = (np.array([pair[k] for pair in sorted(pairs)], np.int32) for k in (0, 1))
    text = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=4)
    features = ItemFeatures.of(
        tuple(data.draw(st.lists(text, min_size=601, max_size=601)))
        if data.draw(st.booleans())
        else ("",) * 601,
        items,
        item,
        feature,
    )
    assert decode_features(encode_features(features)).fingerprint == features.fingerprint


HOSTILE = {
    "nothing": b"",
    "other bytes": b"\0" * 100,
    "another version": b"mf\x02" + GOOD[3:],
    "a part": GOOD[:-5],
    "something after it": GOOD + b"\0",
    "two streams": GOOD + GOOD[3:],
    "not even sizes": MAGIC + zlib.compress(b"\0" * 11),
    "more pairs than bytes": packed((3, 3, 2**32 - 1), planes(2, 0, 2), planes(0, 2, 1, 1)),
    "more items than bytes": packed((2**32 - 1, 3, 4), planes(2, 0, 2), planes(0, 2, 1, 1)),
    "counts of other pairs": packed((3, 3, 4), planes(2, 1, 2), planes(0, 2, 1, 1)),
    "counts below zero": packed((3, 3, 4), planes(2, 2**32 - 2, 4), planes(0, 2, 1, 1)),
    "an unknown feature": packed((3, 3, 4), planes(2, 0, 2), planes(0, 3, 1, 1)),
    "a feature below zero": packed((3, 3, 4), planes(2, 0, 2), planes(2, 2**32 - 1, 1, 1)),
    "a feature twice": packed((3, 3, 4), planes(2, 0, 2), planes(0, 2, 1, 0)),
    "a label too many": packed((3, 3, 4), planes(2, 0, 2), planes(0, 2, 1, 1), TEXT + b"\nx=1"),
    "a label too few": packed((3, 3, 4), planes(2, 0, 2), planes(0, 2, 1, 1), b"a=1\nb=2"),
    "labels of no feature": packed((3, 0, 0), planes(0, 0, 0), b"", b"a=1"),
    "more features than pairs": packed((3, 5, 4), planes(2, 0, 2), planes(0, 2, 1, 1), TEXT + b"\nx\ny"),
    "labels in no encoding": packed((3, 3, 4), planes(2, 0, 2), planes(0, 2, 1, 1), b"\xff\n\xfe\n\xfd"),
}  # fmt: skip


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_other_bytes_are_refused_in_one_sentence(content: bytes) -> None:
    with pytest.raises(FederationError, match=r"^[^\n]* must [^\n]*, but [^\n]*\.$"):
        decode_features(content)


@given(st.binary(max_size=80), st.integers(0, 60))
def test_any_bytes_are_read_or_refused(noise: bytes, at: int) -> None:
    raw = zlib.decompress(GOOD[3:])
    for content in (
        MAGIC + zlib.compress(raw[:at] + noise),
        MAGIC + zlib.compress(raw[:at] + noise + raw[at:]),
    ):
        try:
            read = decode_features(content)
        except FederationError:
            continue
        assert len(read.start) == read.items + 1
        assert not len(read.feature) or 0 <= read.feature.min() <= read.feature.max() < len(read)


BOMBS = {
    "zeros": lambda n: b"\0" * (2 * n),
    "lines": lambda n: struct.pack("<III", 0, n - 12, 0) + b"\n" * (n - 13),
    "pairs": lambda n: struct.pack("<III", 1, 1, n // 4 - 5) + planes(n // 4 - 5) + b"\0" * (n - 20) + b"a",
}


@pytest.mark.parametrize("kind", BOMBS)
def test_few_bytes_do_not_take_much_memory(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a smaller limit, which the memory is a multiple of."""
    limit = 1 << 20
    monkeypatch.setattr(features, "LARGEST", limit)
    content = MAGIC + zlib.compress(BOMBS[kind](limit), 9)
    assert len(content) < 4000
    tracemalloc.start()
    try:
        with pytest.raises(FederationError):
            decode_features(content)
        assert tracemalloc.get_traced_memory()[1] < 16 * limit
    finally:
        tracemalloc.stop()


def test_what_no_device_would_read_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ItemFeatures(("a=1\nb", "c", "d"), KNOWN.start, KNOWN.feature)
    with pytest.raises(FederationError, match="must be one line"):
        encode_features(broken)
    monkeypatch.setattr(features, "LARGEST", 40)
    with pytest.raises(FederationError, match="at most 40 bytes"):
        encode_features(KNOWN)
    assert LARGEST == 1 << 26


def test_a_label_of_very_many_hops_is_far_away() -> None:
    """Hops are kept in a byte, and a label comes from the coordinator."""
    far = ItemFeatures(("~" * 1000 + "=1",), np.array([0, 1]), np.zeros(1, np.int32))
    assert decode_features(encode_features(far)).hops.tolist() == [255]
