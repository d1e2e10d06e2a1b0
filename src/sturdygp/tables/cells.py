"""Cells of a table as numbers, times, hours of the day or categories, and which of these a column holds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sturdygp._caching import cached_property
from sturdygp._typing import BoolArray, FloatArray
from sturdygp.tables.timestamps import (
    CLOCKS,
    COMPACT,
    ISO,
    MOMENTS,
    TIME_FORMATS,
    ZONE,
    Times,
    parse_clocks,
    parse_compact_times,
    parse_times,
)

Kind: TypeAlias = Literal["number", "time", "clock", "text", "list", "empty"]
Texts: TypeAlias = NDArray[np.object_]

OTHER: Mapping[str, str] = {".": ",", ",": "."}
# A number whose thousands are apart; 0.995 is none.
GROUPED: Mapping[str, str] = {
    decimal: rf"[+-]?[1-9]\d{{0,2}}(?:{re.escape(other)}\d{{3}})+(?:{re.escape(decimal)}\d+)?"
    for decimal, other in OTHER.items()
}
# Texts that stand for nothing, in small letters.
NOTHING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "nat", "-", "?"})
# A column of numbers or times may hold some remarks; where they are more than this share it is one of texts.
REMARKS = 0.1
# Cells by which most formats of times are ruled out.
FEW_CELLS = 20
# So many different whole numbers that all are dates, such as 20240330, are no amounts: few of those would be.
FEWEST_DATES = 3
# Whole numbers below this are exact.
MOST_EXACT = 2.0**53


@dataclass(frozen=True, eq=False)
class Numerals:
    """Texts of one column of which some are numbers, and the decimal mark."""

    texts: pd.Series[Any]
    decimal: str

    @cached_property
    def grouped(self) -> BoolArray:
        """Which texts have marks between thousands; none if others tell that these are decimal marks.

        A mark alone may be either: 1.001 is 1001 with a decimal comma, unless a text such as 0.998 stands in
        the same column. A second mark, as in 1.003,5 or 1.000.000, leaves no doubt.
        """
        texts, other = self.texts, re.escape(OTHER[self.decimal])
        if not texts.str.contains(OTHER[self.decimal], regex=False).any():
            return np.zeros(len(texts), dtype=bool)
        grouped = texts.str.fullmatch(GROUPED[self.decimal])
        certain = grouped & (texts.str.count(r"[.,]") > 1)
        contrary = texts.str.fullmatch(rf"[+-]?\d*{other}\d*") & ~grouped
        read = bool(certain.any() or not contrary.any())
        return np.asarray(grouped, dtype=bool) & read

    @cached_property
    def plain(self) -> pd.Series[Any]:
        """Numbers with decimal points and nothing between thousands; missing where a mark is out of place."""
        texts = self.texts
        if self.grouped.any():
            plain = texts.str.replace(OTHER[self.decimal], "", regex=False)
            # What has the mark elsewhere is no number of this column.
            marked = texts.str.contains(OTHER[self.decimal], regex=False)
            texts = plain.where(self.grouped, texts.mask(marked))
        if self.decimal == ",":
            texts = texts.str.replace(",", ".", regex=False)
        return texts

    @cached_property
    def numbers(self) -> FloatArray:
        """Numbers, NaN where there is none."""
        read = pd.to_numeric(self.plain, errors="coerce")
        numbers: FloatArray = read.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers


@dataclass(frozen=True)
class CellFormat:
    """Texts that stand for a missing value, and the decimal mark of numbers that are written as text."""

    missing: tuple[str, ...] = ()
    decimal: str = "."


@dataclass(frozen=True, eq=False)
class Cells:
    """A column of a table: its values, which of them are given, and the decimal mark of those in texts.

    ``lists`` tells that a cell holds several values, as a file of Parquet may.
    """

    values: pd.Series[Any]
    given: BoolArray
    decimal: str = "."
    lists: bool = False

    @classmethod
    def of(cls, column: pd.Series[Any], cell_format: CellFormat) -> Cells:
        """Texts without blanks around them; what stands for a missing value is missing."""
        if is_number(column) or is_time(column):
            return cls(column, column.notna().to_numpy()).without(cell_format.missing)
        if any(pd.api.types.is_list_like(cell) for cell in column):
            return cls(column.astype(str), column.notna().to_numpy(), lists=True)
        texts = [plain_text(cell) for cell in column]
        given = np.array([text.casefold() not in NOTHING for text in texts], dtype=bool)
        values = pd.Series(texts, index=column.index, dtype=object)
        return cls(values, given, cell_format.decimal).without(cell_format.missing)

    def without(self, marks: tuple[str, ...]) -> Cells:
        """Without what stands for a missing value: -200 may be a text, or written as -200.0 or -200,0."""
        if not marks or self.lists:
            return self
        marked = np.isin(self.numbers(), [float(mark) for mark in marks if is_numeric(mark)])
        if not is_number(self.values):
            texts = pd.Series(self.texts()) if is_time(self.values) else self.values
            marked |= texts.isin(marks).to_numpy()
        return replace(self, given=self.given & ~marked)

    @cached_property
    def numerals(self) -> Numerals:
        """Texts as numbers are written."""
        return Numerals(self.values.where(self.given, ""), self.decimal)

    def grouped(self) -> BoolArray:
        """Which cells are numbers with marks between thousands."""
        typed = is_number(self.values) or is_time(self.values)
        return np.zeros_like(self.given) if typed else self.numerals.grouped

    def numbers(self) -> FloatArray:
        """Numbers, NaN where there is none."""
        return self._numbers

    @cached_property
    def _numbers(self) -> FloatArray:
        values = self.values
        if is_time(values):
            return np.full(len(values), np.nan)
        if is_number(values):
            numbers: FloatArray = values.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            numbers = self.numerals.numbers
        return np.where(self.given & np.isfinite(numbers), numbers, np.nan)

    def times(self, time_format: str) -> Times:
        """Times in UTC, NaT where there is none, or one that is not between the years 1677 and 2262."""
        if time_format not in self._times:
            self._times[time_format] = self._parsed_times(time_format)
        return self._times[time_format]

    @cached_property
    def _times(self) -> dict[str, Times]:
        """Times by the format in which they were read."""
        return {}

    def _parsed_times(self, time_format: str) -> Times:
        if time_format in COMPACT:
            return parse_compact_times(self.numbers(), time_format)
        # A year alone would be a time too; in a column of times -200 and 9999 stand for a missing one.
        likely = self.given & np.isnan(self.numbers()) & ~self.values.isin(MOMENTS)
        return parse_times(self.values.where(likely), None if is_time(self.values) else time_format)

    def zoned(self) -> BoolArray:
        """Which given cells tell the zone of their time."""
        if is_time(self.values):
            return self.given & isinstance(self.values.dtype, pd.DatetimeTZDtype)
        if is_number(self.values):
            return np.zeros_like(self.given)
        return self.given & self.values.str.contains(ZONE).to_numpy(dtype=bool)

    def have_zones(self) -> bool:
        """Tell whether times tell their zones."""
        return bool(self.zoned().any())

    def clocks(self, clock_format: str) -> FloatArray:
        """Hours since midnight, NaN where there are none."""
        if clock_format not in self._clocks:
            self._clocks[clock_format] = parse_clocks(self.values.where(self.given), clock_format)
        return self._clocks[clock_format]

    @cached_property
    def _clocks(self) -> dict[str, FloatArray]:
        """Times of day by the format in which they were parsed."""
        return {}

    def texts(self) -> Texts:
        """Texts, None where there is none."""
        return self._texts

    @cached_property
    def _texts(self) -> Texts:
        texts: Texts = np.full(len(self.values), None, dtype=object)
        texts[self.given] = [plain_text(value) for value in self.values[self.given]]
        return texts

    def not_numbers(self) -> BoolArray:
        """Which given cells are not numbers."""
        return self.given & np.isnan(self.numbers())

    def not_times(self) -> BoolArray:
        """Which given cells are not times in the format that fits most of them; all if none fits any."""
        formats = self.time_formats
        return self.given & np.isnat(self.times(formats[0])) if formats else self.given

    def unread(self) -> BoolArray:
        """Which given cells keep the column from being numbers or times, whichever is nearer."""
        return min(self.not_numbers(), self.not_times(), key=np.count_nonzero)

    def example(self, which: BoolArray) -> str:
        """The first of some cells."""
        return plain_text(self.values[which].iloc[0])

    @property
    def numeric(self) -> bool:
        """Tell whether the cells are numbers, but for some remarks; dates of digits alone are numbers too."""
        return not self.lists and bool(self.given.any()) and self.are_remarks(self.not_numbers())

    @cached_property
    def compact_format(self) -> str | None:
        """The format in which whole numbers are dates, such as 20240330, if these are more than chance."""
        for time_format in COMPACT:
            times = self.times(time_format)
            enough = len(np.unique(times[~np.isnat(times)])) >= FEWEST_DATES
            if enough and self.are_remarks(self.given & np.isnat(times)):
                return time_format
        return None

    @cached_property
    def kind(self) -> Kind:
        """Kind of what the column holds."""
        if not self.given.any():
            return "empty"
        if self.lists:
            return "list"
        if self.numeric:
            return "number" if self.compact_format is None else "time"
        if self.time_format() is not None:
            return "time"
        return "clock" if self.clock_format() is not None else "text"

    def are_remarks(self, odd: BoolArray) -> bool:
        """Tell whether cells are so few that the others tell what the column holds."""
        return bool(odd[self.given].mean() <= REMARKS)

    def time_format(self) -> str | None:
        """The format in which the given cells are times, but for some remarks."""
        return self.time_formats[0] if self.time_formats and self.are_remarks(self.not_times()) else None

    @cached_property
    def time_formats(self) -> tuple[str, ...]:
        """The formats in which most given cells are times; of several, those that make them ascend."""
        if is_time(self.values):
            return (ISO,)
        if self.numeric and self.compact_format is not None:
            return (self.compact_format,)
        if is_number(self.values) or not self.given.any():
            return ()
        given = self.values[self.given]
        few = given.iloc[:: max(1, len(given) // FEW_CELLS)]
        first = Cells(few, np.ones(len(few), dtype=bool))
        likely = (each for each in TIME_FORMATS if not np.isnat(first.times(each)).all())
        ranks = {each: self._rank(each) for each in likely}
        best = max(ranks.values(), default=None)
        return tuple(each for each, rank in ranks.items() if rank == best)

    def _rank(self, time_format: str) -> tuple[int, bool]:
        """How many cells are times in a format, and whether these ascend."""
        times = self.times(time_format)
        read = times[~np.isnat(times)]
        return len(read), bool(np.all(read[1:] >= read[:-1]))

    def clock_format(self) -> str | None:
        """The format in which the given cells are times of day, but for some remarks."""
        if is_number(self.values) or is_time(self.values):
            return None
        fitting = (each for each in CLOCKS if self.are_remarks(self.given & np.isnan(self.clocks(each))))
        return next(fitting, None)


class Columns:
    """Columns of a table as cells. Looking through cells takes time, so that it is done once for each."""

    def __init__(self, frame: pd.DataFrame, cell_format: CellFormat) -> None:
        self.frame, self.cell_format = frame, cell_format
        self._known: dict[str, Cells] = {}

    def __getitem__(self, name: str) -> Cells:
        """One column."""
        if name not in self._known:
            self._known[name] = Cells.of(self.frame[name], self.cell_format)
        return self._known[name]

    def __contains__(self, name: str) -> bool:
        """Tell whether the table has a column."""
        return name in self.frame

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.frame)


def plain_text(cell: Any) -> str:
    """A cell as text without blanks around it; an empty one is an empty text.

    Whole numbers are written alike, also where others in their column are missing.

    Examples
    --------
    >>> plain_text(1234567.0), plain_text(0.5), plain_text(" A "), plain_text(None)
    ('1234567', '0.5', 'A', '')
    """
    if pd.isna(cell):
        return ""
    number = float(cell) if isinstance(cell, float | np.floating) else np.nan
    whole = number.is_integer() and abs(number) < MOST_EXACT
    return str(int(number)) if whole else str(cell).strip()


def is_number(column: pd.Series[Any]) -> bool:
    """Tell whether the cells are numbers already."""
    return bool(pd.api.types.is_numeric_dtype(column))


def is_time(column: pd.Series[Any]) -> bool:
    """Tell whether the cells are times already."""
    return bool(pd.api.types.is_datetime64_any_dtype(column))


def is_numeric(text: str) -> bool:
    """Tell whether a text is a number.

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
