"""The benchmark of the field, beside what its authors have published."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import stdev

from sturdygp.experiments.record import Record
from sturdygp.experiments.task import FaultKind
from sturdygp.report.grid import Cell, cell_of, mae
from sturdygp.report.published import MAE
from sturdygp.report.ranking import endings
from sturdygp.report.style import DATASETS, in_order, label
from sturdygp.report.table import Table, number

# Our names of the kinds of faults, and those of the benchmark.
KINDS: dict[FaultKind, str] = {
    "none": "none",
    "symmetric": "uniform",
    "one-sided": "asymmetric",
    "focused": "focused",
}


def field_table(records: Sequence[Record], title: str) -> Table:
    """Mean absolute error for each data set, method and kind of faults, with published rows below ours."""
    rows: list[tuple[str, ...]] = []
    for dataset in DATASETS:
        mine = [record for record in records if record.task.dataset == dataset]
        if mine:
            rows += [*measured_rows(dataset, mine), *published_rows(dataset)]
    return Table(
        f"{title}: mean absolute error (standard error over trials)",
        ("data", "method", *KINDS.values(), "failed", "not converged"),
        tuple(rows),
        ("Published: Altamirano, Briol and Knoblauch (2024); relevance pursuit: Ament et al. (2024).",),
    )


def measured_rows(dataset: str, records: Sequence[Record]) -> list[tuple[str, ...]]:
    """Our rows of one data set."""
    rows = []
    for method in in_order(record.task.method for record in records):
        mine = [record for record in records if record.task.method == method]
        cells = [cell_of([each for each in mine if each.task.fault.kind == kind], mae) for kind in KINDS]
        rows.append((DATASETS[dataset], label(method), *map(entry, cells), *endings(cells)))
    return rows


def published_rows(dataset: str) -> list[tuple[str, ...]]:
    """The published rows of one data set."""
    return [
        (DATASETS[dataset], f"{name}, published", *(f"{error:g}" for error in errors), "-", "-")
        for name, errors in MAE.get(dataset, {}).items()
    ]


def entry(cell: Cell) -> str:
    """Mean and standard error."""
    if len(cell.values) < 2:
        return number(cell.mean)
    return f"{number(cell.mean)} ({stdev(cell.values.values()) / sqrt(len(cell.values)):.1g})"
