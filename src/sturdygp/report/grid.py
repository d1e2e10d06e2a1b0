"""Records sorted into cells: the fits of one method at one level, trial by trial."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TypeAlias

from sturdygp.experiments.record import Record
from sturdygp.experiments.task import Baselines, Fault, Reading
from sturdygp.report.style import DATASETS, in_order

Measure: TypeAlias = Callable[[Record], float | None]
NAN = float("nan")


def rmse(record: Record) -> float | None:
    """The error that the paper's figures show."""
    return record.scores.rmse


def mae(record: Record) -> float | None:
    """The error that the benchmark of the field shows."""
    return record.scores.mae


def nlpd(record: Record) -> float | None:
    """How unlikely the truth was."""
    return record.scores.nlpd


def contamination_rate(record: Record) -> float | None:
    """The share of faults that a method found."""
    return record.scores.contamination_rate


def seconds(record: Record) -> float | None:
    """Time of a fit; one that failed has none."""
    return None if record.failed else record.timing.fit_seconds


def rate(record: Record) -> float:
    """The level of the figures: the rate of contamination."""
    return record.task.rate


def size(record: Record) -> float:
    """The level of the table of times: the number of readings."""
    return float(record.task.n_train or 0)


@dataclass(frozen=True)
class Cell:
    """Values by trial, those of failed fits left out, and how the fits ended."""

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
    """The cell of records that differ in their trials alone."""
    measured = {record.task.trial: measure(record) for record in records}
    return Cell(
        values={trial: value for trial, value in sorted(measured.items()) if value is not None},
        fits=len(records),
        failed=sum(record.failed for record in records),
        unconverged=sum(record.unconverged for record in records),
    )


@dataclass(frozen=True)
class Grid:
    """Cells by method and level."""

    cells: Mapping[tuple[str, float], Cell]

    def __getitem__(self, key: tuple[str, float]) -> Cell:
        return self.cells.get(key, EMPTY)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that were run, in the order of figures."""
        return in_order(method for method, _ in self.cells)

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels that were run, ascending."""
        return tuple(sorted({level for _, level in self.cells}))

    def row(self, method: str) -> list[Cell]:
        """The cells of a method, level by level."""
        return [self[method, level] for level in self.levels]


def grid_of(records: Iterable[Record], *, level: Callable[[Record], float], measure: Measure) -> Grid:
    """Sort the records of one panel."""
    groups: defaultdict[tuple[str, float], list[Record]] = defaultdict(list)
    for record in records:
        groups[record.task.method, level(record)].append(record)
    return Grid({key: cell_of(group, measure) for key, group in groups.items()})


@dataclass(frozen=True)
class Panel:
    """The records of one data set with one kind of faults."""

    dataset: str
    fault: Fault
    records: tuple[Record, ...]

    @property
    def title(self) -> str:
        """What was contaminated, and how."""
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
    """One panel for each data set and kind of faults, in an order that does not depend on that of records."""
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
    """What the noise constants mean, and how methods are set."""

    reading: Reading = "text"
    baselines: Baselines = "best"

    def __str__(self) -> str:
        return f"{self.reading}, {self.baselines}"

    def of(self, records: Iterable[Record]) -> list[Record]:
        """The records that were made with this setting."""
        return [record for record in records if setting_of(record) == self]


def setting_of(record: Record) -> Setting:
    """The setting that a record was made with."""
    return Setting(record.task.reading, record.task.baselines)
