"""Cells of a text file with the types that they stand for: numbers, times, or the texts that they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from sturdygp._typing import BoolArray
from sturdygp.tables.cells import CellFormat, Cells, is_number, is_time
from sturdygp.tables.errors import TableError
from sturdygp.tables.time_formats import COMPACT
from sturdygp.tables.unclear import check_one_reading

WHOLE = re.compile(r"[+-]?\d+")
# Zeros in front tell that digits are a code, such as that of a place or a part, and no amount.
CODE = r"[+-]?0\d.*"
LARGEST_WHOLE = 2**63 - 1
TYPED = ("number", "time")

Value: TypeAlias = int | float | pd.Timestamp | str | None


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
        check_one_reading(str(name), cells)
    except TableError:
        return None
    times = cells.times(time_format)
    read, zoned = ~np.isnat(times), cells.zoned()
    if zoned[read].any() and not zoned[read].all():
        return None
    values = [stamp if known else None for stamp, known in zip(pd.Series(times), read, strict=True)]
    return values, read, bool(zoned.any())
