"""The table of protections: every row ends in the same sum, and a row that does not is no row."""

import csv
from dataclasses import replace

import pytest
from benchmarks.protections import LOST, ROWS, TABLE, Round, judge, one_round

from murmura.lab.protections.sum_protocol import DropOuts


@pytest.mark.parametrize("name", ROWS)
def test_every_protocol_does_the_same_work(name: str) -> None:
    if name in ("ckks", "paillier"):
        pytest.importorskip({"ckks": "tenseal", "paillier": "phe"}[name])
    lost = DropOuts(frozenset({0}), frozenset({1})) if ROWS[name].lost is LOST else ROWS[name].lost
    found = one_round(replace(ROWS[name], lost=lost), clients=8, words=200)
    assert found.equal
    assert found.bytes_up >= 7 / 8 * 200 * 4
    assert judge(found, None)[0].startswith(f"{found.bytes_up:,.0f} bytes up")


def test_another_sum_is_not_equal_work() -> None:
    with pytest.raises(AssertionError, match="the same sum"):
        judge(Round(False, 1.0, 1.0, 1.0, 0.0), None)


def test_the_kept_table_has_every_row() -> None:
    with TABLE.open(encoding="utf-8", newline="") as stream:
        kept = list(csv.DictReader(stream))
    assert [line["protection"] for line in kept][1:] == [row.title for row in ROWS.values()]
    assert {line["equal to the bit"] for line in kept} == {"yes"}
    trained = {line["P@10"] for line in kept if line["P@10"] and "lost" not in line["protection"]}
    assert len(trained) == 1  # what is the same sum is the same model
