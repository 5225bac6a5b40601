"""Whoever has any earlier model gets the newest from the rows that changed, in the bytes that are announced."""

import hashlib
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from murmura.core import codec
from murmura.core.codec import RowVersions, decode_changes, decode_model, encode_changes, encode_model
from murmura.testing.checks import assert_same_bits
from tests.core.message_vectors import LISTED, NARROW, PUBLISHES, base


def walk(data: st.DataObject) -> list[dict[str, Any]]:
    """A model and what becomes of it: some rows change, some change back, sometimes none does."""
    models = [base()]
    for _ in range(data.draw(st.integers(0, 6))):
        newer = {name: array.copy() for name, array in models[-1].items()}
        for array in newer.values():
            for row in data.draw(st.sets(st.integers(0, len(array) - 1), max_size=2)):
                array[row] = data.draw(st.sampled_from([0, 1, 2]))
        models.append(newer)
    return models


@given(st.data(), st.sampled_from([PUBLISHES, NARROW]))
def test_every_earlier_model_leads_to_the_newest(data: st.DataObject, downloads: Any) -> None:
    models = walk(data)
    versions = RowVersions.first(downloads, LISTED)
    for before, after in pairwise(models):
        versions = versions.moved(before, after)
    whole = encode_model(models[-1], downloads, LISTED)
    for number, model in enumerate(models):
        rows, length = versions.missing(number)
        name = hashlib.sha256(encode_model(model, downloads, LISTED)).digest()
        message = versions.message(number, name, models[-1])
        shortest = encode_changes(model, models[-1], downloads, LISTED)
        if message is None:
            assert (rows, length) in ((4, len(whole)), (0, 0))
            continue
        got = decode_changes(message, model, downloads, LISTED)
        assert_same_bits(got, decode_model(whole, downloads, LISTED), "model")
        assert len(shortest) <= len(message) < len(whole)  # a row that changed back is sent again
        assert (rows > 0, length) == (True, len(message))
    assert versions.missing(len(models) - 1) == (0, 0)
    assert versions.missing(-1)[1] == len(whole)
    assert versions.message(-1, bytes(32), models[-1]) is None


def test_a_model_too_old_is_not_remembered(monkeypatch: Any) -> None:
    monkeypatch.setattr(codec, "REMEMBERED", 2)
    versions, model = RowVersions.first(NARROW, LISTED), base()
    for _ in range(4):
        versions = versions.moved(model, model)
    assert [versions.missing(number)[1] for number in range(5)] == [NARROW.model_bytes(4)] * 2 + [0] * 3
