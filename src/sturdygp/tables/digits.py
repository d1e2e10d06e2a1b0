"""Numbers with the digits that tell something: those of the width beside them, not of the number itself."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sturdygp._typing import FloatArray

# Digits that are kept of the width of an interval: in files and pictures, and where people read them.
WIDTH_DIGITS = 5
READ_DIGITS = 3
# Digits that a float has in any case.
MOST_DIGITS = 15


def readable(values: FloatArray, widths: ArrayLike) -> FloatArray:
    """Values to the digits that tell something beside a width, such as half that of their interval.

    Examples
    --------
    >>> import numpy as np
    >>> readable(np.array([1000000010.0250123, 1.23456789, np.nan]), np.array([0.35, 20.0, np.nan])).tolist()
    [1000000010.02501, 1.235, nan]
    """
    pairs = zip(values, np.broadcast_to(widths, np.shape(values)), strict=True)
    return np.array([rounded(float(value), float(width)) for value, width in pairs])


def rounded(value: float, width: float, digits: int = WIDTH_DIGITS) -> float:
    """One such value; one without a width keeps the digits that a float has in any case."""
    if 0.0 < width < math.inf:
        value = round(value, digits - 1 - math.floor(math.log10(width)))
    return float(f"{value:.{MOST_DIGITS}g}")


def in_text(value: float, width: float, digits: int = READ_DIGITS) -> str:
    """One such value for people, without an exponent unless it is huge or tiny.

    Examples
    --------
    >>> in_text(1774659605.0, 300.0), in_text(101337.24987, 12.0), in_text(1e30, 0.5)
    ('1774659605', '101337.2', '1e+30')
    """
    return f"{rounded(value, width, digits):.{MOST_DIGITS}g}"
