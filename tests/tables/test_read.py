"""Tables in every format are read, and text files written, as people write them."""

import numpy as np
import pandas as pd
import pytest
from references.tables import written

from sturdygp.exceptions import TableError
from sturdygp.tables.cells import CellFormat, Cells
from sturdygp.tables.read import Dialect, KnownDialect, guess_separator, read_table
from sturdygp.tables.write import write_table

# As the Air Quality data of the UCI repository are written.
EUROPEAN = """Date;Time;CO(GT);T;remark;;
10/03/2004;18.00.00;2,6;13,6;;;
11/03/2004;19.00.00;-200;13,3;ok;;
13/03/2004;20.00.00;2,2;-200;;;
;;;;;;
"""


def test_read_table_reads_a_european_file_and_writes_it_back(tmp_path):
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
def test_read_table_gives_back_every_format(ending, tmp_path):
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


def test_read_table_reads_other_encodings_and_separators(tmp_path):
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


def test_read_table_of_a_workbook_takes_a_decimal_mark_and_no_separator(tmp_path):
    path = tmp_path / "table.xlsx"
    pd.DataFrame({"t": [1, 2], "y": ["1,5", "2,5"]}).to_excel(path, index=False)
    table = read_table(path, KnownDialect(decimal=","))
    format_ = CellFormat(decimal=table.dialect.decimal)
    assert Cells.of(table.frame["y"], format_).numbers().tolist() == [1.5, 2.5]
    with pytest.raises(TableError, match=r"table\.xlsx is no text file; --separator is for those alone"):
        read_table(path, KnownDialect(separator=";"))


def test_read_table_takes_an_index_that_says_something_for_a_column(tmp_path):
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


def test_read_table_reads_lists_in_cells(tmp_path):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"x": [[1, 2], None, [3]], "y": [1.0, 2.0, None]}).to_parquet(path)
    frame = read_table(path).frame
    assert len(frame) == 3
    assert Cells.of(frame["x"], CellFormat()).kind == "list"


def test_read_table_knows_names_that_stand_twice_in_a_header(tmp_path):
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
def test_read_table_refuses_files_that_are_no_tables(name, text, message, tmp_path):
    with pytest.raises(TableError, match=message):
        read_table(written(tmp_path, text, name))


@pytest.mark.parametrize(
    ("encoding", "line_end"),
    [("utf-8", "\n"), ("utf-8-sig", "\r\n"), ("utf-16", "\r\n"), ("cp1252", "\r\n"), ("latin-1", "\r")],
)
def test_write_table_writes_a_text_file_as_it_was_read(encoding, line_end, tmp_path):
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


def test_dialect_of_a_file_without_decimals(tmp_path):
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
def test_dialect_of_marks_that_may_stand_between_thousands(readings, decimal, tmp_path):
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
def test_guess_separator_finds_what_stands_between_fields(lines, separator):
    assert guess_separator(lines, ",") == separator
