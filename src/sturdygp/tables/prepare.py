"""Which columns to use and how to read them: what was asked for, and sensible guesses for the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from sturdygp._typing import FloatArray
from sturdygp.tables.cells import CellFormat, Cells
from sturdygp.tables.errors import TableError
from sturdygp.tables.inputs import CategoryInput, ClockInput, InputColumn, NumberInput, TimeInput
from sturdygp.tables.plan import Plan

# Texts with more different values than this are remarks or names, not categories.
MOST_CATEGORIES = 20
MOST_ASKED_CATEGORIES = 200
# An input that is missing more often than this costs more rows than it is worth.
MOST_MISSING = 0.5
COUNTER_NAMES = frozenset({"id", "index", "idx", "no", "nr", "number", "row", "unnamed: 0", "#"})


@dataclass(frozen=True)
class Request:
    """What the user asked for; None leaves it to be guessed."""

    targets: tuple[str, ...]
    inputs: tuple[str, ...] | None = None
    time: str | None = None
    categories: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    decimal: str = "."

    @property
    def cell_format(self) -> CellFormat:
        """How cells are written."""
        return CellFormat(self.missing, self.decimal)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A plan, its features of all rows in their own units, and which columns were left out, and why."""

    plan: Plan
    raw: FloatArray
    readings: FloatArray
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass
class Choice:
    """Columns chosen so far."""

    frame: pd.DataFrame
    request: Request
    inputs: list[InputColumn] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    counters: list[InputColumn] = field(default_factory=list)
    known: dict[str, Cells] = field(default_factory=dict)

    def cells(self, name: str) -> Cells:
        """A column; looking through its cells takes time, so that it is done once."""
        if name not in self.known:
            self.known[name] = Cells.of(self.frame[name], self.request.cell_format)
        return self.known[name]


def prepare(frame: pd.DataFrame, request: Request) -> Prepared:
    """Decide what the targets and inputs are.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"day": ["2024-01-01", "2024-01-09"], "site": ["A", "B"], "co": [1.0, 2.0]})
    >>> prepared = prepare(frame, Request(targets=("co",)))
    >>> [column.describe() for column in prepared.plan.inputs]
    ['day (days since 2024-01-01)', 'site (2 categories: A, B)']
    """
    check_columns(frame, request)
    choice = Choice(frame, request)
    if request.inputs is not None:
        asked(choice)
    else:
        guessed(choice)
    if not choice.inputs:
        raise TableError(
            f"no column can serve as an input; left out: {'; '.join(choice.left_out) or 'none'}. "
            "Name the inputs with --inputs"
        )
    plan = Plan(request.targets, tuple(choice.inputs), request.cell_format)
    raw, readings = plan.raw_features(frame), plan.readings(frame)
    notes = [
        note
        for name in (*request.targets, *(c.name for c in choice.inputs))
        for note in remarks(choice, name)
    ]
    check_targets(choice, readings)
    return Prepared(plan, raw, readings, tuple(choice.left_out), tuple(notes))


def check_columns(frame: pd.DataFrame, request: Request) -> None:
    """Refuse names that are not in the table, and columns with two roles."""
    named = [*request.targets, *(request.inputs or ()), *request.categories, *request.exclude]
    absent = [name for name in [*named, *([request.time] if request.time else [])] if name not in frame]
    if absent:
        raise TableError(
            f"the table has no column {', '.join(map(repr, absent))}; "
            f"it has {', '.join(map(repr, frame.columns))}"
        )
    both = set(request.targets) & {*(request.inputs or ()), request.time}
    if both:
        raise TableError(f"{', '.join(map(repr, sorted(map(str, both))))} cannot be a target and an input")
    if len(set(request.targets)) < len(request.targets) or not request.targets:
        raise TableError("name each target once, and one at least")


