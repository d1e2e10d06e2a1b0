"""Timestamps: the formats in which people write dates and times, and cells parsed by one of them."""

from __future__ import annotations

import re
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sturdygp._typing import FloatArray

Times: TypeAlias = NDArray[np.datetime64]

ISO = "ISO8601"
# Texts that pandas takes for the moment at which they are read.
MOMENTS = ("now", "today")
# Dates that are written like times of day with dots.
SHORT_DAY = "%d.%m.%y"
DAYS = (
    *("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y-%m-%d"),
    *("%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%d-%B-%Y", "%d. %B %Y", "%b %d, %Y", "%B %d, %Y"),
    *(
        SHORT_DAY,
        "%d/%m/%y",
        "%m/%d/%y",
        "%y/%m/%d",
        "%d-%m-%y",
        "%m-%d-%y",
        "%y-%m-%d",
        "%d-%b-%y",
        "%d %b %y",
    ),
)
DOTTED_CLOCK = "%H.%M.%S"
CLOCKS = ("%H:%M", "%H:%M:%S", DOTTED_CLOCK, "%I:%M %p", "%I:%M:%S %p")
# Dates and times of digits alone, such as 20240131 and 202401311400, with the number of these; and the years
# in which digits are taken for dates: other such numbers are amounts.
COMPACT = {"%Y%m%d": 8, "%Y%m%d%H": 10, "%Y%m%d%H%M": 12, "%Y%m%d%H%M%S": 14}
COMPACT_YEARS = (1900, 2099)
TIME_FORMATS = (ISO, *DAYS, *(f"{day} {clock}" for clock, day in product(CLOCKS, DAYS)))
# One of each sort, for people.
TIME_EXAMPLES = ("2024-01-31 14:00", "31.01.2024 14:00:00", "01/31/2024 02:00 PM", "31-Jan-2024")
TIMES_READ = f"times are read if they are written like {', '.join(TIME_EXAMPLES)}"
# Texts that a person would take for a time: 31.01.24 and the like, 31. Januar 2024, Jan 31 2024, 14:00.
TIME_LIKE = re.compile(
    r"""(?:\w+\.?,?\s)?                                   # Monday, or nothing
    (?:\d{1,2}([./-])\d{1,2}\1\d{2}(?:\d{2})? | \d{4}([./-])\d{1,2}\2\d{1,2}
    | \d{1,2}\.?[\s-]?[^\W\d]{3,}\.?[\s-]\d{2,4} | [^\W\d]{3,}\.?\s\d{1,2},?\s\d{4} | \d{1,2}:\d{2})
    (?:[\sT,:].*)?""",
    re.VERBOSE,
)
# What follows the hour where a time tells its zone.
ZONE = re.compile(r":\d{2}(?:\.\d+)?\s?(?:Z|[+-]\d{2}(?::?\d{2})?)$")


def parse_times(cells: pd.Series[Any], time_format: str | None) -> Times:
    """Parse times to UTC, NaT where there is none, or one that is not between the years 1677 and 2262.

    Without a format the cells are times already.
    """
    stamps = pd.to_datetime(cells, format=time_format, errors="coerce", utc=True).dt.tz_localize(None)
    # Nanoseconds that do not fit into 64 bits would wrap around.
    held = stamps.where(stamps.between(pd.Timestamp.min, pd.Timestamp.max))
    times: Times = held.to_numpy().astype("datetime64[ns]")
    return times


def parse_compact_times(numbers: FloatArray, time_format: str) -> Times:
    """Parse numbers with as many digits as the format has, in years that are likely.

    Examples
    --------
    >>> parse_compact_times(np.array([20240131.0, 7.0]), "%Y%m%d").astype(str).tolist()
    ['2024-01-31T00:00:00.000000000', 'NaT']
    """
    unit = 10.0 ** (COMPACT[time_format] - 4)
    first, last = COMPACT_YEARS
    likely = (numbers >= first * unit) & (numbers < (last + 1) * unit) & (numbers == np.floor(numbers))
    times = np.full(len(numbers), np.datetime64("NaT", "ns"))
    if likely.any():
        digits = pd.Series(numbers[likely].astype(np.int64)).astype(str)
        times[likely] = pd.to_datetime(digits, format=time_format, errors="coerce").to_numpy()
    return times


def parse_clocks(cells: pd.Series[Any], clock_format: str) -> FloatArray:
    """Parse times of day to hours since midnight, NaN where there are none.

    Examples
    --------
    >>> parse_clocks(pd.Series(["06:30", "soon"]), "%H:%M").tolist()
    [6.5, nan]
    """
    stamps = pd.to_datetime(cells, format=clock_format, errors="coerce")
    seconds = stamps.dt.hour * 3600 + stamps.dt.minute * 60 + stamps.dt.second
    return seconds.to_numpy(dtype=np.float64, na_value=np.nan) / 3600.0
