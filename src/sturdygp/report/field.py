"""Benchmark of RCGP and relevance pursuit (suite "field"), with the errors that their authors published."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import stdev

from sturdygp.experiments.record import Record
from sturdygp.experiments.task import FaultKind
from sturdygp.report.grid import (
    DATASETS,
    Cell,
    Measure,
    cell_of,
    contamination_rate,
    failure_counts,
    in_order,
    label,
    mae,
    nlpd,
    rmse,
)
from sturdygp.report.table import Table, number

# Kinds of contamination, and their names in the benchmark.
KINDS: dict[FaultKind, str] = {
    "none": "none",
    "symmetric": "uniform",
    "one-sided": "asymmetric",
    "focused": "focused",
}
HEADER = ("data", "method", *KINDS.values(), "failed", "not converged")

# Published mean absolute errors without outliers and with uniform, asymmetric and focused ones:
# Altamirano, Briol and Knoblauch (2024); relevance pursuit: Ament et al. (2024).
PUBLISHED_MAE: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "gp-sample": {
        "Standard GP": (0.088, 0.345, 1.11, 0.189),
        "Student-t VI": (0.088, 0.293, 1.02, 0.192),
        "RCGP": (0.088, 0.215, 0.772, 0.164),
        "Relevance pursuit": (0.089, 0.090, 0.271, 0.200),
    },
    "energy-heating": {
        "Standard GP": (0.030, 0.267, 0.603, 0.088),
        "Student-t VI": (0.034, 0.273, 0.474, 0.032),
        "RCGP": (0.024, 0.305, 0.408, 0.029),
        "Relevance pursuit": (0.030, 0.031, 0.031, 0.030),
    },
    "yacht": {
        "Standard GP": (0.017, 0.323, 0.590, 0.242),
        "Student-t VI": (0.020, 0.229, 0.458, 0.110),
        "RCGP": (0.022, 0.418, 0.432, 0.019),
        "Relevance pursuit": (0.014, 0.012, 0.027, 0.016),
    },
}


def field_tables(records: Sequence[Record], title: str) -> list[Table]:
    """Tabulate errors with published ones, predictive densities, and scores on clean data."""
    return [mae_table(records, title), density_table(records, title), clean_table(records, title)]


def mae_table(records: Sequence[Record], title: str) -> Table:
    """Tabulate mean absolute errors by data set, method and contamination, with the published rows."""
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
    """Tabulate negative log predictive densities of test observations."""
    groups = by_dataset(records).items()
    return Table(
        f"{title}: negative log density of test readings (standard error over trials)",
        HEADER,
        tuple(row for dataset, mine in groups for row in measured_rows(dataset, mine, nlpd)),
        ("Methods that know outliers take a test reading for a possible one.",),
    )


def clean_table(records: Sequence[Record], title: str) -> Table:
    """Tabulate the scores on clean data."""
    clean = [record for record in records if record.task.fault.kind == "none"]
    rows = []
    for dataset, mine in by_dataset(clean).items():
        for method, own in by_method(mine).items():
            cells = [cell_of(own, measure) for measure in (rmse, nlpd, contamination_rate)]
            rows.append((DATASETS[dataset], label(method), *map(entry, cells), *failure_counts(cells[:1])))
    return Table(
        f"{title}: no faults added (standard error over trials)",
        ("data", "method", "RMSE", "NLPD", "rate found", "failed", "not converged"),
        tuple(rows),
    )


def by_dataset(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Sort records by data set."""
    present = {record.task.dataset for record in records}
    return {
        name: [record for record in records if record.task.dataset == name]
        for name in DATASETS
        if name in present
    }


def by_method(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Sort records by method."""
    methods = in_order(record.task.method for record in records)
    return {method: [record for record in records if record.task.method == method] for method in methods}


def measured_rows(dataset: str, records: Sequence[Record], measure: Measure) -> list[tuple[str, ...]]:
    """Make the measured rows of one data set."""
    rows = []
    for method, mine in by_method(records).items():
        cells = [cell_of([each for each in mine if each.task.fault.kind == kind], measure) for kind in KINDS]
        rows.append((DATASETS[dataset], label(method), *map(entry, cells), *failure_counts(cells)))
    return rows


def published_rows(dataset: str) -> list[tuple[str, ...]]:
    """Make the published rows of one data set."""
    return [
        (DATASETS[dataset], f"{name}, published", *(f"{error:g}" for error in errors), "-", "-")
        for name, errors in PUBLISHED_MAE.get(dataset, {}).items()
    ]


def entry(cell: Cell) -> str:
    """Format mean and standard error."""
    if len(cell.values) < 2:
        return number(cell.mean)
    return f"{number(cell.mean)} ({stdev(cell.values.values()) / sqrt(len(cell.values)):.1g})"
