"""Kinds of columns, numbers and times in cells."""

import numpy as np
import pandas as pd
import pytest
from references.tables import cells

from sturdygp.persistence.record import Record
from sturdygp.tables.inputs import decode_input
from sturdygp.tables.prepare import Request, prepare
from sturdygp.tables.timestamps import TIME_EXAMPLES


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["1", "2.5", " 3 ", "NA", ""], "number"),
        (["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "fault"], "number"),
        (["1", "fault", "3"], "text"),
        ([1, 2, 3], "number"),
        ([True, False], "number"),
        (["2024-01-01", "2024-01-02T10:00:00Z"], "time"),
        (["31/12/2023", "01/01/2024"], "time"),
        (["12/31/2023 10:00", "01/01/2024 11:00"], "time"),
        (list(pd.date_range("2024", periods=2, tz="Europe/Berlin")), "time"),
        (["18:30", "07:15"], "clock"),
        (["18.00.00", "19.00.00"], "clock"),
        (["A", "B"], "text"),
        (["31-Jan-2024", "01-Feb-2024"], "time"),
        (["2024-01-31 11:00 AM", "2024-01-31 02:00 PM"], "time"),
        (["11:00 AM", "02:00 pm"], "clock"),
        (["unknown", *(f"2024-01-{day:02}" for day in range(1, 31))], "time"),
        (["unknown", "2024-01-02", "2024-01-03"], "text"),
        (["?", "off", *(f"{hour}:30" for hour in range(24))], "clock"),
        ([[1, 2], [3]], "list"),
        (["", "n/a", None], "empty"),
        ([np.nan, np.nan], "empty"),
    ],
)
def test_cells_kind_of_columns(column, kind):
    assert cells(*column).kind == kind


def test_cells_numbers_leave_out_missing_values():
    np.testing.assert_array_equal(
        cells("1,5", "-200", "-200,0", decimal=",", missing=("-200",)).numbers(), [1.5, np.nan, np.nan]
    )
    np.testing.assert_array_equal(cells(1.5, -200.0, missing=("-200", "gone")).numbers(), [1.5, np.nan])
    np.testing.assert_array_equal(
        cells("1", "gone", "inf", missing=("gone",)).numbers(), [1.0, np.nan, np.nan]
    )
    np.testing.assert_array_equal(cells(1, None).numbers(), [1.0, np.nan])


@pytest.mark.parametrize(
    ("decimal", "texts", "numbers"),
    [
        (",", ["990", "1.001", "1.002"], [990.0, 1001.0, 1002.0]),
        (",", ["705,4", "1.003", "1.003,2", "-2.000.000"], [705.4, 1003.0, 1003.2, -2e6]),
        (".", ["850.8", "1,396", "1,396.5"], [850.8, 1396.0, 1396.5]),
        # A mark that stands elsewhere too is the decimal mark of this column.
        (",", ["0.998", "1.001", "12.5"], [0.998, 1.001, 12.5]),
        # Unless others leave no doubt; what does not fit is no number then.
        (",", ["1.003,2", "1.001", "0.5"], [1003.2, 1001.0, np.nan]),
        (".", ["3,5", "1,396"], [np.nan, np.nan]),
        (".", ["", "1,396", "n/a", "text, too"], [np.nan, 1396.0, np.nan, np.nan]),
    ],
)
def test_cells_numbers_read_marks_between_thousands(decimal, texts, numbers):
    np.testing.assert_array_equal(cells(*texts, decimal=decimal).numbers(), numbers)


def test_cells_read_ambiguous_dates_so_that_they_ascend():
    assert cells("11/02/2024", "12/02/2024", "01/03/2024").time_formats == ("%d/%m/%Y",)
    assert cells("02/01/2024", "02/02/2024", "03/01/2024").time_formats == ("%m/%d/%Y",)
    assert cells("01/02/2024", "02/02/2024", "03/02/2024").time_formats == ("%d/%m/%Y", "%m/%d/%Y")
    np.testing.assert_allclose(cells("18:30", "07:15:00", "").clocks("%H:%M")[[0, 2]], [18.5, np.nan])


