"""vectors/device.json is what this implementation does on a device, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.channel.noise_terms import NoiseTerms
from murmura.core.errors import DataError, FederationError, SettingError
from murmura.core.features import decode_features
from murmura.device.journal import Journal
from tests.http.device_vectors import device_vectors

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "device.json").read_text(encoding="utf-8")
)
ROUNDED = ("ranking", "factors", "low_rank", "kgflex", "noise")  # libraries add and find roots in their own way
# In float32 a sum of n terms is off by about n roundings of 2**-24, and no sum here has more than
# 64 terms: 64 * 2**-24 on each side.
DIGITS = 2 * 64 * 2.0**-24


def test_the_file_is_what_the_code_does() -> None:
    made, told = device_vectors(), "run python -m tests.http.device_vectors vectors/device.json"
    assert {**made, **dict.fromkeys(ROUNDED)} == {**VECTORS, **dict.fromkeys(ROUNDED)}, told
    made["low_rank"], told_of = [made["low_rank"]], {**VECTORS, "low_rank": [VECTORS["low_rank"]]}
    for kind, numbers in (
        ("low_rank", ("scores",)),
        ("ranking", ("scores",)),
        ("factors", ("fold_in", "ready", "scores")),
    ):
        for one, known in zip(made[kind], told_of[kind], strict=True):
            for name in numbers:
                np.testing.assert_allclose(one.pop(name), known[name], rtol=DIGITS, atol=DIGITS)
            assert one == {name: value for name, value in known.items() if name not in numbers}, told
    for one, known in zip(made["kgflex"], VECTORS["kgflex"], strict=True):
        for name in ("gains", "after", "values", "scores"):
            np.testing.assert_allclose(one.pop(name), known[name], rtol=DIGITS, atol=DIGITS)
        apart = np.subtract(one.pop("vector"), known["vector"], dtype=np.int64).astype(np.int32)  # in the ring
        assert np.abs(apart).max() <= 1
        one["reasons"] = [[part["name"] for part in parts] for parts in one["reasons"]]
        words = [[part["name"] for part in parts] for parts in known["reasons"]]
        assert one == {**{name: known[name] for name in one}, "reasons": words}, told
    for one, known in zip(made["noise"], VECTORS["noise"], strict=True):
        for name, multiplier in one["good"].pop("multipliers").items():
            assert multiplier == pytest.approx(known["good"]["multipliers"][name], rel=1e-9)
        assert one["good"] == {n: value for n, value in known["good"].items() if n != "multipliers"}, told


def test_what_is_shared_never_grows_beyond_the_largest_share_of_what_there_was() -> None:
    most = 0
    for one in VECTORS["consent"]:
        most = max(most, int(np.floor(one["pi"] * len(one["items"]) + 1e-9)))
        assert len(one["joined"]) <= most
        assert one["joined"][: len(one["before"])] == one["before"]
        assert not {i for i, c in zip(one["items"], one["consent"]) if c} & set(one["never"])


def test_a_journal_that_was_changed_is_refused(tmp_path: Path) -> None:
    plain = VECTORS["journal"]
    journal = Journal(tmp_path / "journal.jsonl")

    def write(lines: list[str]) -> None:
        journal.path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        count, head = len(plain["lines"]), plain["heads"][-1]
        journal.path.with_suffix(".head").write_text(f"{count} {head}\n", encoding="utf-8")

    write(plain["lines"])
    assert journal.verify().head == plain["heads"][-1]
    first, second, third = plain["lines"]
    for wrong in ([second, third], [first, third, second], [first, second], [first.replace("1172", "1171")]):
        write(wrong)
        with pytest.raises(DataError, match="must"):
            journal.verify()


@pytest.mark.parametrize("plain", VECTORS["features"]["tampered"], ids=lambda one: str(one["what"]))
def test_item_features_that_are_none_are_refused(plain: dict[str, str]) -> None:
    with pytest.raises(FederationError, match="must"):
        decode_features(bytes.fromhex(plain["bytes"]))


@pytest.mark.parametrize("plain", VECTORS["noise"])
def test_noise_that_claims_too_much_is_refused(plain: dict[str, Any]) -> None:
    NoiseTerms(**plain["good"]).check()
    with pytest.raises(SettingError, match="must bound what is revealed"):
        NoiseTerms(**plain["bad"]).check()
