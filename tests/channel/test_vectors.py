"""The golden vectors of the channel: what the stages answer, and what the compiled ones answer."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.channel.phase_chains import chain
from murmura.core.channel import ChannelSettings
from murmura.core.contract import Phase
from murmura.core.errors import FederationError
from murmura.kernels.fixed_point import add_fixed_point_rows
from tests.channel.channel_vectors import COHORT, EXACT, PHASE, PUBLIC, ROUND, SECRET, VALUES, channel_vectors

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "channel.json").read_text())


def test_the_stages_give_the_golden_vectors() -> None:
    assert channel_vectors() == VECTORS


def test_a_first_word_by_hand() -> None:
    """Row 3 begins with 3.0: its place is 1 + 1 + 2 * 3, its step 30 / 2**15, so 3276.8 up or down."""
    assert VECTORS["channels"][0]["vector"][8] in (3276, 3277)
    assert VECTORS["channels"][0]["vector"][0] == 1


@pytest.mark.parametrize("golden", VECTORS["exact"]["channels"], ids=lambda one: one["settings"]["ring"])
def test_a_sum_with_a_word_above_its_bound_is_refused(golden: dict[str, Any]) -> None:
    made = chain(ChannelSettings(**golden["settings"]), Phase("train", EXACT), PUBLIC, COHORT)
    total = made.server(np.array(golden["vector"], np.uint32), ROUND).update
    assert total.tables["counts"].values.ravel().tolist() == VECTORS["exact"]["counts"]
    assert total.tables["packed"].values.ravel().tolist() == VECTORS["exact"]["packed"]
    with pytest.raises(FederationError, match="row 7 of 'packed' must be at most 70000"):
        made.server(np.array(golden["refused"], np.uint32), ROUND)


@pytest.mark.parametrize("golden", VECTORS["channels"], ids=lambda one: one["settings"]["block"])
def test_the_compiled_stages_agree(golden: dict[str, Any]) -> None:
    """They have no scalars; where nothing is clipped the words of the rows are the same."""
    way = ChannelSettings(**golden["settings"])
    made = chain(way, PHASE, PUBLIC, COHORT)
    vector_slice = made.vector_slice("items", ROUND)
    total = np.zeros(made.words, np.int64)
    rows = np.array([7, 1, 3], np.int32)
    places = np.argsort(rows)
    add_fixed_point_rows(places, rows, VALUES[[2, 0, 1]], vector_slice, SECRET, np.uint64(ROUND), total)
    if way.clip == 30:
        assert made.ring.wrap(total)[2:].tolist() == golden["vector"][2:]
    else:
        kept = VALUES.astype(np.float64) * (way.clip / np.sqrt((VALUES.astype(np.float64) ** 2).sum()))
        assert np.abs(total[8:11] * vector_slice.step - np.clip(kept[1], -2.5, 2.5)).max() <= vector_slice.step
