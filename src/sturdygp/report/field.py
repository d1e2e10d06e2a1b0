"""The benchmark of the field, beside what its authors have published."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import stdev

from sturdygp.experiments.record import Record
from sturdygp.experiments.task import FaultKind
from sturdygp.report.grid import Cell, Measure, cell_of, contamination_rate, mae, nlpd, rmse
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
HEADER = ("data", "method", *KINDS.values(), "failed", "not converged")


def field_tables(records: Sequence[Record], title: str) -> list[Table]:
    """Errors beside published ones, densities, and what becomes of data without faults."""
    return [mae_table(records, title), density_table(records, title), clean_table(records, title)]


def mae_table(records: Sequence[Record], title: str) -> Table:
    """Mean absolute error for each data set, method and kind of faults, with published rows below ours."""
    rows: list[tuple[str, ...]] = []
    for dataset, mine in by_dataset(records).items():
        rows += [*measured_rows(dataset, mine, mae), *published_rows(dataset)]
    return Table(
        f"{title}: mean absolute error (standard error over trials)",
        HEADER,
        tuple(rows),
        ("Published: Altamirano, Briol and Knoblauch (2024); relevance pursuit: Ament et al. (2024).",),
    )


def density_table(records: Sequence[Record], title: str) -> Table:
    """Negative log density of test readings."""
    groups = by_dataset(records).items()
    return Table(
        f"{title}: negative log density of test readings (standard error over trials)",
        HEADER,
        tuple(row for dataset, mine in groups for row in measured_rows(dataset, mine, nlpd)),
        ("Methods that know outliers take a test reading for a possible one.",),
    )


def clean_table(records: Sequence[Record], title: str) -> Table:
    """Whether a method costs anything where nothing is wrong."""
    clean = [record for record in records if record.task.fault.kind == "none"]
    rows = []
    for dataset, mine in by_dataset(clean).items():
        for method, own in by_method(mine).items():
            cells = [cell_of(own, measure) for measure in (rmse, nlpd, contamination_rate)]
            rows.append((DATASETS[dataset], label(method), *map(entry, cells), *endings(cells[:1])))
    return Table(
        f"{title}: no faults added (standard error over trials)",
        ("data", "method", "RMSE", "NLPD", "rate found", "failed", "not converged"),
        tuple(rows),
    )


def by_dataset(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Records in the order of data sets."""
    present = {record.task.dataset for record in records}
    return {
        name: [record for record in records if record.task.dataset == name]
        for name in DATASETS
        if name in present
    }


def by_method(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Records in the order of methods."""
    methods = in_order(record.task.method for record in records)
    return {method: [record for record in records if record.task.method == method] for method in methods}


def measured_rows(dataset: str, records: Sequence[Record], measure: Measure) -> list[tuple[str, ...]]:
    """Our rows of one data set."""
    rows = []
    for method, mine in by_method(records).items():
        cells = [cell_of([each for each in mine if each.task.fault.kind == kind], measure) for kind in KINDS]
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
