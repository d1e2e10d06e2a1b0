"""Tables: files are read as people write them, columns are recognised, and what was guessed is told."""

import json
from collections import Counter
from datetime import datetime, timedelta

import numpy as np
import openpyxl
import pandas as pd
import pytest
from pyarrow import parquet

from sturdygp import RobustGPRegressor, StandardGPRegressor, load
from sturdygp.cli.tables import fit, flag
from sturdygp.estimators.registry import FLAGGING, FOR_TABLES, REGISTRY
from sturdygp.estimators.summary import Advice
from sturdygp.exceptions import ModelFileError, TableError
from sturdygp.experiments.methods import METHODS
from sturdygp.persistence.record import Record
from sturdygp.tables.cells import CellFormat, Cells
from sturdygp.tables.diagnostics import misfits
from sturdygp.tables.flagging import (
    Recipe,
    check_results_absent,
    choose_rows,
    fit_table,
    flag_table,
    result_names,
    with_results,
)
from sturdygp.tables.formatting import in_text, readable
from sturdygp.tables.inputs import decode_input
from sturdygp.tables.model import TableModel
from sturdygp.tables.plan import Plan
from sturdygp.tables.prepare import Request, prepare
from sturdygp.tables.read import Dialect, KnownDialect, TableFile, guess_separator, read_table
from sturdygp.tables.timestamps import TIME_EXAMPLES
from sturdygp.tables.write import check_room, write_table

# As the Air Quality data of the UCI repository are written.
EUROPEAN = """Date;Time;CO(GT);T;remark;;
10/03/2004;18.00.00;2,6;13,6;;;
11/03/2004;19.00.00;-200;13,3;ok;;
13/03/2004;20.00.00;2,2;-200;;;
;;;;;;
"""


def written(tmp_path, text, name="table.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_text(text, encoding=encoding)
    return path


def cells(*values, **how):
    return Cells.of(pd.Series(list(values)), CellFormat(**how))


# -------------------------------------------------------------------------------------------- files


def test_a_european_file_is_read_and_written_back(tmp_path):
    path = written(tmp_path, EUROPEAN)
    table = read_table(path)
    assert table.dialect == Dialect(";", ",")
    assert table.notes == (
        "semicolons between fields",
        "decimal commas",
        "left out 2 columns without name and content",
        "left out 1 empty row",
    )
    assert table.frame["CO(GT)"].tolist() == ["2,6", "-200", "2,2"]
    out = tmp_path / "new" / "out.csv"
    write_table(table.frame.assign(expected=[1.5, np.nan, 2.0]), out, table.dialect)
    lines = out.read_text().splitlines()
    assert lines[0] == "Date;Time;CO(GT);T;remark;expected"
    assert lines[1] == "10/03/2004;18.00.00;2,6;13,6;;1,5"


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "xlsx"])
def test_every_format_comes_back(ending, tmp_path):
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2024-01-01", periods=4, freq="h"),
            "site": ["A", "B, north", None, "ü"],
            "y": [1.25, np.nan, -3.0, 4.0],
        }
    )
    path = tmp_path / f"table.{ending}"
    write_table(frame, path, Dialect())
    table = read_table(path)
    assert table.notes == ()
    assert table.frame.columns.tolist() == ["when", "site", "y"]
    format_ = CellFormat()
    np.testing.assert_array_equal(Cells.of(table.frame["y"], format_).numbers(), frame["y"])
    assert Cells.of(table.frame["when"], format_).kind == "time"
    assert Cells.of(table.frame["site"], format_).texts().tolist() == ["A", "B, north", None, "ü"]


def test_other_encodings_and_separators(tmp_path):
    latin = read_table(written(tmp_path, "größe|y\n1|2\n", encoding="latin-1"))
    assert latin.frame.columns.tolist() == ["größe", "y"]
    assert latin.notes == ("bars between fields",)
    marked = read_table(written(tmp_path, "\ufeffa,b\n1,2\n"))
    assert marked.frame.columns.tolist() == ["a", "b"]
    one = read_table(written(tmp_path, "a\n1\n2\n"))
    assert one.frame["a"].tolist() == ["1", "2"]
    forced = read_table(written(tmp_path, "a;b\n1;2\n"), KnownDialect(",", ","))
    assert forced.frame.columns.tolist() == ["a;b"]
    assert forced.dialect == Dialect(",", ",")


@pytest.mark.parametrize(
    ("encoding", "line_end"),
    [("utf-8", "\n"), ("utf-8-sig", "\r\n"), ("utf-16", "\r\n"), ("cp1252", "\r\n"), ("latin-1", "\r")],
)
def test_a_file_is_written_as_it_was_read(encoding, line_end, tmp_path):
    # The last is a byte without meaning in code page 1252.
    odd = {"latin-1": "\x81", "cp1252": "€"}.get(encoding, "€")
    path = tmp_path / "table.csv"
    text = f"Zeit;Preis {odd}\n1;2,5\n2;3,5\n".replace("\n", line_end)
    path.write_bytes(text.encode(encoding))
    table = read_table(path)
    assert table.frame.columns.tolist() == ["Zeit", f"Preis {odd}"]
    assert table.dialect == Dialect(";", ",", encoding, line_end)
    write_table(table.frame, tmp_path / "out.csv", table.dialect)
    assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()


def test_decimals_of_a_file_that_has_none(tmp_path):
    semicolons = written(tmp_path, "t;y\n1;63\n2;64\n")
    assert read_table(semicolons).dialect.decimal == ","
    assert read_table(semicolons, KnownDialect(usual_decimal=".")).dialect.decimal == "."
    tabs = written(tmp_path, "t\ty\n1\t63\n", "table.tsv")
    assert read_table(tabs).dialect.decimal == "."
    assert read_table(tabs, KnownDialect(usual_decimal=",")).dialect.decimal == ","
    points = read_table(written(tmp_path, "t;y\n1;6.5\n"))
    assert points.dialect.decimal == "."
    assert points.notes == ("semicolons between fields", "decimal points")


@pytest.mark.parametrize(
    ("readings", "decimal"),
    [
        # All have three decimals, or some have no mark at all.
        (["18.071", "19.203"], "."),
        (["18,071", "19,203"], ","),
        (["990", "1.001"], ","),
        (["990", "1,001"], "."),
        (["0.998", "1.001"], "."),
        (["1.001", "1.003,5"], ","),
    ],
)
def test_marks_that_may_stand_between_thousands(readings, decimal, tmp_path):
    path = written(tmp_path, "t;y\n" + "".join(f"x;{reading}\n" for reading in readings))
    assert read_table(path).dialect.decimal == decimal


