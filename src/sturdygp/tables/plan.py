"""A plan: which columns of a table are targets and inputs, and how they become arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Self, TypeAlias

import numpy as np
import pandas as pd

from sturdygp._typing import FloatArray
from sturdygp.exceptions import TableError
from sturdygp.persistence.archive import Json
from sturdygp.persistence.record import Record, plain_number
from sturdygp.tables.cells import OTHER, CellFormat, Columns
from sturdygp.tables.inputs import InputColumn, decode_input

Table: TypeAlias = pd.DataFrame | Columns


@dataclass(frozen=True)
class Plan:
    """Targets, inputs, how cells are written, and the centre and scale of each feature.

    Features are centred and scaled, so that inputs in very different units are on the same footing.
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
        self.check_inputs(columns)
        return np.hstack([column.read(columns[column.name]) for column in self.inputs])

    def check_inputs(self, columns: Columns) -> None:
        """Refuse a table without some of the inputs."""
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
        """Scale features that are in their own units."""
        return np.asarray((raw - np.array(self.centres)) / np.array(self.scales))

    def readings(self, table: Table) -> FloatArray:
        """Targets, shape (rows, targets); NaN where a cell is missing or the column is not there."""
        columns = self.columns(table)
        absent = np.full(len(columns), np.nan)
        readings = [columns[name].numbers() if name in columns else absent for name in self.targets]
        return np.stack(readings, axis=1)

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
        """Read back what :meth:`plain` described."""
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