@pytest.mark.parametrize(
    "days", ["%d.%m.%y", "%d.%m.%y %H:%M", "%d/%m/%y", "%m/%d/%y", "%d %B %Y", "%d-%b-%y"]
)
def test_cells_read_short_years_and_names_of_months(days):
    times = pd.date_range("2026-01-20", periods=60)
    frame = pd.DataFrame({"d": times.strftime(days), "x": np.arange(60.0) ** 2, "y": np.arange(60.0)})
    column = prepare(frame, Request(("y",))).plan.inputs[0]
    assert (column.kind, column.time_format) == ("time", days)
    np.testing.assert_array_equal(cells(*frame["d"]).times(days), times)


def test_cells_read_times_as_their_examples_are_written():
    for example in TIME_EXAMPLES:
        assert cells(example).kind == "time"
    (afternoon,) = cells("2024-01-31 02:00 PM").times("%Y-%m-%d %I:%M %p")
    assert afternoon == np.datetime64("2024-01-31T14:00")


def test_cells_take_no_numbers_words_or_far_days_for_times():
    odd = ["-200", "-999", "9999", "2024.5", "now", "today", "9999-12-31", "1066-10-14"]
    days = [f"2024-0{month}-{day:02}T00:00Z" for month in (1, 2, 3) for day in range(1, 29)]
    column = cells(*odd, *days)
    assert column.kind == "time"
    assert column.not_times().tolist() == [True] * len(odd) + [False] * len(days)
    stamps = cells(*np.array(["9999-12-31", *(day[:10] for day in days)], dtype="datetime64[s]"))
    assert np.flatnonzero(stamps.not_times()).tolist() == [0]
    assert cells(*np.array(["9999-12-31", "9998-12-31"], dtype="datetime64[s]")).kind == "text"
    assert np.isnat(cells(2024, 2025).times("ISO8601")).all()
    read = cells("2024.01.31", "20240131T1400", "2024-01", "2262-04-11").times("ISO8601")
    assert not np.isnat(read).any()


def test_cells_with_zones_are_in_utc():
    stamps = pd.date_range("2026-03-28", periods=20, freq="h", tz="Europe/Berlin")
    for times, zoned in (
        (stamps, True),
        (stamps.strftime("%Y-%m-%dT%H:%M:%S%z"), True),
        (stamps.strftime("%Y-%m-%d %H:%M:%S+01:00"), True),
        (stamps.tz_convert("UTC").strftime("%Y-%m-%dT%H:%M:%S.5Z"), True),
        (stamps.tz_localize(None), False),
        (stamps.strftime("%Y-%m-%d"), False),
        (stamps.strftime("%d-%m-%Y %H:%M"), False),
    ):
        frame = pd.DataFrame({"when": times, "y": np.arange(20.0)})
        frame.loc[19, "when"] = frame.loc[0, "when"]
        (column,) = prepare(frame.iloc[::-1], Request(("y",), inputs=("when",))).plan.inputs
        assert (column.title, " UTC)" in column.describe()) == ("when (UTC)" if zoned else "when", zoned)
        # What models without zones are saved as is what it ever was.
        assert ("zoned" in column.plain()) is zoned
        assert decode_input(Record("input", column.plain(), [])) == column


def test_cells_texts_of_numbers_are_those_of_a_text_file():
    assert cells(1234567, 1234568).texts().tolist() == ["1234567", "1234568"]
    assert cells(1234567.0, np.nan, 0.1234567, 1e300).texts().tolist()[:3] == ["1234567", None, "0.1234567"]
    assert cells(*[True]).texts().tolist() == ["True"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["20240330", "20240331", "20240401"], "2024-04-01"),
        (["2024033014", "2024033015", "2024040116"], "2024-04-01T16"),
        (["202403301400", "202403311400", "202404011430"], "2024-04-01T14:30"),
        (["20240330140000", "20240331140000", "20240401143015"], "2024-04-01T14:30:15"),
        ([20240330, 20240331, 20240401], "2024-04-01"),
    ],
)
def test_cells_take_dates_of_digits_for_times(values, expected):
    column = cells(*values)
    assert column.kind == "time"
    assert column.times(column.time_format())[2] == np.datetime64(expected)


@pytest.mark.parametrize(
    "values",
    [
        ["20240330", "20249931", "20240401"],  # no month has that number
        ["20240330", "20240330", "20240330"],
        ["20240330.5", "20240331", "20240401"],
        ["99991231", "99991230", "99991229"],
        ["1711800000", "1711800600", "1711801200"],
        ["2021", "2022", "2023"],
    ],
)
def test_cells_take_other_whole_numbers_for_amounts(values):
    assert cells(*values).kind == "number"