@pytest.mark.parametrize(
    ("lines", "separator"),
    [
        (["Zeit;Temp, C;Feuchte, %", "28.03.2026;18,07;55,00", "29.03.2026;18;55,1"], ";"),
        (["Zeit;Temp, C;Feuchte, %", "28.03.2026;18,07;55,00", "29.03.2026;18,1;55,1"], ";"),
        (['a,"b; c",d', '1,"2; 3; 4",5'], ","),
        (["a,b,c;d", "1,2", "1,2,3,4"], ","),
        (["a\tb, c, d", "1\t2"], "\t"),
        (["a", "", "1"], ","),
        ([], ","),
    ],
)
def test_what_stands_between_fields(lines, separator):
    assert guess_separator(lines, ",") == separator


def test_texts_of_a_workbook_have_a_decimal_mark_and_no_separator(tmp_path):
    path = tmp_path / "table.xlsx"
    pd.DataFrame({"t": [1, 2], "y": ["1,5", "2,5"]}).to_excel(path, index=False)
    table = read_table(path, KnownDialect(decimal=","))
    format_ = CellFormat(decimal=table.dialect.decimal)
    assert Cells.of(table.frame["y"], format_).numbers().tolist() == [1.5, 2.5]
    with pytest.raises(TableError, match=r"table\.xlsx is no text file; --separator is for those alone"):
        read_table(path, KnownDialect(separator=";"))


def test_an_index_that_says_something_is_a_column(tmp_path):
    path, frame = tmp_path / "table.parquet", pd.DataFrame({"y": [1.0, 2.0, 3.0]})
    days = pd.date_range("2024-01-01", periods=3)
    for index, columns in (
        (days.rename("when"), ["when", "y"]),
        (days, ["index", "y"]),
        (pd.MultiIndex.from_arrays([days, ["A", "B", "A"]], names=["when", "site"]), ["when", "site", "y"]),
        (pd.Index([7, 8, 9], name="cycle"), ["cycle", "y"]),
        (pd.Index([2, 0, 5]), ["y"]),
        (frame.index, ["y"]),
    ):
        frame.set_axis(index).to_parquet(path)
        assert read_table(path).frame.columns.tolist() == columns
    frame.set_axis(days.rename("y")).to_parquet(path)
    with pytest.raises(TableError, match="'y' is a column of the table and its index"):
        read_table(path)


def test_lists_in_cells_are_read(tmp_path):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"x": [[1, 2], None, [3]], "y": [1.0, 2.0, None]}).to_parquet(path)
    frame = read_table(path).frame
    assert len(frame) == 3
    assert Cells.of(frame["x"], CellFormat()).kind == "list"


def test_names_that_stand_twice_in_a_header_are_known(tmp_path):
    assert read_table(written(tmp_path, "t,v,,v.1,v,\n1,2,3,4,5,6\n")).repeated == ("v", "v.2")
    assert read_table(written(tmp_path, "v,v.1\n1,2\n")).repeated == ()
    blanks = read_table(written(tmp_path, "t, t,y ,y,z \n1,2,3,4,5\n"))
    assert blanks.frame.columns.tolist() == ["t", "t.1", "y", "y.1", "z"]
    assert blanks.repeated == ("t", "t.1", "y", "y.1")
    path = tmp_path / "table.parquet"
    pd.DataFrame([[1, 2, 3, 4]], columns=["y", " y", "y ", "z "]).to_parquet(path)
    assert read_table(path).frame.columns.tolist() == ["y", "y.1", "y.2", "z"]
    assert read_table(path).repeated == ("y", "y.1", "y.2")
    path = tmp_path / "table.xlsx"
    pd.DataFrame([["t", "v", "v", None], [1, 2, 3, 4]]).to_excel(path, index=False, header=False)
    assert read_table(path).repeated == ("v", "v.1")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("table.docx", "", "does not end in one of"),
        ("table.csv", "", "is not a table: No columns to parse from file$"),
        ("table.csv", "a,b\n", "has no rows below its header"),
        ("table.csv", "a,b\n1,2,3\n4,5,6\n", "more fields than its header"),
        ("table.csv", "a,b\n1,2\n4,5,6\n", "is not a table.*--separator"),
        ("table.csv", "# logger 7\na,b\n1,2\n", "first line, '# logger 7', is no header: take out the lines"),
        ("table.xlsx", "not a workbook", "is not a table in the format of its ending"),
        ("table.parquet", "not parquet", "is not a table in the format of its ending"),
    ],
)
def test_files_that_are_no_tables_are_refused(name, text, message, tmp_path):
    with pytest.raises(TableError, match=message):
        read_table(written(tmp_path, text, name))


# -------------------------------------------------------------------------------------------- cells


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
def test_kinds_of_columns(column, kind):
    assert cells(*column).kind == kind


def test_what_stands_for_missing_values():
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
def test_marks_between_thousands(decimal, texts, numbers):
    np.testing.assert_array_equal(cells(*texts, decimal=decimal).numbers(), numbers)


def test_marks_between_thousands_are_told_and_do_not_hide_the_decimal_mark(tmp_path):
    rows = "".join(f"{day};21,5;1.00{day}\n" for day in range(1, 9))
    table = read_table(written(tmp_path, f"day;T;p\n{rows}"))
    assert table.dialect.decimal == ","
    prepared = prepare(table.frame, Request(targets=("p",), decimal=","))
    assert prepared.notes == (
        "p: '1.001' is read as 1001, with marks between thousands; "
        "if that is wrong, tell the decimal mark with --decimal",
    )
    assert prepared.readings[0, 0] == 1001.0


def test_dates_that_can_be_read_in_two_ways_ascend():
    assert cells("11/02/2024", "12/02/2024", "01/03/2024").time_formats == ("%d/%m/%Y",)
    assert cells("02/01/2024", "02/02/2024", "03/01/2024").time_formats == ("%m/%d/%Y",)
    assert cells("01/02/2024", "02/02/2024", "03/02/2024").time_formats == ("%d/%m/%Y", "%m/%d/%Y")
    np.testing.assert_allclose(cells("18:30", "07:15:00", "").clocks("%H:%M")[[0, 2]], [18.5, np.nan])


