"""Times that nobody can read without knowing more."""

from __future__ import annotations

import numpy as np

from sturdygp.tables.cells import Cells
from sturdygp.tables.errors import TableError
from sturdygp.tables.time_formats import DOTTED_CLOCK, SHORT_DAY, TIME_EXAMPLES, TIME_LIKE, TIMES_READ


def check_one_reading(name: str, cells: Cells) -> None:
    """Refuse dates in which the day may as well be the month or the year, or which may be times of day."""
    chosen, *others = cells.time_formats
    times = cells.times(chosen)
    for other in others:
        differ = cells.given & (times != cells.times(other)) & ~np.isnat(times)
        if differ.any():
            raise two_ways(name, chosen, other, cells.example(differ))
    if chosen == SHORT_DAY and cells.clock_format() == DOTTED_CLOCK:
        raise two_ways(name, DOTTED_CLOCK, SHORT_DAY, cells.example(~np.isnat(times)))


def two_ways(name: str, first: str, second: str, shown: str) -> TableError:
    """For times with two meanings."""
    return TableError(
        f"the times of column {name!r} can be read in two ways, {first} and {second} "
        f"(for example {shown!r}); write them like {TIME_EXAMPLES[0]}, or leave the column out with --exclude"
    )


def check_no_times(name: str, cells: Cells) -> None:
    """Refuse texts that a person would take for times: a fit without them may see nothing but faults."""
    likely = cells.values.astype(str).str.fullmatch(TIME_LIKE).to_numpy(dtype=bool)
    if cells.are_remarks(~likely):
        raise TableError(
            f"the times of column {name!r} cannot be read (for example {cells.example(cells.given)!r}); "
            f"{TIMES_READ}; write them so, leave the column out with --exclude, or name it with --categories"
        )