def check_targets(choice: Choice, readings: FloatArray) -> None:
    """Refuse targets that are not numbers."""
    for name, column in zip(choice.request.targets, readings.T, strict=True):
        cells = choice.cells(name)
        if cells.kind not in {"number", "empty"}:
            raise TableError(f"the target {name!r} does not hold numbers (for example {cells.example()!r})")
        if np.isnan(column).all():
            raise TableError(f"the target {name!r} has no reading at all")


def asked(choice: Choice) -> None:
    """Use the columns that were named, or say why that is impossible."""
    request = choice.request
    names = [*([request.time] if request.time else []), *(request.inputs or ())]
    for name in dict.fromkeys(names):
        choice.inputs.append(column_of(choice, name, MOST_ASKED_CATEGORIES))


def guessed(choice: Choice) -> None:
    """Use every column that says something; a reason is kept for each one that does not."""
    request = choice.request
    for name in choice.frame.columns:
        if name in request.targets:
            continue
        why = "as you asked" if name in request.exclude else unusable(choice, name)
        if why and name != request.time:
            choice.left_out.append(f"{name} ({why})")
            continue
        most = MOST_ASKED_CATEGORIES if name in request.categories else MOST_CATEGORIES
        column = column_of(choice, name, most)
        (choice.counters if counts_rows(choice, name, column) else choice.inputs).append(column)
    settle_counters(choice)


def settle_counters(choice: Choice) -> None:
    """A column that only counts the rows is an input if nothing else tells the order of the readings."""
    ordered = any(column.kind in {"time", "clock"} for column in choice.inputs) or choice.request.time
    for column in choice.counters:
        named = column.name.casefold() in COUNTER_NAMES and choice.inputs
        if (ordered or named) and column.name != choice.request.time:
            choice.left_out.append(f"{column.name} (only counts the rows)")
        else:
            choice.inputs.append(column)


def unusable(choice: Choice, name: str) -> str:
    """Why a column says nothing, or nothing in words."""
    cells = choice.cells(name)
    kind = cells.kind
    if kind == "empty":
        return "empty"
    missing = 1.0 - cells.given.mean()
    if missing > MOST_MISSING:
        return f"missing in {missing:.0%} of the rows".replace("%", " %")
    different = int(cells.values[cells.given].nunique())
    if different == 1:
        return "the same in every row"
    if kind == "text" and different > MOST_CATEGORIES and name not in choice.request.categories:
        return f"{different} different texts"
    return ""


def counts_rows(choice: Choice, name: str, column: InputColumn) -> bool:
    """Whether a column of numbers goes up by one from row to row."""
    if column.kind != "number":
        return False
    values = choice.cells(name).numbers()
    return bool(len(values) > 1 and np.all(np.diff(values) == 1.0))


def column_of(choice: Choice, name: str, most_categories: int) -> InputColumn:
    """How a column becomes numbers."""
    cells, request = choice.cells(name), choice.request
    kind = "text" if name in request.categories else cells.kind
    if kind == "number":
        return NumberInput(name)
    if kind == "time" and (time_format := cells.time_format()) is not None:
        return TimeInput.starting(name, cells, time_format)
    if kind == "clock" and (clock_format := cells.clock_format()) is not None:
        return ClockInput(name, clock_format)
    categories = tuple(sorted(set(cells.texts()[cells.given])))
    if kind == "empty" or not categories:
        raise TableError(f"column {name!r} is empty and cannot be an input")
    if name == request.time:
        raise TableError(f"column {name!r} does not hold times (for example {cells.example()!r})")
    if len(categories) > most_categories:
        raise TableError(f"column {name!r} has {len(categories)} different texts, too many to be an input")
    return CategoryInput(name, categories)


def remarks(choice: Choice, name: str) -> list[str]:
    """A note on cells of a column of numbers that are something else."""
    cells = choice.cells(name)
    if name in choice.request.categories or cells.kind != "number":
        return []
    odd = cells.given & np.isnan(cells.numbers())
    if not odd.any():
        return []
    shown: Any = cells.values[odd].iloc[0]
    return [
        f"{name}: {int(odd.sum())} cells are not numbers (for example {str(shown)!r}) and count as missing"
    ]