@pytest.mark.parametrize(
    "days", ["%d.%m.%y", "%d.%m.%y %H:%M", "%d/%m/%y", "%m/%d/%y", "%d %B %Y", "%d-%b-%y"]
)
def test_short_years_and_names_of_months_are_read_if_one_order_fits(days):
    times = pd.date_range("2026-01-20", periods=60)
    frame = pd.DataFrame({"d": times.strftime(days), "x": np.arange(60.0) ** 2, "y": np.arange(60.0)})
    column = prepare(frame, Request(("y",))).plan.inputs[0]
    assert (column.kind, column.time_format) == ("time", days)
    np.testing.assert_array_equal(cells(*frame["d"]).times(days), times)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([f"{day:02}.02.26" for day in range(1, 13)], "in two ways, %H.%M.%S and %d.%m.%y"),
        ([f"{day:02}/02/26" for day in range(1, 13)], "in two ways, %d/%m/%y and"),
        ([f"20-01-26 {hour}:00" for hour in range(12)], "in two ways, %d-%m-%y %H:%M and %y-%m-%d %H:%M"),
        ([f"{day}. Januar 2026" for day in range(1, 13)], "'d' cannot be read .for example '1. Januar 2026'"),
        ([f"Mo 20.01.2026 {hour}h" for hour in range(12)], "'d' cannot be read"),
        (["20 janvier 2026", "21 janvier 2026", "22 janvier 2026"] * 4, "'d' cannot be read .*--categories"),
    ],
)
def test_times_that_cannot_be_read_are_refused_not_left_out(texts, message):
    frame = pd.DataFrame({"d": texts, "x": np.arange(12.0) ** 2, "y": np.arange(12.0)})
    with pytest.raises(TableError, match=message):
        prepare(frame, Request(("y",)))
    assert prepare(frame, Request(("y",), categories=("d",))).plan.inputs[0].kind == "category"
    assert "d (as you asked)" in prepare(frame, Request(("y",), exclude=("d",))).left_out


def test_times_are_read_as_their_examples_are_written():
    for example in TIME_EXAMPLES:
        assert cells(example).kind == "time"
    (afternoon,) = cells("2024-01-31 02:00 PM").times("%Y-%m-%d %I:%M %p")
    assert afternoon == np.datetime64("2024-01-31T14:00")


def test_numbers_words_and_far_times_are_none_of_a_reading():
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


def test_times_that_tell_their_zones_are_in_utc():
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


def test_texts_of_numbers_are_those_of_a_text_file():
    assert cells(1234567, 1234568).texts().tolist() == ["1234567", "1234568"]
    assert cells(1234567.0, np.nan, 0.1234567, 1e300).texts().tolist()[:3] == ["1234567", None, "0.1234567"]
    assert cells(*[True]).texts().tolist() == ["True"]


# ------------------------------------------------------------------------------------------ columns


def frame_of(n=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "when": pd.date_range("2024-03-01 12:00", periods=n, freq="h").astype(str),
            "site": np.where(np.arange(n) % 3 == 0, "A", "B"),
            "load": rng.uniform(0, 1e4, n),
            "version": "2.1",
            "rare": np.where(np.arange(n) % 10 == 0, 1.5, np.nan),
            "comment": [f"remark {i}" for i in range(n)],
            "nothing": [None] * n,
            "y": np.sin(np.arange(n) / 5.0) + 0.05 * rng.standard_normal(n),
        }
    )


def test_columns_are_guessed_and_the_guesses_told():
    prepared = prepare(frame_of(), Request(targets=("y",)))
    assert [column.describe() for column in prepared.plan.inputs] == [
        "when (hours since 2024-03-01 12:00:00)",
        "site (2 categories: A, B)",
        "load",
    ]
    assert prepared.left_out == (
        "version (the same in every row)",
        "rare (missing in 90 % of the rows)",
        "comment (60 different texts, for example 'remark 0')",
        "nothing (empty)",
        "id (only counts the rows)",
    )
    assert prepared.plan.features == ("when", "site=A", "site=B", "load")
    assert prepared.raw[1].tolist()[:3] == [1.0, 0.0, 1.0]


def test_guesses_can_be_overridden():
    frame = frame_of()
    request = Request(targets=("y",), inputs=("load", "id"), time="when", categories=("id",))
    assert [column.kind for column in prepare(frame, request).plan.inputs] == ["time", "number", "category"]
    asked = prepare(frame, Request(targets=("y",), inputs=("comment",), categories=("comment",)))
    assert len(asked.plan.features) == 60
    excluded = prepare(frame, Request(targets=("y",), exclude=("when", "site")))
    # Nothing tells the order now, but a column that is called id counts nothing that matters.
    assert [column.name for column in excluded.plan.inputs] == ["load"]
    assert "site (as you asked)" in excluded.left_out
    texts = frame_of(300)
    with pytest.raises(TableError, match="300 different texts, too many to be an input"):
        prepare(texts, Request(targets=("y",), inputs=("comment",), categories=("comment",)))


def test_a_count_is_the_input_if_there_is_no_other():
    frame = pd.DataFrame({"index": [1, 2, 3], "y": [1.0, 2.0, 3.0]})
    assert [column.name for column in prepare(frame, Request(targets=("y",))).plan.inputs] == ["index"]
    sensor = pd.DataFrame({"cycle": [5, 6, 7], "t": [1.0, 5.0, 2.0], "y": [1.0, 2.0, 3.0]})
    assert [column.name for column in prepare(sensor, Request(targets=("y",))).plan.inputs] == ["t", "cycle"]


def test_remarks_among_numbers_are_told():
    frame = pd.DataFrame(
        {"t": range(20), "x": ["1.5"] * 10 + ["2"] * 9 + ["fault"], "y": ["2"] * 19 + ["err"]}
    )
    prepared = prepare(frame, Request(targets=("y",)))
    assert prepared.notes == (
        "y: 1 cell is not a number (for example 'err') and counts as missing",
        "x: 1 cell is not a number (for example 'fault') and counts as missing",
    )
    assert np.isnan(prepared.readings[19, 0])


