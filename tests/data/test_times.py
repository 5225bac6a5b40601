"""Times in every form that is recognised, what is said about them, and what is refused as implausible."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from murmura.core.errors import DataError
from murmura.data.sources.registry import load
from murmura.data.tables.column_kinds import FORMS, ColumnKind, kind_of_times, times_of
from tests.data.careful_twin import BadValueError, parse_time

MOMENT = int(datetime(2012, 4, 30, 18, 20, 27, tzinfo=UTC).timestamp())
FIRST = int(datetime(2012, 4, 30, tzinfo=UTC).timestamp())
MINUTE = MOMENT - 27
FORMS_OF_ONE = {
    "1335810027": (ColumnKind.SECONDS, MOMENT),
    "1335810027.9": (ColumnKind.SECONDS, MOMENT),
    "1335810027999": (ColumnKind.MILLISECONDS, MOMENT),
    "1335810027000001": (ColumnKind.MICROSECONDS, MOMENT),
    "1335810027000000001": (ColumnKind.NANOSECONDS, MOMENT),
    "Mon Apr 30 18:20:27 +0000 2012": (ColumnKind.CHECK_IN, MOMENT),
    "2012-04-30": (ColumnKind.ISO, FIRST),
    "2012/04/30 18:20": (ColumnKind.ISO, MINUTE),
    "2012-04-30T18:20:27.123Z": (ColumnKind.ISO, MOMENT),
    "2012-04-30 20:20:27+02:00": (ColumnKind.ISO, MOMENT),
    "2012-04-30T16:50:27-0130": (ColumnKind.ISO, MOMENT),
    "20120430": (ColumnKind.COMPACT, FIRST),
    "30.04.2012": (ColumnKind.DAY_FIRST, FIRST),
    "30.4.2012 18:20": (ColumnKind.DAY_FIRST, MINUTE),
    "30/04/2012, 6:20:27 pm": (ColumnKind.DAY_FIRST, MOMENT),
    "4/30/2012 6:20 PM": (ColumnKind.MONTH_FIRST, MINUTE),
}


@pytest.mark.parametrize("text", FORMS_OF_ONE)
def test_a_form_is_recognised_and_read_alike_fast_and_careful(text: str) -> None:
    kind, seconds = FORMS_OF_ONE[text]
    assert kind_of_times(pl.Series([text] * 3)) is kind
    assert parse_time(kind, text) == seconds
    assert times_of(pl.Series([text] * 2), kind).to_list() == [seconds] * 2


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize(
    "text",
    [
        "2012-02-30", "2012-04-30 24:00", "2012-04-30 18:60", "2012-04-30 18:20:60", "30.02.2012", "31/31/2012",
        "30.04.2012 13:00 PM", "30.04.2012 0:10 am", "20121301", "1969-12-31", "2100-01-01", "12-04-30", "x",
        "Tue Apr 30 18:20:27 +0000 2012", "2012-04-30\n", " 2012-04-30",
    ],
)  # fmt: skip
def test_what_is_no_date_is_none_for_both_readers(kind: ColumnKind, text: str) -> None:
    with pytest.raises(BadValueError):
        parse_time(kind, text)
    assert times_of(pl.Series([text]), kind).to_list() == [None]


def written(folder: Path, *times: str) -> Path:
    rows = "".join(f"{row},{row},{time}\n" for row, time in enumerate(times))
    path = folder / "t.csv"
    path.write_text("user,item,when\n" + rows, "utf-8")
    return path


@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        (
            ["1335810027999", "1335896427000"],
            "times are milliseconds since 1970 (2012-04-30 to 2012-05-01, UTC).",
        ),
        (["1335810027", "1335896427"], "times are seconds since 1970 (2012-04-30 to 2012-05-01, UTC)."),
        (["1", "7"], "times are numbers from 1 to 7, too small for dates: they only order the rows."),
        (
            ["1.4.2012", "30.4.2012"],
            "dates like '30.04.2012 18:20', the day first (2012-04-01 to 2012-04-30, UTC).",
        ),
        (["4/1/2012", "4/30/2012"], "dates like '04/30/2012 18:20', the month first (2012-04-01 to"),
    ],
)
def test_how_times_were_understood_is_said(tmp_path: Path, times: list[str], sentence: str) -> None:
    assert sentence in load(written(tmp_path, *times)).notes[-1]


@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        (
            ["1335810027999", "1335810027999", "12"],
            "line 4: the time ('when') must be milliseconds since 1970, of the years 1980",
        ),
        (
            ["1335810027", "13358100270"],
            "line 3: the time ('when') must be seconds since 1970, but is '13358100270'",
        ),
        (["13358100270"] * 2, "line 2: the time ('when') must be milliseconds since 1970, of the years 1980"),
        (["2012-04-30", "1335810027"], "line 3: the time ('when') must be a date like '2012-04-03 18:20:27'"),
        (
            ["01/02/2012", "03/04/2012"],
            "dates must show which number is the day, but none of this column is above 12",
        ),
    ],
)
def test_implausible_times_are_refused(tmp_path: Path, times: list[str], sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        load(written(tmp_path, *times))
    assert sentence in str(caught.value)


def test_the_day_may_show_far_into_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, *["01/02/2012"] * 1_500, "04/30/2012")
    time = load(path).interactions.time
    assert time is not None
    assert time.tolist()[0] == int(datetime(2012, 1, 2, tzinfo=UTC).timestamp())
