"""Two methods on the same trials: how much better one is, and whether chance would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from scipy.stats import rankdata, wilcoxon

from sturdygp._typing import FloatArray
from sturdygp.report.grid import NAN, Cell, Grid
from sturdygp.report.ranking import rate_names
from sturdygp.report.style import label
from sturdygp.report.table import Table, number, probability

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Comparison:
    """One method against another over the trials that both have values for.

    ``ratio`` is that of the medians, ``won`` the share of trials in which the first is lower, ``p`` that of
    Wilcoxon's signed ranks, two-sided; ``lower`` says whether the ranks speak for the first.
    """

    pairs: int
    ratio: float
    won: float
    p: float
    lower: bool

    @property
    def significantly_lower(self) -> bool:
        """Whether the first is lower by more than chance."""
        return self.lower and self.p < SIGNIFICANT

    @property
    def significantly_higher(self) -> bool:
        """Whether the first is higher by more than chance."""
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
    """The p-value of Wilcoxon's test, and whether negative ranks outweigh positive ones."""
    apart = differences[differences != 0.0]
    if not apart.size:
        return 1.0, False
    balance = float(np.sign(apart) @ rankdata(np.abs(apart)))
    return float(wilcoxon(apart).pvalue), balance < 0.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: p-values to be compared with one level of significance, however many there are.

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


def compare_levels(grid: Grid, subject: str, rival: str) -> dict[float, Comparison]:
    """Compare two methods at every level that both were run at, with Holm's correction across levels."""
    pairs = {level: compare(grid[subject, level], grid[rival, level]) for level in grid.levels}
    there = {level: pair for level, pair in pairs.items() if pair.pairs}
    corrected = holm([pair.p for pair in there.values()])
    return {level: replace(pair, p=p) for (level, pair), p in zip(there.items(), corrected, strict=True)}


def paired_tables(grid: Grid, subject: str, title: str) -> list[Table]:
    """Effects and p-values of one method against every other one."""
    rivals = [method for method in grid.methods if method != subject]
    compared = {rival: compare_levels(grid, subject, rival) for rival in rivals}
    header = ("against", *rate_names(grid))
    failures = f"Trials in which either fit failed are left out: {left_out(grid)}."
    return [
        Table(
            f"{title}: {label(subject)} against each method, ratio of medians (share of trials won) by rate",
            header,
            tuple((label(rival), *map(effect, at_levels(grid, found))) for rival, found in compared.items()),
            (
                "Below 1 is better. + or -: significantly better or worse, Holm-corrected p below "
                f"{SIGNIFICANT:g}. {failures}",
            ),
        ),
        Table(
            f"{title}: {label(subject)} against each method, p-values by rate",
            header,
            tuple(
                (label(rival), *(probability(pair.p) for pair in at_levels(grid, found)))
                for rival, found in compared.items()
            ),
            (f"Wilcoxon's signed ranks over trials, two-sided, Holm-corrected across rates. {failures}",),
        ),
    ]


def at_levels(grid: Grid, found: Mapping[float, Comparison]) -> list[Comparison]:
    """The comparisons in the order of levels, with gaps filled."""
    return [found.get(level, NOTHING) for level in grid.levels]


def effect(pair: Comparison) -> str:
    """Ratio, share of trials won and a sign."""
    if not pair.pairs:
        return "-"
    sign = " +" if pair.significantly_lower else " -" if pair.significantly_higher else ""
    return f"{number(pair.ratio)} ({100 * pair.won:.0f} %){sign}"


def left_out(grid: Grid) -> str:
    """How many fits failed, by method."""
    failures = {method: sum(cell.failed for cell in grid.row(method)) for method in grid.methods}
    named = [f"{count} of {label(method)}" for method, count in failures.items() if count]
    return "; ".join(named) if named else "no fit failed"