def test_remarks_among_times_are_told():
    frame = frame_of()
    frame.loc[5, "when"] = "unknown"
    prepared = prepare(frame, Request(targets=("y",), inputs=("when",)))
    assert prepared.notes == ("when: 1 cell is not a time (for example 'unknown') and counts as missing",)
    assert np.flatnonzero(np.isnan(prepared.raw[:, 0])).tolist() == [5]


def test_inputs_far_from_all_others_are_told():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.uniform(0.0, 100.0, 200).round(1).astype(str),
            "when": pd.date_range("2026-03-01", periods=200, freq="h").astype(str),
            "skewed": rng.exponential(1.0, 200),
            "mostly": np.where(np.arange(200) % 10, 0.0, 5.0),
            "y": np.arange(200.0),
        }
    )
    assert prepare(frame, Request(("y",))).notes == ()
    frame.loc[[3, 50, 70], "x"] = ["9999", "9999.0", "9999"]
    frame.loc[[8, 9], "when"] = ["2000-01-01 00:00:00", "2000-01-01 01:00:00"]
    prepared = prepare(frame, Request(("y",)))
    assert prepared.notes == (
        "x: 3 values are 9999, far from all others; if that stands for a missing value, say --missing '9999'",
        "when: 2 values are like 2000-01-01 00:00:00, far from all others; "
        "if they are wrong, leave those rows out",
    )
    told = prepare(frame.assign(when=""), Request(("y",), missing=("9999", "-9999")))
    assert told.notes == (
        "--missing 9999 stands in 3 cells of the table",
        "--missing -9999 stands in no cell of the table",
    )
    stamps = pd.DataFrame({"when": pd.date_range("2026-03-01", periods=50, freq="h"), "y": np.arange(50.0)})
    stamps.loc[7, "when"] = pd.Timestamp("2000-01-01")
    (note,) = prepare(stamps, Request(("y",))).notes
    assert note.endswith("1 value is 2000-01-01 00:00:00, far from all others; if that stands for a missing "
                         "value, say --missing '2000-01-01 00:00:00'")  # fmt: skip
    told = prepare(stamps, Request(("y",), missing=("2000-01-01 00:00:00",)))
    assert told.notes == ("--missing 2000-01-01 00:00:00 stands in 1 cell of the table",)
    assert np.flatnonzero(np.isnan(told.raw[:, 0])).tolist() == [7]
    # A tenth of the readings and more are no slip.
    frame.loc[:30, "x"] = "9999"
    assert not [note for note in prepare(frame, Request(("y",))).notes if note.startswith("x")]


def test_columns_that_cannot_serve_are_left_out():
    frame = pd.DataFrame(
        {
            "t": np.arange(30.0) ** 2,
            "label": [f"{day}/B" for day in range(30)],
            "x": [[1, 2]] * 30,
            "v": np.arange(30.0),
            "v.1": np.arange(30.0),
            "y": np.ones(30),
        }
    )
    prepared = prepare(frame, Request(targets=("y",), repeated=("v", "v.1")))
    assert [column.name for column in prepared.plan.inputs] == ["t"]
    assert prepared.left_out == (
        "label (30 different texts, for example '0/B')",
        "x (its cells hold lists)",
        "v (its name is also that of another column)",
        "v.1 (its name is also that of another column)",
    )


def test_times_of_day_with_dots_are_no_dates():
    for times in (
        [f"{hour:02}.00.00" for hour in range(24)],
        [f"{hour:02}.{minute:02}.30" for hour in range(1, 24) for minute in range(60)],
    ):
        frame = pd.DataFrame({"at": times, "y": np.arange(float(len(times)))})
        (column,) = prepare(frame, Request(("y",))).plan.inputs
        assert column.kind == "clock"


def test_errors_show_a_cell_that_fails():
    days = [f"2024-01-{day:02}" for day in range(1, 31)]
    frame = pd.DataFrame(
        {
            "when": [*days[:25], *["unknown"] * 5],
            "day": [f"01/{day:02}/2024" for day in range(1, 11)] * 3,
            "short": [f"{day:02}.02.24" for day in range(1, 16)] * 2,
            "level": [*map(str, range(20)), *["<0.5"] * 10],
            "stamp": pd.to_datetime(days),
            "y": np.arange(30.0),
        }
    )
    for request, message in (
        (
            Request(("y",), time="when"),
            "'when' does not hold times .for example 'unknown'.; .*2024-01-31 14:00",
        ),
        (Request(("y",), inputs=("when",)), "'when' has 26 different texts .for example 'unknown'"),
        (Request(("y",), inputs=("level",)), "'level' has 21 different texts .for example '<0.5'.*--missing"),
        (
            Request(("level",), inputs=("stamp",)),
            "'level' does not hold numbers .for example '<0.5'.*--missing",
        ),
        (Request(("stamp",), inputs=("y",)), "'stamp' does not hold numbers .for example '2024-01-01"),
        (Request(("y",), time="day"), "'day' can be read in two ways, %d/%m/%Y and %m/%d/%Y .*'01/02/2024'"),
        (Request(("y",), inputs=("short",)), "'short' can be read in two ways, %H.%M.%S and %d.%m.%y .*'01"),
    ):
        with pytest.raises(TableError, match=message):
            prepare(frame, request)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request(targets=("z",)), "has no column 'z'; it has 'id', 'when'"),
        (Request(targets=("y",), inputs=("q",)), "has no column 'q'"),
        (Request(targets=("y",), time="q"), "has no column 'q'"),
        (Request(targets=("y",), inputs=("y",)), "'y' cannot be a target and an input"),
        (Request(targets=("y", "y")), "name each target once"),
        (Request(targets=()), "name each target once"),
        (Request(targets=("site",)), "'site' does not hold numbers .for example 'A'"),
        (Request(targets=("nothing",)), "'nothing' has no reading at all"),
        (Request(targets=("y",), inputs=("nothing",)), "'nothing' is empty"),
        (Request(targets=("y",), time="site"), "'site' does not hold times"),
        (
            Request(targets=("y",), inputs=("load",), exclude=("load",)),
            "'load' cannot be an input and be excl",
        ),
        (
            Request(targets=("y",), time="when", exclude=("when",)),
            "'when' cannot be an input and be excluded",
        ),
        (Request(targets=("y",), time="id", categories=("id",)), "'id' cannot be a time and a category"),
        (Request(targets=("y",), repeated=("y", "y.1")), "the name of the column 'y' more than once"),
        (Request(targets=("y",), inputs=("load",), repeated=("load",)), "the column 'load' more than once"),
        (Request(targets=("y",), exclude=("when", "site", "load", "id")), "no column can serve as an input"),
    ],
)
def test_requests_that_cannot_be_met_are_refused(request_, message):
    with pytest.raises(TableError, match=message):
        prepare(frame_of(), request_)


