"""Which method is best at which level."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from sturdygp.experiments.record import Record
from sturdygp.report.grid import Cell, Grid
from sturdygp.report.style import in_order, is_oracle, label
from sturdygp.report.table import Strong, Table, number


def ranking_tables(grid: Grid, title: str) -> list[Table]:
    """Errors and ranks of every method at every level."""
    return [error_table(grid, title), rank_table(grid, title)]


def error_table(grid: Grid, title: str) -> Table:
    """Median and mean error, with the best median of each level standing out."""
    ranks = {level: ranks_at(grid, level) for level in grid.levels}
    rows = []
    for method in grid.methods:
        cells = [
            Strong(entry(grid[method, level]))
            if ranks[level].get(method) == 1
            else entry(grid[method, level])
            for level in grid.levels
        ]
        rows.append((label(method), *cells, *endings(grid.row(method))))
    return Table(
        f"{title}: median (mean) RMSE by contamination rate",
        ("method", *rate_names(grid), "failed", "not converged"),
        tuple(rows),
        ("The lowest median of the methods that are told nothing stands out. Failed fits have no error.",),
    )


def rank_table(grid: Grid, title: str) -> Table:
    """Place of each method by its median; oracles are not placed."""
    ranks = {level: ranks_at(grid, level) for level in grid.levels}
    placed = [method for method in grid.methods if not is_oracle(method)]
    rows = []
    for method in placed:
        mine = [ranks[level].get(method) for level in grid.levels]
        there = [rank for rank in mine if rank is not None]
        mean = f"{fmean(there):.1f}" if there else "-"
        cells = ("-" if rank is None else str(rank) for rank in mine)
        rows.append((label(method), *cells, mean, *endings(grid.row(method))))
    return Table(
        f"{title}: rank by median RMSE, by contamination rate",
        ("method", *rate_names(grid), "mean rank", "failed", "not converged"),
        tuple(rows),
        ("Oracles, which are told the faults, are not placed.",),
    )


def ranks_at(grid: Grid, level: float) -> dict[str, int]:
    """Places at one level, 1 for the lowest median, among the methods that are told nothing."""
    medians = {
        method: grid[method, level].median
        for method in grid.methods
        if not is_oracle(method) and grid[method, level].values
    }
    return {method: rank for rank, method in enumerate(sorted(medians, key=medians.__getitem__), start=1)}


def entry(cell: Cell) -> str:
    """Median and mean, and what is missing of them."""
    failures = f", {cell.failed} failed" if cell.failed else ""
    return f"{number(cell.median)} ({number(cell.mean)}){failures}" if cell.fits else "-"


def endings(cells: Sequence[Cell]) -> tuple[str, str]:
    """How many fits failed and how many did not converge, of all."""
    fits = sum(cell.fits for cell in cells)
    return (
        f"{sum(cell.failed for cell in cells)} of {fits}",
        f"{sum(cell.unconverged for cell in cells)} of {fits}",
    )


def rate_names(grid: Grid) -> tuple[str, ...]:
    """Headings of the rates."""
    return tuple(f"{level:g}" for level in grid.levels)


def settings_table(records: Sequence[Record], title: str) -> Table:
    """The estimator behind each method, with the arguments that are not its defaults."""
    found = {method: set[str]() for method in in_order(record.task.method for record in records)}
    for record in records:
        found[record.task.method].add(record.settings)
    rows = tuple((label(method), "; ".join(sorted(settings))) for method, settings in found.items())
    return Table(f"{title}: settings", ("method", "estimator"), rows)
