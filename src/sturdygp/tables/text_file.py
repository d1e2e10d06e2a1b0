"""How a text file writes a table: what is between fields, decimal marks, letters and ends of lines."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

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


@dataclass(frozen=True)
class Dialect:
    """How a text file writes a table. Other files have cells with types: they are ``typed``."""

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    line_end: str = "\n"
    typed: bool = False


@dataclass(frozen=True)
class Told:
    """What is known of a file beforehand, and its decimal mark where nothing tells; None leaves it open."""

    separator: str | None = None
    decimal: str | None = None
    usual_decimal: str | None = None


PLAIN = Dialect(typed=True)
NOTHING_TOLD = Told()


def dialect_of(path: Path, usual: str, told: Told) -> Dialect:
    """What was told of a file, and guesses for the rest."""
    encoding = guess_encoding(path)
    with path.open(encoding=encoding, newline="") as stream:
        lines = list(islice(stream, SAMPLE_LINES))
    separator = told.separator or guess_separator(lines, usual)
    # Where fields end with semicolons, commas are taken.
    nothing_tells = told.usual_decimal or ("," if separator == ";" else ".")
    decimal = told.decimal or guess_decimal(lines, separator, nothing_tells)
    return Dialect(separator, decimal, encoding, line_end(lines))


def guess_encoding(path: Path) -> str:
    """What its first bytes say, else the first that fits."""
    with path.open("rb") as stream:
        start = stream.read(3)
    marked = (name for mark, name in BYTE_ORDER_MARKS.items() if start.startswith(mark))
    fitting = (name for name in ENCODINGS if is_written_in(path, name))
    return next(marked, None) or next(fitting)


def is_written_in(path: Path, encoding: str) -> bool:
    """Whether every byte of a file has a meaning."""
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
    """What stands as often in the first lines as in the header; else most often in the header, if anything.

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
