"""The reader of tables against its plain twin: the same rows, and the same reasons for what is left out."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from murmura.core.errors import DataError
from murmura.data.tables.column_kinds import ColumnKind, ColumnSpec, TextLayout
from murmura.data.tables.text_file import TextFile, read_text
from murmura.data.tables.text_table import interactions_of, lines, read_careful, read_fast
from tests.data import careful_twin
from tests.hypothesis_profiles import examples

DAY = "Tue Apr 03 18:20:27 +0000 2012"
QUOTED = [
    '"', '"x"', '"7"', '"a,b"', '"a""b"', '""', '"a\nb"', "a\rb", '"a\rb"', '"a"\rb', 'a"b', '"a"b',
    '"2012-04-03"',
]  # fmt: skip
ODD = ["", " ", "nan", "inf", "-inf", "1e400", "-5", "9" * 20, "x" * 300, "\x1f", "\x1a", *QUOTED]
# the first three of each are good; the rest is good or nearly so
FIELDS = {
    ColumnKind.NUMBER_ID: ["1", "2", "-3", "0", "007", "123456789012345678", "-0", "+1", "1_0", *ODD],
    ColumnKind.TEXT_ID: ["a", "é", "007", " b", "c ", "x" * 255, "x" * 256, "\x1a", "'", *ODD],
    ColumnKind.VALUE: ["1", "2.50", ".5", "5.", "1e3", "-0.1", "+2", "1e-400", "0x1", "1_0", "1e", " 1", "٣",
    *ODD], ColumnKind.SECONDS: ["0", "978300760", "9783.0", "1.9", "1e9", "-0.5", "-1", "9007199254740992",
    "1e16", *ODD], ColumnKind.CHECK_IN: [
        DAY, "Sun Feb 29 00:00:00 +0000 2004", "Fri Jan 02 23:59:59 +0000 1970",
        DAY.replace("Tue", "Wed"), DAY.replace("Tue", "tue"), DAY.replace("03", "3"),
        DAY.replace("+0000", "+0200"),
        DAY.replace("27", "60"), "Mon Dec 31 23:59:60 +0000 2012", "Sat Feb 29 00:00:00 +0000 2003",
        "Fri Jan 02 24:00:00 +0000 1970", "Wed Dec 31 23:59:59 +0000 1969",
    ],
    ColumnKind.ISO: [
        "2012-04-03 18:20:27", "2012-04-03T18:20:27", "2012-04-03", "2012-02-30", "1969-12-31", "2012-4-3",
        "2012-04-03 24:00:00", "2012-04-03 18:20:60", "0000-01-01", "9999-12-31", "2012-04-03 18:20",
    ],
}  # fmt: skip


@st.composite
def files(draw: st.DrawFn) -> tuple[ColumnKind, str, list[list[str]]]:
    time = draw(st.sampled_from([ColumnKind.SECONDS, ColumnKind.CHECK_IN, ColumnKind.ISO]))
    kinds = (ColumnKind.NUMBER_ID, ColumnKind.TEXT_ID, ColumnKind.VALUE, time)
    row = st.tuples(*(st.sampled_from(FIELDS[kind]) for kind in kinds)).map(list)
    clean = st.tuples(*(st.sampled_from(FIELDS[kind][:3]) for kind in kinds)).map(list)
    nearly = st.tuples(clean, row, st.integers(0, 3)).map(
        lambda t: [*t[0][: t[2]], t[1][t[2]], *t[0][t[2] + 1 :]]
    )
    ragged = st.lists(st.sampled_from([*ODD, "1"]), min_size=1, max_size=6)
    rows = draw(st.lists(clean | nearly | ragged, min_size=1, max_size=2))
    return time, draw(st.sampled_from(["\t", "::", ","])), rows


def refused(reader: Any, text: TextFile, layout: TextLayout, columns: tuple[ColumnSpec, ...]) -> str:
    """The sentence about the first bad row."""
    try:
        reader(text.path, lines(text, layout), columns, 4, layout.repeats, False)
    except DataError as error:
        return str(error)
    return ""


@pytest.mark.slow
@examples(3)
@given(
    file=files(),
    ending=st.sampled_from(["\n", "\r\n"]),
    close=st.sampled_from(["", "\n", "\n\n", "\r\n\r\n"]),
    repeats=st.booleans(),
)
def test_it_reads_what_the_careful_reader_reads(
    file: tuple[ColumnKind, str, list[list[str]]], ending: str, close: str, repeats: bool
) -> None:
    time, separator, rows = file
    layout = TextLayout(separator, {}, header=False, width=4, quoted=separator == ",", repeats=repeats)
    columns = (
        ColumnSpec("user", 0, ColumnKind.NUMBER_ID, "u"),
        ColumnSpec("item", 1, ColumnKind.TEXT_ID, "i"),
        ColumnSpec("value", 2, ColumnKind.VALUE, "v"),
        ColumnSpec("time", 3, time, "t"),
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.txt"
        path.write_text(ending.join(separator.join(row) for row in rows) + close, "utf-8", newline="")
        try:
            text = read_text(path)
        except DataError:
            return
        fast = read_fast(text, layout, columns, 4)
        slow, bad = careful_twin.read_careful(path, lines(text, layout), columns, 4, repeats, skip_bad=True)
        here = read_careful(path, lines(text, layout), columns, 4, repeats, skip_bad=True)
        readers = careful_twin.read_careful, read_careful
        said = [refused(reader, text, layout, columns) for reader in readers]
    event(f"fast {fast is not None}, bad {bool(bad)}")
    assert here[0].equals(slow)
    assert list(here[1].items()) == list(bad.items())
    assert said[0] == said[1]
    if fast is not None and len(fast) and repeats:
        assert not bad
        assert slow.equals(fast)
        assert interactions_of([slow]).fingerprint == interactions_of([fast]).fingerprint


def test_a_clean_file_takes_the_fast_path(tmp_path: Path) -> None:
    """Otherwise the twin test above would compare nothing, and large files would be slow."""
    path = tmp_path / "ratings.dat"
    path.write_text("1::10::5::978300760\n2::11::3.5::978300761\n")
    layout = TextLayout("::", {}, header=False, width=4)
    kinds = (ColumnKind.NUMBER_ID, ColumnKind.NUMBER_ID, ColumnKind.VALUE, ColumnKind.SECONDS)
    columns = tuple(
        ColumnSpec(part, place, kind, part) for place, (part, kind) in enumerate(zip("uivt", kinds))
    )
    fast = read_fast(read_text(path), layout, columns, 4)
    assert fast is not None
    assert fast.rows() == [(1, 10, 5.0, 978300760), (2, 11, 3.5, 978300761)]
