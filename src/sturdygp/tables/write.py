"""Writing tables to files: CSV, TSV, Parquet and Excel; texts stay texts, numbers and times get types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from sturdygp._typing import BoolArray
from sturdygp.exceptions import TableError
from sturdygp.tables.cells import CellFormat, Cells, is_number, is_time, plain_text
from sturdygp.tables.diagnostics import check_unambiguous
from sturdygp.tables.read import (
    EXCEL_FORMATS,
    HOW_TO_INSTALL,
    PARQUET_FORMATS,
    TEXT_FORMATS,
    Dialect,
    check_ending,
)
from sturdygp.tables.timestamps import COMPACT

Value: TypeAlias = int | float | pd.Timestamp | str | None

WHOLE = re.compile(r"[+-]?\d+")
# Zeros in front tell that digits are a code, such as that of a place or a part, and no amount.
CODE = r"[+-]?0\d.*"
LARGEST_WHOLE = 2**63 - 1
TYPED = ("number", "time")

# What a sheet of Excel can hold: rows with the header, columns, and letters in a cell.
MOST_ROWS, MOST_COLUMNS, MOST_LETTERS = 1_048_576, 16_384, 32_767
# Excel keeps so many digits of a number; longer ones are texts, so that none is lost.
MOST_EXCEL = 10**15
# Its first year, and the characters that its files cannot have.
FIRST_YEAR = 1900
INFINITE = (float("inf"), float("-inf"))
NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
USE_ANOTHER = "write a .csv or .parquet file with --out"


@dataclass(frozen=True, eq=False)
class TypedColumn:
    """A column of texts whose cells are numbers or times, and which of them are; the others are as they were.

    ``missing`` are cells that are empty or say that nothing is there.
    """

    values: Sequence[Value]
    read: BoolArray
    missing: BoolArray
    zoned: bool = False

    @property
    def series(self) -> pd.Series[Any] | None:
        """The column with one type, if all of its cells have it."""
        if not np.all(self.read | self.missing):
            return None
        values = [value if read else None for value, read in zip(self.values, self.read, strict=True)]
        known = [value for value in values if value is not None]
        if all(isinstance(value, int) for value in known):
            return pd.Series(values, dtype="Int64")
        if any(isinstance(value, pd.Timestamp) for value in known):
            times: pd.Series[Any] = pd.to_datetime(pd.Series(values, dtype=object))
            return times.dt.tz_localize("UTC") if self.zoned else times
        return pd.Series(values, dtype=np.float64)


def typed_column(column: pd.Series[Any], decimal: str) -> TypedColumn | None:
    """A column of texts with types; None if it is one of texts."""
    if is_number(column) or is_time(column):
        return None
    cells = Cells.of(column, CellFormat(decimal=decimal))
    if cells.kind not in TYPED:
        return None
    found = numbers_of(cells) if cells.numeric else times_of(column.name, cells)
    if found is None:
        return None
    values, read, zoned = found
    return TypedColumn(
        [value if known else text for value, known, text in zip(values, read, column, strict=True)],
        read,
        ~cells.given,
        zoned,
    )


def numbers_of(cells: Cells) -> tuple[Sequence[Value], BoolArray, bool] | None:
    """Whole numbers and others; None for codes, and for numbers with more digits than any type keeps."""
    read, plain = ~np.isnan(cells.numbers()), cells.numerals.plain
    if cells.values[read].str.fullmatch(CODE).any():
        return None
    values = [number_of(text) if known else None for text, known in zip(plain, read, strict=True)]
    too_long = any(isinstance(value, int) and abs(value) > LARGEST_WHOLE for value in values)
    return None if too_long else (values, read, False)


def number_of(text: str) -> int | float:
    """A number with the type that it is written in.

    Examples
    --------
    >>> number_of("12"), number_of("12.0"), number_of("-1e3")
    (12, 12.0, -1000.0)
    """
    return int(text) if WHOLE.fullmatch(text) else float(text)


def times_of(name: object, cells: Cells) -> tuple[Sequence[Value], BoolArray, bool] | None:
    """Times, in UTC if they tell zones; None if they may be read in two ways, or only some tell a zone."""
    time_format = cells.time_format()
    if time_format is None or time_format in COMPACT:
        return None
    try:
        check_unambiguous(str(name), cells)
    except TableError:
        return None
    times = cells.times(time_format)
    read, zoned = ~np.isnat(times), cells.zoned()
    if zoned[read].any() and not zoned[read].all():
        return None
    values = [stamp if known else None for stamp, known in zip(pd.Series(times), read, strict=True)]
    return values, read, bool(zoned.any())


def write_table(frame: pd.DataFrame, path: Path, dialect: Dialect) -> None:
    """Write a table; the ending of the file tells its format.

    Texts of a text file become numbers and times where the format has such types.
    """
    ending = check_ending(path)
    check_room(frame, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if ending in TEXT_FORMATS:
            write_text(frame, path, dialect)
        elif ending in PARQUET_FORMATS:
            parquet_frame(frame, dialect).to_parquet(path, index=False)
        else:
            write_excel(frame, path, dialect)
    except ImportError as error:
        raise TableError(f"writing {ending} files needs another library: {HOW_TO_INSTALL}") from error


def check_room(frame: pd.DataFrame, path: Path, added: int = 0) -> None:
    """Refuse a table that with so many more columns is too large for the format of a file."""
    rows, columns = len(frame) + 1, frame.shape[1] + added
    if path.suffix.lower() in EXCEL_FORMATS and (rows > MOST_ROWS or columns > MOST_COLUMNS):
        raise TableError(
            f"{path.name} cannot hold {rows} rows and {columns} columns; a sheet of Excel has at most "
            f"{MOST_ROWS} and {MOST_COLUMNS}: {USE_ANOTHER}"
        )


def write_text(frame: pd.DataFrame, path: Path, dialect: Dialect) -> None:
    """Write a text file; cells that were texts are written as they were."""
    separator = written_separator(path.suffix.lower(), dialect)
    frame.to_csv(
        path,
        sep=separator,
        decimal="." if separator == "," else dialect.decimal,
        index=False,
        encoding=dialect.encoding,
        lineterminator=dialect.line_end,
    )


def written_separator(ending: str, dialect: Dialect) -> str:
    """That of the file that was read, unless the ending promises another."""
    usual = TEXT_FORMATS[ending]
    return usual if "\t" in (usual, dialect.separator) else dialect.separator


def typed_columns(frame: pd.DataFrame, dialect: Dialect) -> dict[str, TypedColumn]:
    """The columns of a text file that are no texts."""
    if dialect.typed:
        return {}
    found = {name: typed_column(frame[name], dialect.decimal) for name in frame.columns}
    return {name: column for name, column in found.items() if column is not None}


def parquet_frame(frame: pd.DataFrame, dialect: Dialect) -> pd.DataFrame:
    """The table with one type for each column; those in which several are mixed are texts."""
    typed = {name: column.series for name, column in typed_columns(frame, dialect).items()}
    columns = {}
    for name in frame.columns:
        column, other = frame[name], typed.get(name)
        if other is not None:
            column = other.set_axis(frame.index)
        elif column.dtype == object and mixed(column):
            column = pd.Series([plain_text(cell) or None for cell in column], index=frame.index, dtype=object)
        columns[name] = column
    return pd.DataFrame(columns, index=frame.index)


def mixed(column: pd.Series[Any]) -> bool:
    """Tell whether a column holds texts and something else."""
    texts = [isinstance(cell, str) for cell in column if not is_missing(cell)]
    return any(texts) and not all(texts)


# ---------------------------------------------------------------------------------------- Excel


def write_excel(frame: pd.DataFrame, path: Path, dialect: Dialect) -> None:
    """Write a workbook with one sheet, in which no text is a formula."""
    from openpyxl.cell.cell import WriteOnlyCell  # noqa: PLC0415
    from openpyxl.workbook.workbook import Workbook  # noqa: PLC0415  it need not be installed

    typed = typed_columns(frame, dialect)
    header = [excel_text(str(name)) for name in frame.columns]
    columns = [excel_values(frame[name], typed.get(name)) for name in frame.columns]
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")

    def cell(value: object) -> object:
        if not isinstance(value, str):
            return value
        # A text like a formula or an error would become one; the quote keeps it from that when edited.
        shown = WriteOnlyCell(sheet, value)
        shown.data_type = "s"
        shown.quotePrefix = value.startswith("=")
        return shown

    for row in (header, *zip(*columns, strict=True)):
        sheet.append([cell(value) for value in row])
    book.save(path)


def excel_values(column: pd.Series[Any], typed: TypedColumn | None) -> Sequence[object]:
    """The cells of a column as Excel has them; times that are all dates have no time of day."""
    if typed is not None and typed.zoned:
        typed = None
    values = [excel_value(value) for value in (column if typed is None else typed.values)]
    pairs = zip(values, column, strict=True)
    values = [str(given) if unlike_excel(value) else value for value, given in pairs]
    values = [excel_text(value) if isinstance(value, str) else value for value in values]
    times = [value for value in values if isinstance(value, datetime)]
    if times and all(value.time() == time() for value in times):
        return [value.date() if isinstance(value, datetime) else value for value in values]
    return values


def unlike_excel(value: object) -> bool:
    """Tell whether Excel would lose digits of a number, or does not know a date."""
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) >= MOST_EXCEL
    return isinstance(value, date) and value.year < FIRST_YEAR


def excel_value(value: Any) -> object:
    """A value of a type that Excel knows; anything else is a text, and what is missing None.

    Examples
    --------
    >>> import numpy as np
    >>> excel_value(np.float64(1.5)), excel_value(np.nan), excel_value(["a", "b"])
    (1.5, None, "['a', 'b']")
    """
    if is_missing(value) or (isinstance(value, str) and not value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, datetime) and value.tzinfo:
        return value.isoformat()
    if isinstance(value, pd.Timestamp):
        return value.to_pydatetime(warn=False)
    known = isinstance(value, int | float | date | time | timedelta) and value not in INFINITE
    return value if known else str(value)


def is_missing(value: Any) -> bool:
    """Tell whether a cell is empty; a list in one is not."""
    return not pd.api.types.is_list_like(value) and bool(pd.isna(value))


def excel_text(text: str) -> str:
    r"""A text as a workbook can hold it: other characters are written as Excel itself writes them.

    Examples
    --------
    >>> excel_text("bell\a")
    'bell_x0007_'
    """
    if len(text) > MOST_LETTERS:
        raise TableError(
            f"a text of {len(text)} letters ({text[:20]!r} ...) is too long for a cell of Excel, which holds "
            f"{MOST_LETTERS}: {USE_ANOTHER}"
        )
    return NOT_IN_XML.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
