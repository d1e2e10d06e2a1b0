"""Records sorted into grids: a cell holds the fits of one method at one level, trial by trial.

A level is what varies along a row: the contamination rate in the figures, or the number of observations in
the table of times. The names of methods and data sets and their order in tables and figures are here too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TypeAlias

from sturdygp.experiments.methods import METHODS
from sturdygp.experiments.record import Record
from sturdygp.experiments.task import Baselines, Fault, NoiseConvention

Measure: TypeAlias = Callable[[Record], float | None]
NAN = float("nan")

# The order of legends and rows.
METHOD_ORDER = (
    "standard",
    "rcgp",
    "student-t",
    "mixture",
    "asor",
    "asor-single",
    "asor-gem",
    "robust",
    "robust-many",
    "oracle",
    "oracle-centred",
)
DATASETS: dict[str, str] = {
    "synthetic": "Synthetic",
    "air-quality": "Air Quality",
    "energy": "Energy Efficiency",
    "gp-sample": "Synthetic",
    "energy-heating": "Energy (heating)",
    "yacht": "Yacht",
    "neal": "Neal",
    "motorcycle": "Motorcycle",
}


# ------------------------------------------------------------------------------ names and measures


def label(method: str) -> str:
    """Return the name of a method in tables and figures."""
    return METHODS[method].label


def in_order(methods: Iterable[str]) -> tuple[str, ...]:
    """Sort methods into the order of legends and rows, each once."""
    wanted = set(methods)
    return tuple(method for method in METHOD_ORDER if method in wanted)


def is_oracle(method: str) -> bool:
    """Return whether a method knows the distribution of the outliers."""
    return METHODS[method].knowledge != "nothing"


def rmse(record: Record) -> float | None:
    """Root mean squared error, the measure of the paper's figures."""
    return record.scores.rmse


def mae(record: Record) -> float | None:
    """Mean absolute error, the measure of the published benchmark."""
    return record.scores.mae


def nlpd(record: Record) -> float | None:
    """Negative log predictive density."""
    return record.scores.nlpd


def contamination_rate(record: Record) -> float | None:
    """Contamination rate that a method estimates."""
    return record.scores.contamination_rate


def seconds(record: Record) -> float | None:
    """Time of a fit; None if it failed."""
    return None if record.failed else record.timing.fit_seconds


def rate(record: Record) -> float:
    """Level of the figures: the contamination rate."""
    return record.task.rate


def size(record: Record) -> float:
    """Level of the table of times: the number of observations."""
    return float(record.task.n_train or 0)


# -------------------------------------------------------------------------------- cells and grids


@dataclass(frozen=True)
class Cell:
    """Values by trial, without those of failed fits, and the number of fits that failed or stopped early."""

    values: Mapping[int, float]
    fits: int = 0
    failed: int = 0
    unconverged: int = 0

    @property
    def median(self) -> float:
        """Median over trials, NaN if there are none."""
        return median(self.values.values()) if self.values else NAN

    @property
    def mean(self) -> float:
        """Mean over trials, NaN if there are none."""
        return fmean(self.values.values()) if self.values else NAN


EMPTY = Cell({})


def cell_of(records: Sequence[Record], measure: Measure) -> Cell:
    """Make the cell of records that differ only in their trials."""
    measured = {record.task.trial: measure(record) for record in records}
    return Cell(
        values={trial: value for trial, value in sorted(measured.items()) if value is not None},
        fits=len(records),
        failed=sum(record.failed for record in records),
        unconverged=sum(record.unconverged for record in records),
    )


def failure_counts(cells: Sequence[Cell]) -> tuple[str, str]:
    """Count the fits that failed and those that did not converge, of all fits in some cells."""
    fits = sum(cell.fits for cell in cells)
    return (
        f"{sum(cell.failed for cell in cells)} of {fits}",
        f"{sum(cell.unconverged for cell in cells)} of {fits}",
    )


@dataclass(frozen=True)
class Grid:
    """Cells by method and level."""

    cells: Mapping[tuple[str, float], Cell]

    def __getitem__(self, key: tuple[str, float]) -> Cell:
        return self.cells.get(key, EMPTY)

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods that have results, in the order of rows."""
        return in_order(method for method, _ in self.cells)

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels that have results, ascending."""
        return tuple(sorted({level for _, level in self.cells}))

    def row(self, method: str) -> list[Cell]:
        """Return the cells of a method, level by level."""
        return [self[method, level] for level in self.levels]


def grid_of(records: Iterable[Record], *, level: Callable[[Record], float], measure: Measure) -> Grid:
    """Sort the records of one panel into a grid."""
    groups: defaultdict[tuple[str, float], list[Record]] = defaultdict(list)
    for record in records:
        groups[record.task.method, level(record)].append(record)
    return Grid({key: cell_of(group, measure) for key, group in groups.items()})


# ----------------------------------------------------------------------------- panels and settings


@dataclass(frozen=True)
class Panel:
    """Records of one data set with one kind of contamination."""

    dataset: str
    fault: Fault
    records: tuple[Record, ...]

    @property
    def title(self) -> str:
        """Data set and contamination."""
        return f"{DATASETS[self.dataset]}, {self.fault.label}"

    @property
    def errors(self) -> Grid:
        """RMSE by method and rate."""
        return grid_of(self.records, level=rate, measure=rmse)

    @property
    def times(self) -> Grid:
        """Seconds by method and rate."""
        return grid_of(self.records, level=rate, measure=seconds)


def panels(records: Iterable[Record]) -> list[Panel]:
    """Sort records into panels, whose order does not depend on that of the records."""
    groups: defaultdict[tuple[str, Fault], list[Record]] = defaultdict(list)
    for record in records:
        groups[record.task.dataset, record.task.fault].append(record)
    found = [Panel(dataset, fault, tuple(group)) for (dataset, fault), group in groups.items()]
    order = list(DATASETS)
    return sorted(
        found, key=lambda panel: (order.index(panel.dataset), panel.fault.kind, panel.fault.parameters)
    )


@dataclass(frozen=True, order=True)
class Setting:
    """Convention of the noise constants, and configuration of the methods."""

    convention: NoiseConvention = "text"
    baselines: Baselines = "best"

    def __str__(self) -> str:
        return f"{self.convention}, {self.baselines}"

    def of(self, records: Iterable[Record]) -> list[Record]:
        """Select the records that were made with this setting."""
        return [record for record in records if setting_of(record) == self]


def setting_of(record: Record) -> Setting:
    """Return the setting that a record was made with."""
    return Setting(record.task.convention, record.task.baselines)