def written_plan(plan, **changes):
    """A plan as it comes out of a file."""
    return Record("table", json.loads(json.dumps(plan.plain())) | changes, [])


def test_a_plan_survives_json_and_reads_new_tables():
    frame = frame_of()
    prepared = prepare(frame, Request(targets=("y",), missing=("-1",)))
    plan = prepared.plan.scaled_to(prepared.raw)
    again = Plan.of(written_plan(plan))
    assert again == plan
    scaled = again.matrix(frame)
    np.testing.assert_allclose(scaled[:, [0, 3]].std(axis=0), 1.0)
    assert set(scaled[:, 1]) == {0.0, 1.0}
    with pytest.raises(TableError, match="lacks the columns 'when', 'load'"):
        again.matrix(frame.drop(columns=["when", "load"]))
    with pytest.raises(TableError, match="categories that the model does not know: C; it knows A, B"):
        again.matrix(frame.assign(site="C"))
    with pytest.raises(TableError, match=r"'when' has times that are written otherwise .*'01/03/2024'"):
        again.matrix(frame.assign(when="01/03/2024"))
    few = again.matrix(frame.assign(when=["01/03/2024", *frame["when"][1:]]))
    assert np.flatnonzero(np.isnan(few[:, 0])).tolist() == [0]
    missing = again.matrix(frame.assign(site=["", *frame["site"][1:]]))
    assert np.isnan(missing[0, 1:3]).all()
    assert np.isfinite(missing[1:]).all()
    assert np.isnan(again.readings(frame.drop(columns="y"))).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": [{"kind": "code", "name": "x"}]}, "kind should be one of number"),
        ({"scales": [1.0]}, "as many as there are features"),
        ({"scales": [0.0, 1.0, 1.0, 1.0]}, "positive"),
        ({"targets": "y"}, "targets should be a list"),
        ({"targets": [1]}, "targets should be a list of texts"),
        (
            {"inputs": [{"kind": "time", "name": "t", "time_format": "", "origin": "2024", "unit": "x"}]},
            "unit",
        ),
    ],
)
def test_a_plan_that_was_changed_is_refused(change, message):
    prepared = prepare(frame_of(), Request(targets=("y",)))
    plan = prepared.plan.scaled_to(prepared.raw)
    with pytest.raises(ModelFileError, match=message):
        Plan.of(written_plan(plan, **change))


# ----------------------------------------------------------------------------------------- flagging


def faulty_frame():
    frame = frame_of(80)[["when", "site", "y"]].copy()
    frame["z"] = np.cos(np.arange(80) / 7.0) + 0.05 * np.random.default_rng(1).standard_normal(80)
    frame.loc[[7, 20, 41, 66], "y"] += 4.0
    frame.loc[[3, 50], "z"] -= 5.0
    frame.loc[10, "y"] = np.nan
    frame.loc[30, "when"] = ""
    return frame


def test_faults_are_found_in_several_targets():
    file = TableFile(faulty_frame())
    prepared = prepare(file.frame, Request(targets=("y", "z"), inputs=("when",)))
    result = flag_table(file, prepared, Recipe(), 0.5)
    assert np.flatnonzero(result.flagged[:, 0]).tolist() == [7, 20, 41, 66]
    assert np.flatnonzero(result.flagged[:, 1]).tolist() == [3, 50]
    assert result.fit.rows == {
        "read": 80,
        "input_missing": 1,
        "target_missing": 0,
        "usable": 79,
        "fitted": 79,
    }
    table = result.table
    assert table.columns.tolist()[:4] == ["when", "site", "y", "z"]
    assert set(table.columns[4:]) == {*result_names("y").values(), *result_names("z").values()}
    # A reading that is missing is predicted all the same; a row without inputs cannot be.
    assert np.isfinite(table.loc[10, "y_expected"])
    assert np.isnan(table.loc[10, "y_outlier_probability"])
    assert table.loc[30, ["y_expected", "y_lower", "z_outlier_probability"]].isna().all()
    # Nobody judged these.
    assert table["y_flag"].isna().to_numpy().nonzero()[0].tolist() == [10, 30]
    good = table.drop(index=[3, 7, 10, 20, 30, 41, 50, 66])
    assert good["y"].between(good["y_lower"], good["y_upper"]).mean() > 0.85


def test_a_sample_is_fitted_and_every_row_judged():
    file = TableFile(faulty_frame())
    prepared = prepare(file.frame, Request(targets=("y",), inputs=("when",)))
    result = flag_table(file, prepared, Recipe("mixture", sample=40, seed=1), 0.5)
    assert result.fit.fitted.sum() == 40
    assert np.flatnonzero(result.flagged[:, 0]).tolist() == [7, 20, 41, 66]
    proba = result.assessment.outlier_proba
    assert np.isnan(proba).sum() == 2
    np.testing.assert_array_equal(proba[result.fit.fitted, 0], result.fit.model.estimator.outlier_proba_)


def test_many_rows_are_fitted_through_inducing_inputs():
    t = np.arange(3001.0) / 500.0
    frame = pd.DataFrame({"t": t, "y": np.sin(t) + 0.1 * np.random.default_rng(0).standard_normal(3001)})
    frame.loc[[100, 2000], "y"] += 3.0
    prepared = prepare(frame, Request(targets=("y",)))
    result = flag_table(TableFile(frame), prepared, Recipe(), 0.5)
    assert np.flatnonzero(result.flagged[:, 0]).tolist() == [100, 2000]
    assert "inducing inputs." in result.fit.model.estimator.summary()
    few = fit_table(prepare(frame[:100], Request(targets=("y",))), Recipe(inducing=7))
    assert "through 7 inducing inputs." in few.model.estimator.summary()


