"""Choice of the columns to use and how to read them: as the user says, and sensibly for the rest."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from sturdygp._typing import FloatArray
from sturdygp.exceptions import TableError
from sturdygp.tables.cells import CellFormat, Cells, Columns
from sturdygp.tables.diagnostics import check_no_times, check_unambiguous, diagnose
from sturdygp.tables.formatting import counted
from sturdygp.tables.inputs import CategoryInput, ClockInput, InputColumn, NumberInput, TimeInput
from sturdygp.tables.plan import Plan
from sturdygp.tables.timestamps import TIMES_READ

# Texts with more different values than this are remarks or names, not categories.
MOST_CATEGORIES = 20
MOST_ASKED_CATEGORIES = 200
# So are texts of which more than this share is different, unless there are few rows.
MOST_DIFFERENT = 0.5
FEW_ROWS = 10
# An input that is missing more often than this costs more rows than it is worth.
MOST_MISSING = 0.5
FEWEST_ROWS = 2
COUNTER_NAMES = frozenset({"id", "index", "idx", "no", "nr", "number", "row", "unnamed: 0", "#"})
TELL_MISSING = "tell the decimal mark with --decimal, or what stands for a missing value with --missing"


@dataclass(frozen=True)
class Request:
    """Columns that the user named; None leaves the choice open.

    Columns whose name is also that of another one are ``repeated``; nobody can tell which was meant.
    """

    targets: tuple[str, ...]
    inputs: tuple[str, ...] | None = None
    time: str | None = None
    categories: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    decimal: str = "."
    repeated: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """Inputs that were named."""
        return (*([self.time] if self.time else ()), *(self.inputs or ()), *self.categories)

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

    columns: Columns
    request: Request
    inputs: list[InputColumn] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    counters: list[InputColumn] = field(default_factory=list)

    def cells(self, name: str) -> Cells:
        """A column."""
        return self.columns[name]


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
    if len(frame) < FEWEST_ROWS:
        raise TableError(f"the table has {counted(len(frame), 'row')}, too few to fit a model to")
    choice = Choice(Columns(frame, request.cell_format), request)
    if request.inputs is not None:
        use_named(choice)
    else:
        use_all(choice)
    if not choice.inputs:
        raise TableError(
            f"no column can serve as an input; left out: {'; '.join(choice.left_out) or 'none'}. "
            "Name the inputs with --inputs"
        )
    plan = Plan(request.targets, tuple(choice.inputs), request.cell_format)
    raw, readings = plan.raw_features(choice.columns), plan.readings(choice.columns)
    check_targets(choice, readings)
    notes = diagnose(plan, choice.columns, raw, readings)
    return Prepared(plan, raw, readings, tuple(choice.left_out), notes)


def check_columns(frame: pd.DataFrame, request: Request) -> None:
    """Refuse names that are not in the table, and columns with two roles."""
    named = [*request.targets, *request.named, *request.exclude]
    absent = [name for name in named if name not in frame]
    if absent:
        raise TableError(
            f"the table has no column {', '.join(map(repr, absent))}; "
            f"it has {', '.join(map(repr, frame.columns))}"
        )
    check_once((*request.targets, *request.named), request.repeated)
    both = [name for name in request.targets if name in request.named]
    if both:
        raise TableError(f"{', '.join(map(repr, both))} cannot be a target and an input")
    refused = [name for name in dict.fromkeys(request.named) if name in request.exclude]
    if refused:
        raise TableError(
            f"{', '.join(map(repr, refused))} cannot be an input and be excluded; name it in one place alone"
        )
    if request.time in request.categories:
        raise TableError(f"{request.time!r} cannot be a time and a category")
    if len(set(request.targets)) < len(request.targets) or not request.targets:
        raise TableError("name each target once, and one at least")


def check_once(names: tuple[str, ...], repeated: tuple[str, ...]) -> None:
    """Refuse columns that share their name with others."""
    twice = [name for name in names if name in repeated]
    if twice:
        raise TableError(
            f"the header of the table has the name of the column {twice[0]!r} more than once; "
            "give each column a name of its own"
        )


def check_targets(choice: Choice, readings: FloatArray) -> None:
    """Refuse targets that are not numbers."""
    for name, column in zip(choice.request.targets, readings.T, strict=True):
        cells = choice.cells(name)
        if not (cells.numeric or cells.kind == "empty"):
            shown = cells.example(cells.not_numbers())
            raise TableError(
                f"the target {name!r} does not hold numbers (for example {shown!r}); {TELL_MISSING}"
            )
        if np.isnan(column).all():
            raise TableError(f"the target {name!r} has no reading at all")


def use_named(choice: Choice) -> None:
    """Use the columns that were named, or say why that is impossible."""
    request = choice.request
    names = [*([request.time] if request.time else []), *(request.inputs or ())]
    for name in dict.fromkeys(names):
        choice.inputs.append(column_of(choice, name))


def use_all(choice: Choice) -> None:
    """Use every column that says something; a reason is kept for each one that does not."""
    request = choice.request
    for name in choice.columns.frame.columns:
        if name in request.targets:
            continue
        why = unwanted(request, name) or unusable(choice, name)
        if why and name != request.time:
            choice.left_out.append(f"{name} ({why})")
            continue
        column = column_of(choice, name)
        (choice.counters if counts_rows(choice, name, column) else choice.inputs).append(column)
    settle_counters(choice)


def unwanted(request: Request, name: str) -> str:
    """Why a column is not even looked at, or nothing in words."""
    if name in request.exclude:
        return "as you asked"
    return "its name is also that of another column" if name in request.repeated else ""


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
    if kind == "list":
        return "its cells hold lists"
    missing = 1.0 - cells.given.mean()
    if missing > MOST_MISSING:
        return f"missing in {missing:.0%} of the rows".replace("%", " %")
    different = int(cells.values[cells.given].nunique())
    if different == 1:
        return "the same in every row"
    many = different > MOST_CATEGORIES or too_different(cells, different)
    if kind == "text" and many and name not in choice.request.categories:
        check_no_times(name, cells)
        return f"{different} different texts, for example {cells.example(cells.unread())!r}"
    return ""


def counts_rows(choice: Choice, name: str, column: InputColumn) -> bool:
    """Tell whether a column of numbers goes up by one from row to row."""
    if column.kind != "number":
        return False
    values = choice.cells(name).numbers()
    return bool(len(values) > 1 and np.all(np.diff(values) == 1.0))


def too_different(cells: Cells, different: int) -> bool:
    """Tell whether texts are those of single rows: remarks, names, or numbers and times in no known form."""
    return different > max(FEW_ROWS, MOST_DIFFERENT * np.count_nonzero(cells.given))


def column_of(choice: Choice, name: str) -> InputColumn:
    """How a column becomes numbers."""
    cells, request = choice.cells(name), choice.request
    kind = "text" if name in request.categories else cells.kind
    if kind == "number":
        return NumberInput(name)
    if kind == "time" and (time_format := cells.time_format()) is not None:
        check_unambiguous(name, cells)
        return TimeInput.starting(name, cells, time_format)
    if kind == "clock" and (clock_format := cells.clock_format()) is not None:
        return ClockInput(name, clock_format)
    if cells.kind in {"empty", "list"}:
        why = "is empty" if cells.kind == "empty" else "holds lists"
        raise TableError(f"column {name!r} {why} and cannot be an input")
    if name == request.time:
        shown = cells.example(cells.not_times())
        raise TableError(
            f"column {name!r} does not hold times (for example {shown!r}); {TIMES_READ}; {TELL_MISSING}"
        )
    return categories_of(choice, name)


def categories_of(choice: Choice, name: str) -> CategoryInput:
    """A column of texts; refused if most are those of single rows, unless they are to be categories."""
    cells, asked_for = choice.cells(name), name in choice.request.categories
    categories = tuple(sorted(set(cells.texts()[cells.given])))
    count = len(categories)
    if not asked_for:
        check_no_times(name, cells)
    if not asked_for and too_different(cells, count):
        raise TableError(
            f"column {name!r} has {count} different texts (for example {cells.example(cells.unread())!r}), "
            f"too many to be categories, and holds neither numbers nor times; {TIMES_READ}; {TELL_MISSING}; "
            "or name it with --categories if each text is a category"
        )
    if count > MOST_ASKED_CATEGORIES:
        raise TableError(f"column {name!r} has {count} different texts, too many to be an input")
    return CategoryInput(name, categories)
