"""Separators, marks and encodings of text files."""

import pytest
from references.tables import written

from sturdygp.tables.read import Dialect, Told, guess_separator, read_table
from sturdygp.tables.write import write_table


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
    assert read_table(semicolons, Told(usual_decimal=".")).dialect.decimal == "."
    tabs = written(tmp_path, "t\ty\n1\t63\n", "table.tsv")
    assert read_table(tabs).dialect.decimal == "."
    assert read_table(tabs, Told(usual_decimal=",")).dialect.decimal == ","
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