def test_a_sample_of_a_long_table_is_fitted_through_inducing_inputs():
    """Every row is predicted: with an exact fit a sample would take longer than all rows."""
    rng = np.random.default_rng(2)
    n = 3001
    x = np.linspace(0.0, 20.0, n)
    frame = pd.DataFrame({"x": x, "y": np.sin(x) + 0.1 * rng.standard_normal(n)})
    prepared = prepare(frame, Request(targets=("y",)))
    fitted = fit_table(prepared, Recipe("mixture", sample=60))
    assert "inducing inputs" in fitted.model.estimator.summary()
    exact = fit_table(prepare(frame[:-1], Request(targets=("y",))), Recipe("mixture", sample=60))
    assert "inducing inputs" not in exact.model.estimator.summary()


def test_cells_are_looked_through_once(monkeypatch):
    frame = pd.DataFrame({"a": np.arange(30.0) ** 2, "b": ["x", "y"] * 15, "y": np.arange(30.0)}).astype(str)
    looked, of = [], Cells.of

    def counted(column, cell_format):
        looked.append(column.name)
        return of(column, cell_format)

    monkeypatch.setattr(Cells, "of", staticmethod(counted))
    file, prepared = TableFile(frame), prepare(frame, Request(targets=("y",)))
    flag_table(file, prepared, Recipe("mixture"), 0.5)
    assert sorted(looked) == ["a", "b", "y"]


def spectra(n=60, wavelengths=200):
    """Smooth curves of which one hidden amount determines everything, and the readings; three are faulty."""
    rng = np.random.default_rng(6)
    amount, place = rng.uniform(0.0, 1.0, n), np.linspace(0.0, 1.0, wavelengths)
    curves = np.outer(amount, np.exp(-((place - 0.5) ** 2) / 0.02)) + 0.01 * rng.standard_normal(
        (n, wavelengths)
    )
    y = 100.0 * amount + 0.5 * rng.standard_normal(n)
    y[[4, 22, 41]] += 60.0
    return pd.DataFrame(curves, columns=[f"w{i}" for i in range(wavelengths)]).assign(y=y, z=1e-6 * y)


def test_many_features_of_few_rows_share_a_length_scale():
    frame = spectra()
    prepared = prepare(frame, Request(targets=("y", "z")))
    result = flag_table(TableFile(frame), prepared, Recipe(), 0.5)
    assert [np.ndim(kernel.length_scale) for kernel in result.fit.model.estimator.kernel_] == [0, 0]
    assert result.fit.notes == (
        "200 features but 60 rows to learn from: one length scale is learned for all features together; "
        "name the inputs that matter with --inputs for one each",
    )
    # In whatever units the targets are.
    for column in range(2):
        assert np.flatnonzero(result.flagged[:, column]).tolist() == [4, 22, 41]
    few = prepare(frame, Request(targets=("y",), inputs=tuple(f"w{i}" for i in range(50))))
    assert fit_table(few, Recipe("mixture", sample=20)).notes == ()


def test_rows_are_chosen():
    usable = np.ones(5001, dtype=bool)
    assert choose_rows(usable, None, 0).all()
    assert choose_rows(usable, 100, 0).sum() == 100
    np.testing.assert_array_equal(choose_rows(usable, 100, 0), choose_rows(usable, 100, 0))
    assert choose_rows(usable[:10], 100, 0).sum() == 10
    with pytest.raises(TableError, match="only 0 of 9 rows have a target and all inputs"):
        choose_rows(np.zeros(9, dtype=bool), None, 0)


def test_digits_are_those_of_the_interval():
    values = np.array([1e9 + 10.0251239, 12.3456789012, 123456.0, 0.1 + 0.2, np.nan])
    shown = readable(values, np.array([0.35, 1e-3, 3e7, 0.0, np.nan]))
    np.testing.assert_array_equal(shown, [1000000010.02512, 12.3456789, 123000.0, 0.3, np.nan])
    assert in_text(1e9 + 10.0251239, 0.35) == "1000000010.025"
    assert in_text(-0.00012345678, 0.0) == "-0.00012345678"


def test_results_are_not_mixed_with_earlier_ones():
    with pytest.raises(TableError, match="already has the column 'y_flag'"):
        check_results_absent(pd.DataFrame({"y": [1.0], "y_flag": [True]}), ("y",))


def test_models_with_their_plan_are_saved_in_one_file(tmp_path):
    frame = faulty_frame()
    prepared = prepare(frame, Request(targets=("y",), exclude=("z",)))
    fitted = fit_table(prepared, Recipe())
    fitted.model.save(tmp_path / "model.sgp")
    again = TableModel.load(tmp_path / "model.sgp")
    assert again.plan == fitted.model.plan
    new = frame.drop(columns=["y", "z"])
    table = with_results(new, ("y",), again.assess(new), 0.5)
    assert table.columns.tolist() == ["when", "site", "y_expected", "y_lower", "y_upper"]
    np.testing.assert_array_equal(again.assess(frame).expected, fitted.model.assess(frame).expected)
    assert isinstance(load(tmp_path / "model.sgp"), RobustGPRegressor)
    commas = frame.assign(y=frame["y"].astype(str).str.replace(".", ","))
    # Before 3.1, pandas reads numbers in text with a rounding error.
    np.testing.assert_allclose(
        again.plan.for_cells(",").readings(commas), again.plan.readings(frame), rtol=1e-12
    )


def test_a_model_without_plan_takes_no_tables(tmp_path):
    StandardGPRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).save(tmp_path / "model.sgp")
    with pytest.raises(ModelFileError, match="does not say how a table becomes inputs"):
        TableModel.load(tmp_path / "model.sgp")


# ------------------------------------------------------------------------------- types in what is written


