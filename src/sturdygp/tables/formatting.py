"""Formatting for people: numbers to the digits that mean something, counts, lists."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from sturdygp._typing import FloatArray

# Digits that are kept of the width of an interval: in files and pictures, and where people read them.
WIDTH_DIGITS = 5
READ_DIGITS = 3
# Digits that a float has in any case.
MOST_DIGITS = 15
SHOWN_TEXTS = 3


def readable(values: FloatArray, widths: ArrayLike) -> FloatArray:
    """Round values to the digits that mean something, given a width such as half that of their interval.

    Examples
    --------
    >>> import numpy as np
    >>> readable(np.array([1000000010.0250123, 1.23456789, np.nan]), np.array([0.35, 20.0, np.nan])).tolist()
    [1000000010.02501, 1.235, nan]
    """
    pairs = zip(values, np.broadcast_to(widths, np.shape(values)), strict=True)
    return np.array([rounded(float(value), float(width)) for value, width in pairs])


def rounded(value: float, width: float, digits: int = WIDTH_DIGITS) -> float:
    """Round one value; one without a width keeps the digits that a float has in any case."""
    if 0.0 < width < math.inf:
        value = round(value, digits - 1 - math.floor(math.log10(width)))
    return float(f"{value:.{MOST_DIGITS}g}")


def in_text(value: float, width: float, digits: int = READ_DIGITS) -> str:
    """Round one value for people, without an exponent unless it is huge or tiny.

    Examples
    --------
    >>> in_text(1774659605.0, 300.0), in_text(101337.24987, 12.0), in_text(1e30, 0.5)
    ('1774659605', '101337.2', '1e+30')
    """
    return f"{rounded(value, width, digits):.{MOST_DIGITS}g}"


def counted(number: int, noun: str, several: str | None = None) -> str:
    """Count things.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "row"), counted(2, "cell is", "cells are")
    ('1 row', '2 rows', '2 cells are')
    """
    return f"{number} {noun if number == 1 else several or f'{noun}s'}"


def listed(texts: tuple[str, ...] | list[str], shown: int = SHOWN_TEXTS) -> str:
    """The first few, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    more = len(texts) - shown
    return ", ".join(texts[:shown]) + (f" and {more} more" if more > 0 else "")


def rows_in_words(rows: Mapping[str, int]) -> str:
    """Count the rows of each kind.

    Examples
    --------
    >>> rows_in_words({"read": 90, "usable": 88, "fitted": 50, "target_missing": 2, "input_missing": 0})
    '90 in the table; 50 fitted, drawn from 88; 2 without a reading, predicted only'
    """
    words = [f"{rows['read']} in the table"]
    if "fitted" in rows:
        drawn = f", drawn from {rows['usable']}" if rows["fitted"] < rows["usable"] else ""
        words.append(f"{rows['fitted']} fitted{drawn}")
    if rows.get("target_missing"):
        words.append(f"{rows['target_missing']} without a reading, predicted only")
    if rows.get("input_missing"):
        words.append(f"{rows['input_missing']} without an input, for which nothing can be said")
    return "; ".join(words)
