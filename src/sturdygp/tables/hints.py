"""What a person should know of a table before it is fitted: far values, and what stands for missing ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.tables.cells import REMARKS, CellFormat, Cells, Columns
from sturdygp.tables.counting import counted
from sturdygp.tables.digits import MOST_DIGITS
from sturdygp.tables.plan import Plan

# Values are near if they are within so many times the range of the middle half, and far if they are away from
# all near ones by more than so many times the range of these.
NEAR_SPANS = 5.0
FAR_SPANS = 3.0


def hints(columns: Columns, plan: Plan, raw: FloatArray) -> tuple[str, ...]:
    """All that there is to tell."""
    return (*marks_found(columns.frame, plan.cell_format), *far_inputs(columns, plan, raw))


def marks_found(frame: pd.DataFrame, cell_format: CellFormat) -> Iterator[str]:
    """How many cells each mark for a missing value stands in."""
    if not cell_format.missing:
        return
    columns = [Cells.of(frame[name], replace(cell_format, missing=())) for name in frame.columns]
    for mark in cell_format.missing:
        number = sum(int((column.given & ~column.without((mark,)).given).sum()) for column in columns)
        yield f"--missing {mark} stands in {counted(number, 'cell') if number else 'no cell'} of the table"


def far_inputs(columns: Columns, plan: Plan, raw: FloatArray) -> Iterator[str]:
    """Which inputs have values far from all others, such as -9999, or times of a clock that was reset."""
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
