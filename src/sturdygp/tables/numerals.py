"""Numbers written as text: with either decimal mark, and with the other mark between thousands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sturdygp._caching import cached_property
from sturdygp._typing import BoolArray, FloatArray

OTHER: Mapping[str, str] = {".": ",", ",": "."}
# A number whose thousands are apart; 0.995 is none.
GROUPED: Mapping[str, str] = {
    decimal: rf"[+-]?[1-9]\d{{0,2}}(?:{re.escape(other)}\d{{3}})+(?:{re.escape(decimal)}\d+)?"
    for decimal, other in OTHER.items()
}


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