SOURCE = """\
=y;code;count;amount;long;mixed;day;moment;zoned;unclear;digits;text
1,50;007;1;1.003,25;12345678901234567890;5;2024-01-31;2024-01-31 14:00;2024-01-31T14:00:00Z;01/02/24;20240131;=HYPERLINK("http://x","y")
2,5;010;;7,5;2;unknown;2024-02-01;2024-02-01 15:30;2024-02-01T15:30:00Z;03/04/24;20240201;+1+1
-3;011;3;;3;6;2024-02-02;2024-02-02 16:00;2024-02-02T16:00:00Z;05/06/24;20240202;-2
4;012;4;2.000;4;7;2024-02-03;2024-02-03 17:00;2024-02-03T17:00:00Z;07/08/24;20240203;@SUM(A1)
5;013;5;1;5;8;2024-02-04;2024-02-04 18:00;2024-02-04T18:00:00Z;09/10/24;20240204;#N/A
6;014;6;1;6;9;2024-02-05;2024-02-05 19:00;2024-02-05T19:00:00Z;11/12/24;20240205;12 V
7;015;7;1;7;10;2024-02-06;2024-02-06 19:00;2024-02-06T19:00:00Z;12/11/24;20240206;a
8;016;8;1;8;11;2024-02-07;2024-02-07 19:00;2024-02-07T19:00:00Z;10/09/24;20240207;b
9;017;9;1;9;12;2024-02-08;2024-02-08 19:00;2024-02-08T19:00:00Z;08/07/24;20240208;c
10;018;10;1;10;13;2024-02-09;2024-02-09 19:00;2024-02-09T19:00:00Z;06/05/24;20240209;d
11;019;11;1;11;14;2024-02-10;2024-02-10 19:00;2024-02-10T19:00:00Z;04/03/24;20240210;e
"""


@pytest.fixture
def source(tmp_path):
    return read_table(written(tmp_path, SOURCE))


def excel_cells(path):
    """Cells of the first sheet, column by column, under their names; nothing is a formula."""
    sheet = openpyxl.load_workbook(path).active
    assert {cell.data_type for row in sheet for cell in row} <= set("sndb")
    return {column[0].value: column[1:] for column in sheet.iter_cols()}


def test_excel_has_numbers_dates_and_texts_and_no_formula(source, tmp_path):
    path = tmp_path / "out.xlsx"
    write_table(source.frame.assign(flag=pd.array([True, None] + [False] * 9)), path, source.dialect)
    cells = excel_cells(path)
    values = {name: [cell.value for cell in column] for name, column in cells.items()}
    assert values["=y"][:3] == [1.5, 2.5, -3]
    assert values["code"][:2] == ["007", "010"]
    assert values["count"][:3] == [1, None, 3]
    assert values["amount"][:4] == [1003.25, 7.5, None, 2000]
    # Excel would keep fifteen digits of it.
    assert values["long"][:2] == ["12345678901234567890", "2"]
    assert values["mixed"][:3] == [5, "unknown", 6]
    assert values["day"][0] == datetime(2024, 1, 31)
    assert cells["day"][0].number_format == "yyyy-mm-dd"
    assert values["moment"][1] == datetime(2024, 2, 1, 15, 30)
    assert values["zoned"][0] == "2024-01-31T14:00:00Z"
    assert values["unclear"][0] == "01/02/24"
    assert values["digits"][0] == 20240131
    assert values["flag"][:3] == [True, None, False]
    texts = ['=HYPERLINK("http://x","y")', "+1+1", "-2", "@SUM(A1)", "#N/A", "12 V"]
    assert values["text"][:6] == texts
    assert {cell.data_type for cell in cells["text"]} == {"s"}
    assert cells["text"][0].quotePrefix
    # The header is a text too, and what is read back is what was written.
    assert openpyxl.load_workbook(path).active["A1"].data_type == "s"
    again = read_table(path).frame
    assert again["text"].tolist()[:6] == texts
    assert again["count"].dtype == "Int64"


def test_parquet_has_a_type_for_each_column(source, tmp_path):
    path = tmp_path / "out.parquet"
    write_table(source.frame, path, source.dialect)
    table = parquet.read_table(path)
    types = {field.name: str(field.type) for field in table.schema}
    assert types.pop("day") == types.pop("moment")
    assert types.pop("zoned").endswith("tz=UTC]")
    texts = {name for name, kind in types.items() if "string" in kind}
    assert texts == {"code", "long", "mixed", "unclear", "text"}
    assert {name: kind for name, kind in types.items() if name not in texts} == {
        "=y": "double", "count": "int64", "amount": "double", "digits": "int64"
    }  # fmt: skip
    rows = table.to_pydict()
    assert rows["count"][:3] == [1, None, 3]
    assert rows["amount"][:4] == [1003.25, 7.5, None, 2000.0]
    assert rows["moment"][1] == datetime(2024, 2, 1, 15, 30)
    assert rows["text"][0] == '=HYPERLINK("http://x","y")'
    assert rows["code"][0] == "007"
    # Whole numbers stay whole from file to file, also where some are missing.
    again = read_table(path)
    write_table(again.frame, tmp_path / "again.parquet", again.dialect)
    assert parquet.read_schema(tmp_path / "again.parquet").field("count").type == "int64"
    write_table(again.frame, tmp_path / "again.csv", again.dialect)
    assert pd.read_csv(tmp_path / "again.csv", dtype=str)["count"].tolist()[0] == "1"


def test_a_text_file_is_written_back_as_it_was(source, tmp_path):
    write_table(source.frame, tmp_path / "out.csv", source.dialect)
    again = read_table(tmp_path / "out.csv")
    pd.testing.assert_frame_equal(again.frame, source.frame)


def test_cells_that_excel_does_not_know(tmp_path):
    early = datetime(1821, 5, 5)
    frame = pd.DataFrame(
        {
            "list": [["a"], ["b", "c"]],
            "bytes": [b"=1", b"2"],
            "zoned": pd.to_datetime(["2024-01-01", "2024-01-02"]).tz_localize("Europe/Berlin"),
            "early": pd.Series([early, early], dtype="datetime64[us]"),
            "infinite": [np.inf, 1.0],
            "long": [2**60, 1],
            "bell": ["ring\x07", "=\x1b[31m"],
            "span": pd.to_timedelta(["1h", "2h"]),
            "mixed": [1, "one"],
        }
    )
    write_table(frame, tmp_path / "out.xlsx", Dialect(typed=True))
    cells = excel_cells(tmp_path / "out.xlsx")
    first = {name: column[0].value for name, column in cells.items()}
    assert first.pop("span") == timedelta(hours=1)
    assert first == {
        "list": "['a']", "bytes": "b'=1'", "zoned": "2024-01-01T00:00:00+01:00",
        "early": "1821-05-05 00:00:00", "infinite": "inf", "long": str(2**60), "bell": "ring_x0007_",
        "mixed": 1,
    }  # fmt: skip
    write_table(frame[["mixed"]], tmp_path / "out.parquet", Dialect(typed=True))
    assert parquet.read_table(tmp_path / "out.parquet")["mixed"].to_pylist() == ["1", "one"]


