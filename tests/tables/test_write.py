"""Tables are written with types, and without formulas."""

from datetime import datetime, timedelta

import numpy as np
import openpyxl
import pandas as pd
import pytest
from pyarrow import parquet
from references.tables import written

from sturdygp.exceptions import TableError
from sturdygp.tables.flagging import result_names
from sturdygp.tables.read import Dialect, read_table
from sturdygp.tables.write import check_room, write_table

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


def test_write_table_to_excel_has_types_and_no_formula(source, tmp_path):
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


def test_write_table_to_parquet_has_a_type_for_each_column(source, tmp_path):
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


def test_write_table_to_text_gives_back_the_file(source, tmp_path):
    write_table(source.frame, tmp_path / "out.csv", source.dialect)
    again = read_table(tmp_path / "out.csv")
    pd.testing.assert_frame_equal(again.frame, source.frame)


def test_write_table_to_excel_turns_other_cells_into_text(tmp_path):
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


def test_write_table_refuses_what_no_sheet_holds(tmp_path):
    wide = pd.DataFrame(np.zeros((1, 16_380)))
    with pytest.raises(TableError, match=r"cannot hold 2 rows and 16385 columns.*\.parquet file with --out"):
        check_room(wide, tmp_path / "out.xlsx", 5)
    check_room(wide, tmp_path / "out.csv", 5)
    long = pd.DataFrame({"a": ["x" * 40_000]})
    with pytest.raises(TableError, match="a text of 40000 letters"):
        write_table(long, tmp_path / "out.xlsx", Dialect())


@pytest.mark.parametrize("target", ["=y", "+y", "-y", "@y"])
def test_result_names_are_no_formulas(target):
    names = result_names(target).values()
    assert all(name.startswith(f"'{target}_") for name in names)
