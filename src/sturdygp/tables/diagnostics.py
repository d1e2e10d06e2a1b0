"""Diagnostics of a table before a fit: cells that do not fit their column, ambiguous times, far values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.exceptions import TableError
from sturdygp.tables.cells import REMARKS, CellFormat, Cells, Columns
from sturdygp.tables.formatting import MOST_DIGITS, counted
from sturdygp.tables.inputs import InputColumn, NumberInput, TimeInput
from sturdygp.tables.plan import Plan
from sturdygp.tables.timestamps import COMPACT, DOTTED_CLOCK, SHORT_DAY, TIME_EXAMPLES, TIME_LIKE, TIMES_READ

# Values are near if they are within so many times the range of the middle half, and far if they are away from
# all near ones by more than so many times the range of these.
NEAR_SPANS = 5.0
FAR_SPANS = 3.0


def diagnose(plan: Plan, table: Columns, raw: FloatArray, readings: FloatArray) -> tuple[str, ...]:
    """Give notes on everything that a person should know; ``raw`` are the features in their own units."""
    return (
        *misfits(plan, table, raw, readings),
        *marks_found(table.frame, plan.cell_format),
        *far_inputs(table, plan, raw),
    )


def check_unambiguous(name: str, cells: Cells) -> None:
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
    """Error for times with two meanings."""
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


def misfits(plan: Plan, table: Columns, raw: FloatArray, readings: FloatArray) -> Iterator[str]:
    """Describe cells that are not what their column holds, and numbers and times in unusual forms.

    ``raw`` are the features of the table in their own units.
    """
    for name, column in zip(plan.targets, readings.T, strict=True):
        if name in table:
            yield from misfits_of(NumberInput(name), table[name], column[:, None])
    for each, features in plan.by_column(raw):
        yield from misfits_of(each, table[each.name], features)


def misfits_of(column: InputColumn, cells: Cells, features: FloatArray) -> list[str]:
    """Describe the cells of one column that became these features."""
    odd = cells.given & np.any(np.isnan(features), axis=1)
    remarks = [*thousands(column, cells), *compact(column, cells), *zones(column, cells)]
    if odd.any():
        number, (one, several) = int(odd.sum()), column.holds
        remarks.append(
            f"{column.name}: {counted(number, f'cell is not {one}', f'cells are not {several}')} "
            f"(for example {cells.example(odd)!r}) and count{'s' * (number == 1)} as missing"
        )
    return remarks


def thousands(column: InputColumn, cells: Cells) -> list[str]:
    """Note on how a number with marks between thousands is read."""
    grouped = cells.grouped()
    if column.kind != "number" or not grouped.any():
        return []
    return [
        f"{column.name}: {cells.example(grouped)!r} is read as {cells.numbers()[grouped][0]:.15g}, with "
        "marks between thousands; if that is wrong, tell the decimal mark with --decimal"
    ]


def compact(column: InputColumn, cells: Cells) -> list[str]:
    """Note on how a number that is taken for a time is read."""
    if not isinstance(column, TimeInput) or column.time_format not in COMPACT:
        return []
    times = cells.times(column.time_format)
    read = ~np.isnat(times)
    if not read.any():
        return []
    shown = str(times[read][0].astype("datetime64[s]")).replace("T00:00:00", "").replace("T", " ")
    return [
        f"{column.name}: {cells.example(read)} is read as the time {shown}; if these are plain numbers, "
        "leave the column out with --exclude or write them with a decimal mark"
    ]


def zones(column: InputColumn, cells: Cells) -> list[str]:
    """Note on times that have no zone where others have, or have one where the model knows none."""
    if not isinstance(column, TimeInput):
        return []
    zoned = cells.zoned()
    unlike = ~np.isnat(cells.times(column.time_format)) & (zoned != column.zoned)
    if not unlike.any():
        return []
    number, shown = int(unlike.sum()), f"(for example {cells.example(unlike)!r})"
    ending = "s" * (number == 1)
    if column.zoned:
        tell = counted(number, "time tells no zone", "times tell no zone")
        return [f"{column.name}: {tell} {shown} and count{ending} as UTC, which those with a zone become"]
    tell = counted(number, "time tells its zone", "times tell their zone")
    what = f"and become{ending} UTC, but the model was fitted to times without zones"
    return [f"{column.name}: {tell} {shown} {what}"]


def marks_found(frame: pd.DataFrame, cell_format: CellFormat) -> Iterator[str]:
    """Count the cells that each mark for a missing value stands in."""
    if not cell_format.missing:
        return
    columns = [Cells.of(frame[name], replace(cell_format, missing=())) for name in frame.columns]
    for mark in cell_format.missing:
        number = sum(int((column.given & ~column.without((mark,)).given).sum()) for column in columns)
        yield f"--missing {mark} stands in {counted(number, 'cell') if number else 'no cell'} of the table"


def far_inputs(columns: Columns, plan: Plan, raw: FloatArray) -> Iterator[str]:
    """Find inputs that have values far from all others, such as -9999, or times of a clock that was reset."""
    for column, features in plan.by_column(raw):
        far = far_from_others(features[:, 0]) if column.kind in {"number", "time"} else np.zeros(0, bool)
        if not far.any():
            continue
        if column.kind == "number":
            texts = [f"{value:.{MOST_DIGITS}g}" for value in features[far, 0]]
        else:
            texts = list(columns[column.name].texts()[far])
        yield f"{column.name}: {far_in_words(texts)}"


def far_in_words(texts: list[str]) -> str:
    """Values far from all others, and what to do about them.

    Examples
    --------
    >>> far_in_words(["1e30", "2e30"])
    '2 values are like 1e30, far from all others; if they are wrong, leave those rows out'
    """
    same = len(set(texts)) == 1
    number = counted(len(texts), "value is", "values are" if same else "values are like")
    missing = f"that stands for a missing value, say --missing {texts[0]!r}"
    advice = missing if same else "they are wrong, leave those rows out"
    return f"{number} {texts[0]}, far from all others; if {advice}"


def far_from_others(values: FloatArray) -> BoolArray:
    """Which values are far from all others, if these are few.

    Examples
    --------
    >>> far_from_others(np.array([*range(100), 9999.0])).nonzero()[0].tolist()
    [100]
    """
    known = values[~np.isnan(values)]
    low, middle, high = np.quantile(known, (0.25, 0.5, 0.75)) if known.size else np.zeros(3)
    near = known[np.abs(known - middle) <= NEAR_SPANS * (high - low)]
    if low == high:
        return np.zeros(len(values), dtype=bool)
    span = FAR_SPANS * np.ptp(near)
    far: BoolArray = (values < near.min() - span) | (values > near.max() + span)
    return far & bool(far.sum() <= REMARKS * known.size)
