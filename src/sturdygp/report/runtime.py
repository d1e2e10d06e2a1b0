"""Time of a fit and its growth with the number of observations, next to the paper's table I."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isnan

import numpy as np

from sturdygp.experiments.record import Record
from sturdygp.report.grid import NAN, Grid, failure_counts, grid_of, label, seconds, size
from sturdygp.report.table import Table, number

REFERENCE = "standard"
# Median seconds of a fit by number of observations in the paper's table I (MATLAB R2026a, Ryzen 9 9950X).
PAPER_SIZES = (200.0, 400.0, 600.0, 800.0, 1000.0)
PAPER_SECONDS: dict[str, dict[float, float]] = {
    method: dict(zip(PAPER_SIZES, times, strict=True))
    for method, times in {
        "oracle": (0.10, 0.70, 1.99, 4.37, 6.76),
        "standard": (0.19, 1.46, 4.24, 9.43, 15.05),
        "rcgp": (0.50, 4.74, 15.58, 36.45, 62.73),
        "student-t": (3.25, 16.23, 41.39, 80.75, 123.53),
        "asor": (24.60, 31.13, 85.52, 212.41, 335.96),
        "mixture": (31.96, 151.23, 376.66, 644.76, 963.38),
    }.items()
}
# The paper has one ASOR-GPR; this library has three ways to fit it.
PAPER_NAME = {"asor-single": "asor", "asor-gem": "asor"}


def runtimes(records: Iterable[Record]) -> Grid:
    """Sort the seconds of fits by method and number of observations."""
    return grid_of(records, level=size, measure=seconds)


@dataclass(frozen=True)
class PowerLaw:
    """``factor * n**exponent``, with the standard error of the exponent, NaN for two points."""

    factor: float
    exponent: float
    error: float

    def __str__(self) -> str:
        return f"{self.exponent:.2f}" if isnan(self.error) else f"{self.exponent:.2f} ± {self.error:.2f}"


def power_law(times: Mapping[float, float]) -> PowerLaw | None:
    """Fit log seconds over log n by least squares; None with fewer than two sizes.

    Examples
    --------
    >>> law = power_law({100.0: 2.0, 200.0: 16.0, 400.0: 128.0})
    >>> round(law.exponent, 6)
    3.0
    """
    if len(times) < 2:
        return None
    x, y = np.log(list(times)), np.log(list(times.values()))
    centred = x - x.mean()
    scatter = float(centred @ centred)
    exponent = float(centred @ y) / scatter
    residual = y - y.mean() - exponent * centred
    spare = len(x) - 2
    error = float(np.sqrt(residual @ residual / spare / scatter)) if spare else NAN
    return PowerLaw(float(np.exp(y.mean() - exponent * x.mean())), exponent, error)


def medians(grid: Grid, method: str) -> dict[float, float]:
    """Return the median seconds of a method by number of observations, where there are any."""
    return {level: grid[method, level].median for level in grid.levels if grid[method, level].values}


def runtime_tables(grid: Grid, title: str) -> list[Table]:
    """Tabulate median seconds and their ratios to the standard model, each with the paper's."""
    return [seconds_table(grid, title), ratio_table(grid, title)]


def seconds_table(grid: Grid, title: str) -> Table:
    """Tabulate the median seconds of a fit, and the exponent of their growth."""
    rows = tuple(
        (
            label(method),
            *(with_paper(grid[method, n].median, as_printed(paper_seconds(method, n))) for n in grid.levels),
            exponents(grid, method),
            *failure_counts(grid.row(method)),
        )
        for method in grid.methods
    )
    return Table(
        f"{title}: median seconds of a fit (the paper's)",
        ("method", *size_names(grid), "exponent of n (the paper's)", "failed", "not converged"),
        rows,
        (
            "All outputs of a trial, one after the other, on one thread. The paper's: MATLAB R2026a on a "
            "Ryzen 9 9950X. Exponents are slopes of log median seconds over log n, with standard errors.",
        ),
    )


def ratio_table(grid: Grid, title: str) -> Table:
    """Tabulate median seconds relative to the standard model, so that machines can be compared."""
    rows = tuple(
        (
            label(method),
            *(with_paper(ratio(grid, method, n), paper_ratio(method, n)) for n in grid.levels),
            *failure_counts(grid.row(method)),
        )
        for method in grid.methods
    )
    return Table(
        f"{title}: median seconds in units of {label(REFERENCE)} (the paper's)",
        ("method", *size_names(grid), "failed", "not converged"),
        rows,
    )


def ratio(grid: Grid, method: str, n: float) -> float:
    """Return the median seconds of a method over those of the standard model."""
    return grid[method, n].median / grid[REFERENCE, n].median


def paper_seconds(method: str, n: float) -> float | None:
    """Return the seconds of a method in the paper, if it has them."""
    return PAPER_SECONDS.get(PAPER_NAME.get(method, method), {}).get(n)


def paper_ratio(method: str, n: float) -> str | None:
    """Return the ratio to the standard model in the paper, if it has both."""
    theirs, reference = paper_seconds(method, n), paper_seconds(REFERENCE, n)
    return None if theirs is None or reference is None else number(theirs / reference)


def as_printed(seconds: float | None) -> str | None:
    """Format seconds with the digits of the paper."""
    return None if seconds is None else f"{seconds:.2f}"


def exponents(grid: Grid, method: str) -> str:
    """Format the measured exponent, and the paper's if there is one."""
    ours = power_law(medians(grid, method))
    if ours is None:
        return "-"
    theirs = power_law(PAPER_SECONDS.get(PAPER_NAME.get(method, method), {}))
    published = "" if theirs is None else f" ({theirs.exponent:.2f})"
    return f"{ours}{published}"


def with_paper(ours: float, theirs: str | None) -> str:
    """Format a measured number with the paper's in brackets, or alone if either is missing."""
    return number(ours) if theirs is None or isnan(ours) else f"{number(ours)} ({theirs})"


def size_names(grid: Grid) -> tuple[str, ...]:
    """Return the headings of the numbers of observations."""
    return tuple(f"n = {n:g}" for n in grid.levels)
