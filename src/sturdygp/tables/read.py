"""Reading tables from files: CSV, TSV, Parquet and Excel, and how a text file writes its table."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import count, islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sturdygp._typing import BoolArray
from sturdygp.exceptions import TableError
from sturdygp.tables.formatting import counted

HOW_TO_INSTALL = "pip install 'sturdygp[tables]'"
# Marks between fields; those that hardly stand in names and cells first.
SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
# Lines by which the decimal mark is judged, and by which what is between fields.
SAMPLE_LINES = 200
FIRST_LINES = 10
QUOTED = re.compile(r'"[^"]*"')
# Numbers with a decimal mark, thousands apart or not; and those whose only mark may be either.
DECIMALS = {
    ",": re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+"),
    ".": re.compile(r"[+-]?(\d+|\d{1,3}(,\d{3})+)\.\d+"),
}
EITHER = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
WHOLE = re.compile(r"[+-]?\d{1,3}")
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"
}  # fmt: skip
# In this order; the last one takes any byte.
ENCODINGS = ("utf-8", "cp1252", "latin-1")
TEXT_FORMATS = {".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t"}
PARQUET_FORMATS = (".parquet", ".pq")
EXCEL_FORMATS = (".xlsx", ".xlsm")
FORMATS = (*TEXT_FORMATS, *PARQUET_FORMATS, *EXCEL_FORMATS)
# Libraries of which pandas needs one.
LIBRARIES = dict.fromkeys(PARQUET_FORMATS, ("pyarrow", "fastparquet")) | dict.fromkeys(
    EXCEL_FORMATS, ("openpyxl",)
)
TELL_SEPARATOR = "tell what stands between fields with --separator"
# With what a remark begins, and how much of one is shown.
REMARKS, SHOWN = "#%;", 40


@dataclass(frozen=True)
class Dialect:
    """How a text file writes a table. Other files have cells with types: they are ``typed``."""

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    line_end: str = "\n"
    typed: bool = False


@dataclass(frozen=True)
class KnownDialect:
    """Marks of a file that are known beforehand, and its decimal mark if nothing tells; None is unknown."""

    separator: str | None = None
    decimal: str | None = None
    usual_decimal: str | None = None


PLAIN = Dialect(typed=True)
NOTHING_KNOWN = KnownDialect()


def dialect_of(path: Path, usual: str, known: KnownDialect) -> Dialect:
    """Find out how a file is written, given what is known of it."""
    encoding = guess_encoding(path)
    with path.open(encoding=encoding, newline="") as stream:
        lines = list(islice(stream, SAMPLE_LINES))
    separator = known.separator or guess_separator(lines, usual)
    # Where fields end with semicolons, commas are taken.
    nothing_tells = known.usual_decimal or ("," if separator == ";" else ".")
    decimal = known.decimal or guess_decimal(lines, separator, nothing_tells)
    return Dialect(separator, decimal, encoding, line_end(lines))


def guess_encoding(path: Path) -> str:
    """Encoding that the first bytes tell, else the first that fits."""
    with path.open("rb") as stream:
        first = stream.read(3)
    marked = (name for mark, name in BYTE_ORDER_MARKS.items() if first.startswith(mark))
    fitting = (name for name in ENCODINGS if is_written_in(path, name))
    return next(marked, None) or next(fitting)


def is_written_in(path: Path, encoding: str) -> bool:
    """Tell whether every byte of a file has a meaning."""
    try:
        with path.open(encoding=encoding) as stream:
            for _ in stream:
                pass
    except UnicodeDecodeError:
        return False
    return True


def line_end(lines: Sequence[str]) -> str:
    """How the first line ends."""
    first = lines[0] if lines else ""
    return next((end for end in ("\r\n", "\r") if first.endswith(end)), "\n")


def guess_separator(lines: Iterable[str], usual: str) -> str:
    """Mark that is as often in the first lines as in the header; else most often in the header, if any is.

    Examples
    --------
    >>> guess_separator(["Date;T, C;RH, %", "1;2,5;3,5"], ",")
    ';'
    """
    first = islice((QUOTED.sub("", line) for line in lines if line.strip()), FIRST_LINES)
    counts = [{mark: line.count(mark) for mark in SEPARATORS} for line in first]
    header = counts[0] if counts else dict.fromkeys(SEPARATORS, 0)
    steady = [mark for mark in SEPARATORS if header[mark] and all(c[mark] == header[mark] for c in counts)]
    if steady:
        return steady[0]
    best = max(SEPARATORS, key=header.__getitem__)
    return usual if header[best] == header[usual] else best


def guess_decimal(lines: Iterable[str], separator: str, usual: str) -> str:
    """A comma if it separates digits more often than a point does, and does not separate fields.

    Marks that may stand between thousands count only where there are no others. They do stand there if others
    of their column are whole numbers.

    Examples
    --------
    >>> guess_decimal(["day;T;p", "1;21,5;1.001", "2;21,5;1.002"], ";", ".")
    ','
    """
    if separator == ",":
        return "."
    rows = [[field.strip().strip('"') for field in line.split(separator)] for line in lines]
    fields = [field for row in rows for field in row]
    clear = [field for field in fields if not EITHER.fullmatch(field)]
    columns = zip_longest(*rows, fillvalue="")
    return commoner_decimal(clear) or beside_whole(columns) or commoner_decimal(fields) or usual


def commoner_decimal(fields: Iterable[str]) -> str | None:
    """The decimal mark of most numbers, if any has one."""
    counts = Counter(mark for field in fields for mark in DECIMALS if DECIMALS[mark].fullmatch(field))
    return ("," if counts[","] > counts["."] else ".") if counts else None


def beside_whole(columns: Iterable[Sequence[str]]) -> str | None:
    """The decimal mark, if a column has whole numbers and some whose only mark is then between thousands."""
    for column in columns:
        either = next((field for field in column if EITHER.fullmatch(field)), None)
        if either and any(WHOLE.fullmatch(field) for field in column):
            return "," if "." in either else "."
    return None


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table as the file has it, cells of text files as texts; and what was guessed about the file.

    Columns whose name stands more than once in the header are ``repeated``; all but the first have a number
    behind it.
    """

    frame: pd.DataFrame
    dialect: Dialect = PLAIN
    notes: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()


