"""How people write times."""

from __future__ import annotations

import re
from itertools import product

ISO = "ISO8601"
# Texts that pandas takes for the moment at which they are read.
MOMENTS = ("now", "today")
# Dates that look like times of day with dots.
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