def test_what_no_sheet_holds_is_refused(tmp_path):
    wide = pd.DataFrame(np.zeros((1, 16_380)))
    with pytest.raises(TableError, match=r"cannot hold 2 rows and 16385 columns.*\.parquet file with --out"):
        check_room(wide, tmp_path / "out.xlsx", 5)
    check_room(wide, tmp_path / "out.csv", 5)
    long = pd.DataFrame({"a": ["x" * 40_000]})
    with pytest.raises(TableError, match="a text of 40000 letters"):
        write_table(long, tmp_path / "out.xlsx", Dialect())


@pytest.mark.parametrize("target", ["=y", "+y", "-y", "@y"])
def test_names_that_are_added_are_no_formulas(target):
    names = result_names(target).values()
    assert all(name.startswith(f"'{target}_") for name in names)


# ------------------------------------------------------------------------------------ dates of digits, zones


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
def test_dates_of_digits_alone_are_times(values, expected):
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
def test_other_whole_numbers_are_amounts(values):
    assert cells(*values).kind == "number"


def test_dates_of_digits_are_told_and_may_be_a_target():
    days = pd.date_range("2024-03-20", periods=30).strftime("%Y%m%d")
    frame = pd.DataFrame({"day": days, "y": np.arange(30.0) ** 2})
    prepared = prepare(frame, Request(targets=("y",)))
    assert prepared.plan.inputs[0].describe() == "day (days since 2024-03-20)"
    np.testing.assert_array_equal(prepared.raw[:, 0], np.arange(30.0))
    assert prepared.notes == (
        "day: 20240320 is read as the time 2024-03-20; if these are plain numbers, leave the column out with "
        "--exclude or write them with a decimal mark",
    )
    again = Plan.of(Record("plan", json.loads(json.dumps(prepared.plan.scaled_to(prepared.raw).plain())), []))
    np.testing.assert_array_equal(again.raw_features(frame), prepared.raw)
    readings = prepare(frame, Request(targets=("day",))).readings
    assert readings[0, 0] == 20240320


def notes_on(plan, frame):
    """Notes on cells of a new table for a plan."""
    columns = plan.columns(frame)
    return list(misfits(plan, columns, plan.raw_features(columns), plan.readings(columns)))


def test_times_without_a_zone_among_others_are_told():
    times = [f"2024-01-{day:02}T12:00:00+01:00" for day in range(1, 11)]
    times[3] = "2024-01-04T12:00:00"
    frame = pd.DataFrame({"time": times, "y": np.arange(10.0) ** 2})
    prepared = prepare(frame, Request(targets=("y",)))
    assert prepared.notes == (
        "time: 1 time tells no zone (for example '2024-01-04T12:00:00') and counts as UTC, "
        "which those with a zone become",
    )
    plain = frame.assign(time=[each.removesuffix("+01:00") for each in times])
    local = prepare(plain, Request(targets=("y",)))
    assert local.notes == ()
    # New tables too, whichever way they differ from what the model knows.
    assert "10 times tell no zone" in notes_on(prepared.plan, plain)[0]
    assert notes_on(local.plan, frame)[0].startswith("time: 9 times tell their zone")
    assert "fitted to times without zones" in notes_on(local.plan, frame)[0]


def test_prepare_parses_each_column_once(monkeypatch):
    """Formats are tried, each of them on all cells at most once."""
    n = 200
    frame = pd.DataFrame(
        {
            "day": pd.date_range("2024-01-01", periods=n).strftime("%d.%m.%Y"),
            "clock": [f"{i % 24:02}:{i % 60:02}" for i in range(n)],
            "level": [f"{i / 7:.3f}" for i in range(n)],
            "site": ["A" if i % 3 else "B" for i in range(n)],
            "y": [f"{i % 5}.5" for i in range(n)],
        }
    )
    parsed = Counter()

    def counting(name, parse):
        def run(cells, **how):
            if len(cells) == n:
                parsed[name, how.get("format"), tuple(pd.Series(cells).fillna(""))] += 1
            return parse(cells, **how)

        return run

    for name in ("to_datetime", "to_numeric"):
        monkeypatch.setattr(pd, name, counting(name, getattr(pd, name)))
    prepared = prepare(frame, Request(targets=("y",)))
    assert {column.kind for column in prepared.plan.inputs} == {"time", "clock", "number", "category"}
    assert set(parsed.values()) == {1}


def test_methods_for_tables_are_those_of_the_registry():
    assert FLAGGING == ("robust", "asor", "mixture")
    assert set(FOR_TABLES) == set(REGISTRY) - {"oracle"}
    for name in FOR_TABLES:
        assert type(Recipe(name).estimator(10)) is REGISTRY[name].estimator
    for command, names in ((flag, FLAGGING), (fit, FOR_TABLES)):
        choice = next(each for each in command.params if each.name == "method").type
        assert tuple(choice.choices) == names
    for name, registered in REGISTRY.items():
        assert METHODS[name].label == registered.label
        assert type(METHODS[name].best) is registered.estimator


def test_flag_result_joins_its_table_once():
    X = np.arange(30.0)
    frame = pd.DataFrame({"x": X, "y": np.sin(X / 4.0)})
    prepared = prepare(frame, Request(targets=("y",), inputs=("x",)))
    result = flag_table(TableFile(frame), prepared, Recipe("asor"), 0.5)
    assert result.table is result.table


def test_summaries_speak_of_options_and_are_made_from_findings():
    rng = np.random.default_rng(0)
    x = np.arange(80.0)
    noise = rng.standard_normal((80, 2))
    frame = pd.DataFrame({"x": x, "a": noise[:, 0], 'faults="many"': noise[:, 1]})
    prepared = prepare(frame, Request(targets=("a", 'faults="many"'), inputs=("x",)))
    fitted = fit_table(prepared, Recipe())
    found = fitted.model.estimator.findings(["x"])
    assert [each.advice for each in found] == [Advice.NOISE_EXCEEDS_FUNCTION] * 2
    for text, each in zip(fitted.summaries.values(), found, strict=True):
        assert text.endswith("compare with --many-faults.")
        assert text.startswith(f"None of {each.n_observed} readings")
    assert 'compare with faults="many".' in fitted.model.estimator.summary()
    assert fitted.model.estimator.summary().splitlines()[1].startswith("Output 1: ")