def read_table(path: Path, known: KnownDialect = NOTHING_KNOWN) -> TableFile:
    """Read a table; the ending of the file tells its format: csv, txt, tsv, tab, parquet, pq, xlsx or xlsm.

    Raises
    ------
    TableError
        The file is not such a table.
    """
    ending = check_ending(path)
    if ending in TEXT_FORMATS:
        return read_text(path, TEXT_FORMATS[ending], known)
    if known.separator is not None:
        raise TableError(f"{path.name} is no text file; --separator is for those alone")
    try:
        return (read_parquet if ending in PARQUET_FORMATS else read_excel)(path, known.decimal or ".")
    except ImportError as error:
        raise TableError(f"reading {ending} files needs another library: {HOW_TO_INSTALL}") from error
    except (OSError, TableError):
        raise
    except Exception as error:  # every library that reads these formats has errors of its own
        raise TableError(f"{path} is not a table in the format of its ending: {first_line(error)}") from error


def with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with its index among its columns, unless that is nothing but numbers of rows."""
    index = frame.index
    if index.nlevels == 1 and index.name is None and pd.api.types.is_integer_dtype(index):
        return frame.reset_index(drop=True)
    twice = [name for name in index.names if name in frame]
    if twice:
        raise TableError(f"{twice[0]!r} is a column of the table and its index; rename one of them")
    return frame.reset_index()


def read_parquet(path: Path, decimal: str) -> TableFile:
    """Read a file whose names differ, if only in blanks around them; numbers in texts have a decimal mark."""
    frame = with_index(whole_where_stored(pd.read_parquet(path), path))
    return typed_file(frame, pd.DataFrame([list(frame.columns)]), decimal, path)


def whole_where_stored(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The table with whole numbers that pandas made floats, because some are missing; they are read again."""
    if find_spec("pyarrow") is None:
        return frame
    from pyarrow import parquet, types  # noqa: PLC0415  it need not be installed

    stored = parquet.read_schema(path) if path.is_file() else ()
    whole = {each.name for each in stored if types.is_integer(each.type)}
    names = [name for name in frame.columns if name in whole and is_float(frame[name])]
    again = pd.read_parquet(path, columns=names, dtype_backend="numpy_nullable") if names else frame
    return frame.assign(**{name: again[name].array for name in names})


def read_excel(path: Path, decimal: str) -> TableFile:
    """Read the first sheet of a workbook; numbers in texts have a decimal mark."""
    # A text such as NA is one here as in a text file.
    how: dict[str, Any] = {"keep_default_na": False, "na_values": [""]}
    with pd.ExcelFile(path) as book:
        frame, header = pd.read_excel(book, **how), pd.read_excel(book, header=None, nrows=1, **how)
    for name in frame.columns:
        if is_float(frame[name]) and is_whole(frame[name]):
            frame[name] = frame[name].astype("Int64")
    return typed_file(frame, header, decimal, path)


def is_float(column: pd.Series[Any]) -> bool:
    """Tell whether a column holds floats."""
    return bool(pd.api.types.is_float_dtype(column))


def is_whole(column: pd.Series[Any]) -> bool:
    """Tell whether all floats of a column are whole, as where whole numbers are missing here and there."""
    known = column.dropna().to_numpy(dtype=np.float64)
    return bool(known.size and np.all(np.isfinite(known)) and np.all(known == np.floor(known)))


