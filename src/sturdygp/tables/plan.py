"""A plan: which columns of a table are targets and inputs, and how they become arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Self, TypeAlias

import numpy as np
import pandas as pd

from sturdygp._typing import FloatArray
from sturdygp.persistence.archive import Json
from sturdygp.persistence.record import Record, plain_number
from sturdygp.tables.cells import CellFormat, Cells, Columns
from sturdygp.tables.counting import counted
from sturdygp.tables.errors import TableError
from sturdygp.tables.inputs import InputColumn, NumberInput, TimeInput, decode_input
from sturdygp.tables.numerals import OTHER
from sturdygp.tables.time_formats import COMPACT

Table: TypeAlias = pd.DataFrame | Columns


@dataclass(frozen=True)
class Plan:
    """Targets, inputs, how cells are written, and the centre and scale of each feature.

    Features are centred and scaled, so that inputs in very different units start on the same footing.
    """

    targets: tuple[str, ...]
    inputs: tuple[InputColumn, ...]
    cell_format: CellFormat
    centres: tuple[float, ...] = ()
    scales: tuple[float, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """A name for each feature."""
        return tuple(feature for column in self.inputs for feature in column.features)

    def columns(self, table: Table) -> Columns:
        """The columns of a table, as cells that are written as this plan says."""
        return table if isinstance(table, Columns) else Columns(table, self.cell_format)

    def raw_features(self, table: Table) -> FloatArray:
        """Features in their own units, shape (rows, features); NaN where a cell is missing."""
        columns = self.columns(table)
        self._check_inputs(columns)
        return np.hstack([column.read(columns[column.name]) for column in self.inputs])

    def _check_inputs(self, columns: Columns) -> None:
        absent = [column.name for column in self.inputs if column.name not in columns]
        if absent:
            raise TableError(
                f"the table lacks the column{'s' * (len(absent) > 1)} {', '.join(map(repr, absent))}; "
                f"it has {', '.join(map(repr, columns.frame.columns))}"
            )

    def by_column(self, raw: FloatArray) -> Iterator[tuple[InputColumn, FloatArray]]:
        """Each input with its own features."""
        ends = np.cumsum([len(column.features) for column in self.inputs])[:-1]
        return zip(self.inputs, np.split(raw, ends, axis=1), strict=True)

    def matrix(self, table: Table) -> FloatArray:
        """Features as the model sees them, shape (rows, features); NaN where a cell is missing."""
        return self.scaled(self.raw_features(table))

    def scaled(self, raw: FloatArray) -> FloatArray:
        """The same from features in their own units."""
        return np.asarray((raw - np.array(self.centres)) / np.array(self.scales))

    def readings(self, table: Table) -> FloatArray:
        """Targets, shape (rows, targets); NaN where a cell is missing or the column is not there."""
        columns = self.columns(table)
        absent = np.full(len(columns), np.nan)
        readings = [columns[name].numbers() if name in columns else absent for name in self.targets]
        return np.stack(readings, axis=1)

    def notes(self, table: Table) -> tuple[str, ...]:
        """What is said of cells that count as missing because they are not what their column holds."""
        columns = self.columns(table)
        self._check_inputs(columns)
        read = [*(NumberInput(name) for name in self.targets if name in columns), *self.inputs]
        return tuple(note for column in read for note in self._remarks(columns[column.name], column))

    def _remarks(self, cells: Cells, column: InputColumn) -> list[str]:
        odd = cells.given & np.any(np.isnan(column.read(cells)), axis=1)
        remarks = [*thousands(column, cells), *compact(column, cells), *zones(column, cells)]
        if odd.any():
            number, (one, several) = int(odd.sum()), column.holds
            remarks.append(
                f"{column.name}: {counted(number, f'cell is not {one}', f'cells are not {several}')} "
                f"(for example {cells.example(odd)!r}) and count{'s' * (number == 1)} as missing"
            )
        return remarks

    def for_cells(self, decimal: str, missing: tuple[str, ...] = ()) -> Self:
        """The plan for a table with another decimal mark, and with more that stands for a missing value."""
        return replace(self, cell_format=CellFormat((*self.cell_format.missing, *missing), decimal))

    def scaled_to(self, raw: FloatArray) -> Self:
        """The plan with centres and scales of these features; categories stay 0 or 1."""
        count = [len(column.features) for column in self.inputs]
        plain = np.repeat([column.kind == "category" for column in self.inputs], count)
        centres, scales = np.nanmean(raw, axis=0), np.nanstd(raw, axis=0)
        scales[plain | (scales == 0.0)] = 1.0
        centres[plain] = 0.0
        return replace(self, centres=tuple(centres.tolist()), scales=tuple(scales.tolist()))

    def plain(self) -> Json:
        """As JSON."""
        return {
            "targets": list(self.targets),
            "inputs": [column.plain() for column in self.inputs],
            "missing": list(self.cell_format.missing),
            "decimal": self.cell_format.decimal,
            "centres": [plain_number(value) for value in self.centres],
            "scales": [plain_number(value) for value in self.scales],
        }

    @classmethod
    def of(cls, record: Record) -> Self:
        """What :meth:`plain` described."""
        plan = cls(
            targets=record.texts("targets"),
            inputs=tuple(decode_input(each) for each in record.children("inputs")),
            cell_format=CellFormat(record.texts("missing"), record.text("decimal")),
            centres=tuple(np.atleast_1d(record.numbers("centres")).tolist()),
            scales=tuple(np.atleast_1d(record.numbers("scales")).tolist()),
        )
        if not len(plan.features) == len(plan.centres) == len(plan.scales):
            raise record.fail("scales", f"{len(plan.features)} numbers, as many as there are features")
        if not plan.targets or not all(0.0 < scale < inf for scale in plan.scales):
            raise record.fail("scales", "positive and finite, for one target at least")
        if not all(map(isfinite, plan.centres)):
            raise record.fail("centres", "finite")
        if plan.cell_format.decimal not in OTHER:
            raise record.fail("decimal", "a point or a comma")
        return plan


def thousands(column: InputColumn, cells: Cells) -> list[str]:
    """How a number with marks between thousands is read."""
    grouped = cells.grouped()
    if column.kind != "number" or not grouped.any():
        return []
    return [
        f"{column.name}: {cells.example(grouped)!r} is read as {cells.numbers()[grouped][0]:.15g}, with "
        "marks between thousands; if that is wrong, tell the decimal mark with --decimal"
    ]


def compact(column: InputColumn, cells: Cells) -> list[str]:
    """How a number that is taken for a time is read."""
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
    """Which times have no zone where others have, or have one where the model knows none."""
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
