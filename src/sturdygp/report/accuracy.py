"""Errors of the methods: medians, ranks, and paired tests of one method against the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

import numpy as np
from scipy.stats import rankdata, wilcoxon

from sturdygp._typing import FloatArray
from sturdygp.report.grid import NAN, Cell, Grid, failure_counts, is_oracle, label
from sturdygp.report.table import Strong, Table, number, probability

SIGNIFICANT = 0.05


# ------------------------------------------------------------------------------ medians and ranks


def ranking_tables(grid: Grid, title: str) -> list[Table]:
    """Tabulate errors and ranks of every method at every level."""
    return [error_table(grid, title), rank_table(grid, title)]


def error_table(grid: Grid, title: str) -> Table:
    """Tabulate median and mean errors, with the best median of each level in bold."""
    ranks = {level: ranks_at(grid, level) for level in grid.levels}
    rows = []
    for method in grid.methods:
        cells = [
            Strong(entry(grid[method, level]))
            if ranks[level].get(method) == 1
            else entry(grid[method, level])
            for level in grid.levels
        ]
        rows.append((label(method), *cells, *failure_counts(grid.row(method))))
    return Table(
        f"{title}: median (mean) RMSE by contamination rate",
        ("method", *rate_names(grid), "failed", "not converged"),
        tuple(rows),
        ("The lowest median of the methods that are told nothing stands out. Failed fits have no error.",),
    )


def rank_table(grid: Grid, title: str) -> Table:
    """Tabulate the rank of each method by its median; oracles are not ranked."""
    ranks = {level: ranks_at(grid, level) for level in grid.levels}
    ranked = [method for method in grid.methods if not is_oracle(method)]
    rows = []
    for method in ranked:
        mine = [ranks[level].get(method) for level in grid.levels]
        there = [rank for rank in mine if rank is not None]
        mean = f"{fmean(there):.1f}" if there else "-"
        cells = ("-" if rank is None else str(rank) for rank in mine)
        rows.append((label(method), *cells, mean, *failure_counts(grid.row(method))))
    return Table(
        f"{title}: rank by median RMSE, by contamination rate",
        ("method", *rate_names(grid), "mean rank", "failed", "not converged"),
        tuple(rows),
        ("Oracles, which are told the faults, are not placed.",),
    )


def ranks_at(grid: Grid, level: float) -> dict[str, int]:
    """Rank the methods other than oracles at one level; 1 is the lowest median."""
    medians = {
        method: grid[method, level].median
        for method in grid.methods
        if not is_oracle(method) and grid[method, level].values
    }
    return {method: rank for rank, method in enumerate(sorted(medians, key=medians.__getitem__), start=1)}


def entry(cell: Cell) -> str:
    """Format median and mean, and the number of failed fits."""
    failures = f", {cell.failed} failed" if cell.failed else ""
    return f"{number(cell.median)} ({number(cell.mean)}){failures}" if cell.fits else "-"


def rate_names(grid: Grid) -> tuple[str, ...]:
    """Return the headings of the rates."""
    return tuple(f"{level:g}" for level in grid.levels)


# ------------------------------------------------------------------------------------ paired tests


@dataclass(frozen=True)
class Comparison:
    """Comparison of two methods over the trials for which both have values.

    ``ratio`` is that of the medians, ``won`` the fraction of trials in which the first method is lower.
    ``p`` is the two-sided p-value of Wilcoxon's signed-rank test; ``lower`` is true if the ranks favour the
    first method.
    """

    pairs: int
    ratio: float
    won: float
    p: float
    lower: bool

    @property
    def significantly_lower(self) -> bool:
        """The first method is lower by more than chance."""
        return self.lower and self.p < SIGNIFICANT

    @property
    def significantly_higher(self) -> bool:
        """The first method is higher by more than chance."""
        return not self.lower and self.p < SIGNIFICANT


NOTHING = Comparison(0, NAN, NAN, NAN, lower=False)


def compare(first: Cell, second: Cell) -> Comparison:
    """Compare two methods at one level."""
    trials = sorted(first.values.keys() & second.values.keys())
    if not trials:
        return NOTHING
    ours, theirs = [first.values[trial] for trial in trials], [second.values[trial] for trial in trials]
    differences = np.subtract(ours, theirs)
    p, lower = signed_ranks(differences)
    won = float(np.mean(differences < 0.0))
    return Comparison(len(trials), median(ours) / median(theirs), won, p, lower)


def signed_ranks(differences: FloatArray) -> tuple[float, bool]:
    """Return the p-value of Wilcoxon's test, and whether negative ranks outweigh positive ones."""
    apart = differences[differences != 0.0]
    if not apart.size:
        return 1.0, False
    balance = float(np.sign(apart) @ rankdata(np.abs(apart)))
    return float(wilcoxon(apart).pvalue), balance < 0.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Apply Holm's correction: the results can be compared with one level of significance.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * np.asarray(p_values)[order]), 1.0)
    return [float(p) for p in adjusted]


def compare_levels(grid: Grid, subject: str, other: str) -> dict[float, Comparison]:
    """Compare two methods at every level that both have, with Holm's correction across levels."""
    pairs = {level: compare(grid[subject, level], grid[other, level]) for level in grid.levels}
    there = {level: pair for level, pair in pairs.items() if pair.pairs}
    corrected = holm([pair.p for pair in there.values()])
    return {level: replace(pair, p=p) for (level, pair), p in zip(there.items(), corrected, strict=True)}


def paired_tables(grid: Grid, subject: str, title: str) -> list[Table]:
    """Tabulate effects and p-values of one method against every other one."""
    others = [method for method in grid.methods if method != subject]
    compared = {other: compare_levels(grid, subject, other) for other in others}
    header = ("against", *rate_names(grid))
    failures = f"Trials in which either fit failed are left out: {left_out(grid)}."
    return [
        Table(
            f"{title}: {label(subject)} against each method, ratio of medians (share of trials won) by rate",
            header,
            tuple((label(other), *map(effect, at_levels(grid, found))) for other, found in compared.items()),
            (
                "Below 1 is better. + or -: significantly better or worse, Holm-corrected p below "
                f"{SIGNIFICANT:g}. {failures}",
            ),
        ),
        Table(
            f"{title}: {label(subject)} against each method, p-values by rate",
            header,
            tuple(
                (label(other), *(probability(pair.p) for pair in at_levels(grid, found)))
                for other, found in compared.items()
            ),
            (f"Wilcoxon's signed ranks over trials, two-sided, Holm-corrected across rates. {failures}",),
        ),
    ]


def at_levels(grid: Grid, found: Mapping[float, Comparison]) -> list[Comparison]:
    """Return the comparisons in the order of levels, with gaps filled."""
    return [found.get(level, NOTHING) for level in grid.levels]


def effect(pair: Comparison) -> str:
    """Format ratio, percentage of trials won and the sign of a significant difference."""
    if not pair.pairs:
        return "-"
    sign = " +" if pair.significantly_lower else " -" if pair.significantly_higher else ""
    return f"{number(pair.ratio)} ({100 * pair.won:.0f} %){sign}"


def left_out(grid: Grid) -> str:
    """Count the failed fits by method."""
    failures = {method: sum(cell.failed for cell in grid.row(method)) for method in grid.methods}
    named = [f"{count} of {label(method)}" for method, count in failures.items() if count]
    return "; ".join(named) if named else "no fit failed"
