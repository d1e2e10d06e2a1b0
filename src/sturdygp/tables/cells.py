"""Cells of a table as numbers, times, hours of the day or categories, and which of these a column holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sturdygp._caching import cached_property
from sturdygp._typing import BoolArray, FloatArray

Kind: TypeAlias = Literal["number", "time", "clock", "text", "empty"]
Times: TypeAlias = NDArray[np.datetime64]
Texts: TypeAlias = NDArray[np.object_]

# Texts that stand for nothing, in small letters.
NOTHING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "nat", "-", "?"})
ISO = "ISO8601"
DAYS = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d")
CLOCKS = ("%H:%M", "%H:%M:%S", "%H.%M.%S")
TIME_FORMATS = (
    ISO,
    *(f"{day}{clock}" for clock, day in product(("", " %H:%M", " %H:%M:%S", " %H.%M.%S"), DAYS)),
)
# A column of numbers may hold some remarks; where they are more than this share it is one of texts.
REMARKS = 0.1


@dataclass(frozen=True)
class CellFormat:
    """What stands for a missing value, and the decimal mark of numbers that are written as text."""

    missing: tuple[str, ...] = ()
    decimal: str = "."


@dataclass(frozen=True, eq=False)
class Cells:
    """A column of a table: its values, which of them are given, and the decimal mark of those in texts."""

    values: pd.Series[Any]
    given: BoolArray
    decimal: str = "."

    @classmethod
    def of(cls, column: pd.Series[Any], cell_format: CellFormat) -> Cells:
        """Texts without blanks around them; what stands for a missing value is missing."""
        if is_number(column) or is_time(column):
            return cls(column, column.notna().to_numpy())._without_marks(cell_format.missing)
        texts = [plain_text(cell) for cell in column]
        given = [text.casefold() not in NOTHING and text not in cell_format.missing for text in texts]
        values = pd.Series(texts, index=column.index, dtype=object)
        cells = cls(values, np.array(given, dtype=bool), cell_format.decimal)
        return cells._without_marks(cell_format.missing)

    def _without_marks(self, missing: tuple[str, ...]) -> Cells:
        """A mark such as -200 may be a number, or be written as -200.0 or -200,0."""
        marks = [float(mark) for mark in missing if is_numeric(mark)]
        if not marks or is_time(self.values):
            return self
        return replace(self, given=self.given & ~np.isin(self.numbers(), marks))

    def numbers(self) -> FloatArray:
        """Numbers, NaN where there is none."""
        values = self.values
        if not is_number(values):
            plain = values.str.replace(",", ".", regex=False) if self.decimal == "," else values
            values = pd.to_numeric(plain, errors="coerce")
        numbers: FloatArray = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.where(self.given & np.isfinite(numbers), numbers, np.nan)

    def times(self, time_format: str) -> Times:
        """Times in UTC, NaT where there is none."""
        shown = self.values.where(self.given)
        stamps = pd.to_datetime(
            shown, format=None if is_time(shown) else time_format, errors="coerce", utc=True
        )
        times: Times = stamps.dt.tz_localize(None).to_numpy().astype("datetime64[ns]")
        return times

    def clocks(self, clock_format: str) -> FloatArray:
        """Hours since midnight, NaN where there are none."""
        stamps = pd.to_datetime(self.values.where(self.given), format=clock_format, errors="coerce")
        seconds = stamps.dt.hour * 3600 + stamps.dt.minute * 60 + stamps.dt.second
        return seconds.to_numpy(dtype=np.float64, na_value=np.nan) / 3600.0

    def texts(self) -> Texts:
        """Texts, None where there is none."""
        # Whole numbers look the same whether or not others in their column are missing.
        show = "{:g}".format if is_number(self.values) else str
        texts: Texts = np.array([show(value) for value in self.values], dtype=object)
        texts[~self.given] = None
        return texts

    def example(self) -> str:
        """The first given cell."""
        return str(self.values[self.given].iloc[0])

    @cached_property
    def kind(self) -> Kind:
        """What the column holds."""
        if not self.given.any():
            return "empty"
        if is_time(self.values):
            return "time"
        if np.isnan(self.numbers()[self.given]).mean() <= REMARKS:
            return "number"
        if self.time_format() is not None:
            return "time"
        return "clock" if self.clock_format() is not None else "text"

    def time_format(self) -> str | None:
        """The format in which every given cell is a time; of several, one that makes them ascend."""
        if is_time(self.values):
            return ISO
        if is_number(self.values):
            return None
        # Most formats are ruled out by the first cell.
        first = Cells(self.values[self.given].head(1), np.ones(1, dtype=bool))
        fitting = [
            each
            for each in TIME_FORMATS
            if not np.isnat(first.times(each)).any() and not np.isnat(self.times(each)[self.given]).any()
        ]
        ascending = [
            each for each in fitting if np.all(np.diff(self.times(each)[self.given]) >= np.timedelta64(0))
        ]
        return next(iter([*ascending, *fitting]), None)

    def clock_format(self) -> str | None:
        """The format in which every given cell is a time of day."""
        if is_number(self.values) or is_time(self.values):
            return None
        fitting = (each for each in CLOCKS if not np.isnan(self.clocks(each)[self.given]).any())
        return next(fitting, None)


def plain_text(cell: Any) -> str:
    """A cell as text without blanks around it; an empty one is an empty text."""
    return "" if pd.isna(cell) else str(cell).strip()


def is_number(column: pd.Series[Any]) -> bool:
    """Whether the cells are numbers already."""
    return bool(pd.api.types.is_numeric_dtype(column))


def is_time(column: pd.Series[Any]) -> bool:
    """Whether the cells are times already."""
    return bool(pd.api.types.is_datetime64_any_dtype(column))


def is_numeric(text: str) -> bool:
    """Whether a text is a number.

    Examples
    --------
    >>> is_numeric("-200"), is_numeric("gone")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True
