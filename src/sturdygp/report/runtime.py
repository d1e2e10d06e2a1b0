"""How long a fit takes, and how that grows with the number of readings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isnan

import numpy as np

from sturdygp.experiments.record import Record
from sturdygp.report.grid import NAN, Grid, grid_of, seconds, size
from sturdygp.report.published import PAPER_NAME, SECONDS, paper_seconds
from sturdygp.report.ranking import endings
from sturdygp.report.style import label
from sturdygp.report.table import Table, number

REFERENCE = "standard"


def runtimes(records: Iterable[Record]) -> Grid:
    """Seconds of a fit by method and number of readings."""
    return grid_of(records, level=size, measure=seconds)


@dataclass(frozen=True)
class PowerLaw:
    """``factor * n**exponent``, and the standard error of the exponent: NaN if there are but two points."""

    factor: float
    exponent: float
    error: float

    def __str__(self) -> str:
        return f"{self.exponent:.2f}" if isnan(self.error) else f"{self.exponent:.2f} ± {self.error:.2f}"


def power_law(times: Mapping[float, float]) -> PowerLaw | None:
    """Least squares of log seconds over log n; None if there are not two sizes.

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
    """Median seconds of a method by number of readings, where there are any."""
    return {level: grid[method, level].median for level in grid.levels if grid[method, level].values}


def runtime_tables(grid: Grid, title: str) -> list[Table]:
    """Median seconds and their ratios to the standard model, each beside the paper's."""
    return [seconds_table(grid, title), ratio_table(grid, title)]


def seconds_table(grid: Grid, title: str) -> Table:
    """Median seconds of a fit, and the exponent of their growth."""
    rows = tuple(
        (
            label(method),
            *(beside(grid[method, n].median, as_printed(paper_seconds(method, n))) for n in grid.levels),
            exponents(grid, method),
            *endings(grid.row(method)),
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
    """Median seconds in units of the standard model's, which different machines have in common."""
    rows = tuple(
        (
            label(method),
            *(beside(ratio(grid, method, n), paper_ratio(method, n)) for n in grid.levels),
            *endings(grid.row(method)),
        )
        for method in grid.methods
    )
    return Table(
        f"{title}: median seconds in units of {label(REFERENCE)} (the paper's)",
        ("method", *size_names(grid), "failed", "not converged"),
        rows,
    )


def ratio(grid: Grid, method: str, n: float) -> float:
    """Median seconds of a method over those of the standard model."""
    return grid[method, n].median / grid[REFERENCE, n].median


def paper_ratio(method: str, n: float) -> str | None:
    """The same ratio in the paper."""
    theirs, reference = paper_seconds(method, n), paper_seconds(REFERENCE, n)
    return None if theirs is None or reference is None else number(theirs / reference)


def as_printed(seconds: float | None) -> str | None:
    """Seconds with the digits of the paper."""
    return None if seconds is None else f"{seconds:.2f}"


def exponents(grid: Grid, method: str) -> str:
    """Our exponent and the paper's, if there is one."""
    ours = power_law(medians(grid, method))
    if ours is None:
        return "-"
    theirs = power_law(SECONDS.get(PAPER_NAME.get(method, method), {}))
    published = "" if theirs is None else f" ({theirs.exponent:.2f})"
    return f"{ours}{published}"


def beside(ours: float, theirs: str | None) -> str:
    """A number of ours, and in brackets the paper's; nothing stands beside a number that is missing."""
    return number(ours) if theirs is None or isnan(ours) else f"{number(ours)} ({theirs})"


def size_names(grid: Grid) -> tuple[str, ...]:
    """Headings of the numbers of readings."""
    return tuple(f"n = {n:g}" for n in grid.levels)