def typed_file(frame: pd.DataFrame, header: pd.DataFrame, decimal: str, path: Path) -> TableFile:
    """A table whose cells have types."""
    found = without_empty(frame, Dialect(decimal=decimal, typed=True), path)
    return replace(found, repeated=repeated_columns(frame, header))


def check_ending(path: Path) -> str:
    """The ending of a file, if it names a format that can be read and written here."""
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise TableError(
            f"{path.name} does not end in one of {', '.join(FORMATS)}, so its format is not known"
        )
    if ending in LIBRARIES and not any(find_spec(name) for name in LIBRARIES[ending]):
        raise TableError(f"{ending} files need another library: {HOW_TO_INSTALL}")
    return ending


def advice(path: Path, dialect: Dialect) -> str:
    """Advice on lines that do not go together: often there are remarks above the header."""
    with path.open(encoding=dialect.encoding) as file:
        first = file.readline().strip()
    if first.startswith(tuple(REMARKS)):
        return f"the first line, {shortened(first)!r}, is no header: take out the lines above that"
    return TELL_SEPARATOR


def shortened(text: str) -> str:
    """Its beginning, if it is long."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def read_text(path: Path, usual: str, known: KnownDialect) -> TableFile:
    """Read a text file, every cell as a text, so that it can be written back as it was."""
    dialect = dialect_of(path, usual, known)
    separator = dialect.separator
    how: dict[str, Any] = {
        "sep": separator, "dtype": str, "na_filter": False, "encoding": dialect.encoding,
        "skipinitialspace": True,
    }  # fmt: skip
    try:
        frame, header = pd.read_csv(path, **how), pd.read_csv(path, header=None, nrows=1, **how)
    except pd.errors.ParserError as error:
        raise TableError(f"{path} is not a table: {first_line(error)}; {advice(path, dialect)}") from error
    except ValueError as error:
        raise TableError(f"{path} is not a table: {first_line(error)}") from error
    if not isinstance(frame.index, pd.RangeIndex):
        what = "has rows with more fields than its header has names"
        raise TableError(f"{path} {what}; {advice(path, dialect)}")
    found = without_empty(frame, dialect, path)
    notes = []
    if separator != usual:
        notes.append(f"{SEPARATORS.get(separator, repr(separator))} between fields")
    if dialect.decimal == "," or separator == ";":
        notes.append(f"decimal {'commas' if dialect.decimal == ',' else 'points'}")
    return replace(found, notes=(*notes, *found.notes), repeated=repeated_columns(frame, header))


def repeated_columns(frame: pd.DataFrame, header: pd.DataFrame) -> tuple[str, ...]:
    """Columns whose name stands more than once in the first row of the file, but for blanks around it."""
    names = header.iloc[0].map(stripped).reindex(range(frame.shape[1]))
    repeated: BoolArray = (names.duplicated(keep=False) & names.notna() & names.ne("")).to_numpy(dtype=bool)
    return tuple(str(name) for name in frame.columns[repeated])


def stripped(name: Any) -> Any:
    """A name without blanks around it; what is no text, as it is."""
    return name.strip() if isinstance(name, str) else name


def plain_names(columns: Iterable[Any]) -> list[str]:
    """Names as texts without blanks around them; one that is taken has a number behind it.

    Examples
    --------
    >>> plain_names(["t", "y ", "y", "y.1", 7])
    ['t', 'y', 'y.2', 'y.1', '7']
    """
    given = [str(name).strip() for name in columns]
    names: list[str] = []
    for name in given:
        others = (f"{name}.{number}" for number in count(1))
        free = name if name not in names else next(each for each in others if each not in (*given, *names))
        names.append(free)
    return names


def without_empty(frame: pd.DataFrame, dialect: Dialect, path: Path) -> TableFile:
    """The table without columns that have neither name nor content, and without rows that are empty."""
    frame.columns = pd.Index(plain_names(frame.columns))
    # A comparison with a text would fail on cells that hold lists.
    empty = frame.isna() | frame.map(lambda cell: isinstance(cell, str) and not cell).astype(bool)
    nameless = [name for name in frame.columns if name.startswith("Unnamed: ") and empty[name].all()]
    frame, empty = frame.drop(columns=nameless), empty.drop(columns=nameless)
    blank: BoolArray = np.all(empty.to_numpy(dtype=bool), axis=1)
    notes = []
    if nameless:
        notes.append(f"left out {counted(len(nameless), 'column')} without name and content")
    if blank.any():
        notes.append(f"left out {counted(int(blank.sum()), 'empty row')}")
    kept = frame.loc[~blank].reset_index(drop=True)
    if not len(kept):
        raise TableError(f"{path} has no rows below its header")
    return TableFile(kept, dialect, tuple(notes))


def first_line(error: BaseException) -> str:
    """An error in one line."""
    return " ".join((str(error) or type(error).__name__).split())
