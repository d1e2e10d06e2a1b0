"""Rules that decide the paper's claims from the records.

A rule takes the records of the suites that a claim is about, and returns a :class:`Finding`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.stats import rankdata

from sturdygp.experiments.record import Record
from sturdygp.experiments.suites import RATES, SIZES, suite
from sturdygp.report.accuracy import SIGNIFICANT, compare, holm
from sturdygp.report.grid import Grid, Panel, in_order, label, panels
from sturdygp.report.runtime import PowerLaw, medians, power_law, runtimes
from sturdygp.report.table import listed, number

Verdict: TypeAlias = Literal["holds", "does not hold", "undecided"]

# The paper's method, which its claims are about, and the methods that it compares with.
SUBJECT = "asor"
ORACLE, STANDARD = "oracle", "standard"
ROBUST_COMPETITORS = ("rcgp", "student-t", "mixture")
LIKELIHOOD_COMPETITORS = ("student-t", "mixture")
COMPETITORS = (STANDARD, *ROBUST_COMPETITORS)
PAPER_METHODS = in_order((ORACLE, SUBJECT, *COMPETITORS))
CONTAMINATED = tuple(rate for rate in RATES if rate > 0.0)

# "Competitive": at most so many times the best median of the competitors.
COMPETITIVE = 1.1
# "Several": at least so many levels.
SEVERAL = 3
# "Cubic": the largest exponent of n, and the standard errors by which a fitted one may exceed it.
CUBIC = 3.0
ERRORS_ALLOWED = 2.0
# "Broadly consistent": Kendall's coefficient of concordance, 1 if the order is the same everywhere.
CONCORDANT = 0.9


@dataclass(frozen=True)
class Finding:
    """Verdict on a claim, and the numbers behind it."""

    verdict: Verdict
    extent: str


class NotEnoughError(Exception):
    """Lack of results that a claim needs; the message names them."""


def finding(*, holds: bool, extent: str) -> Finding:
    """Return the finding on complete results."""
    return Finding("holds" if holds else "does not hold", extent)


def majority(count: int, total: int) -> bool:
    """Return whether a count is more than half of a total."""
    return 2 * count > total


def require(grid: Grid, methods: Iterable[str], levels: Iterable[float]) -> None:
    """Refuse to judge unless every method has values at every level, and all have the same trials."""
    wanted, names = list(levels), list(methods)
    for method in names:
        gaps = [level for level in wanted if not grid[method, level].values]
        if len(gaps) == len(wanted):
            raise NotEnoughError(f"no results of {label(method)}")
        if gaps:
            raise NotEnoughError(f"no results of {label(method)} at {', '.join(f'{gap:g}' for gap in gaps)}")
    fits = {grid[method, level].fits for method in names for level in wanted}
    if len(fits) > 1:
        raise NotEnoughError(f"unfinished: {min(fits)} to {max(fits)} trials")


# --------------------------------------------------------------------------------------- accuracy


def complete_grid(panel: Panel) -> Grid:
    """Return the errors of a panel; every method of the paper must have results at every rate."""
    grid = panel.errors
    require(grid, (SUBJECT, *COMPETITORS), RATES)
    return grid


def single_grid(records: Sequence[Record]) -> Grid:
    """Return the errors of a figure with a single panel."""
    (panel,) = panels(records)
    return complete_grid(panel)


def grids_by_suite(records: Sequence[Record]) -> dict[str, Grid]:
    """Return the errors of several figures, each with a single panel."""
    suites = dict.fromkeys(record.task.suite for record in records)
    return {name: single_grid([each for each in records if each.task.suite == name]) for name in suites}


def ratios(grid: Grid, competitors: Iterable[str], levels: Iterable[float] = RATES) -> dict[float, float]:
    """Return the median of ASOR-GPR over the best median of its competitors, by level."""
    names = tuple(competitors)
    return {
        level: grid[SUBJECT, level].median / min(grid[competitor, level].median for competitor in names)
        for level in levels
    }


def span(by_level: dict[float, float]) -> str:
    """Describe the smallest and the largest ratio, with their levels."""
    low, high = min(by_level, key=by_level.__getitem__), max(by_level, key=by_level.__getitem__)
    return (
        f"ratio of medians to the best of the others from {number(by_level[low])} (rate {low:g}) to "
        f"{number(by_level[high])} (rate {high:g})"
    )


def competitive(grid: Grid, competitors: Iterable[str]) -> list[float]:
    """Return the levels at which ASOR-GPR is close to the best of its competitors, or better."""
    return [level for level, ratio in ratios(grid, competitors).items() if ratio <= COMPETITIVE]


def competitive_with(competitors: Sequence[str]) -> Callable[[Sequence[Record]], Finding]:
    """Make a rule for "competitive": close to the best of some competitors at every level."""

    def judge(records: Sequence[Record]) -> Finding:
        grid = single_grid(records)
        levels = competitive(grid, competitors)
        extent = f"at {len(levels)} of {len(RATES)} levels; {span(ratios(grid, competitors))}"
        return finding(holds=len(levels) == len(RATES), extent=extent)

    return judge


def lowest(grid: Grid, competitors: Iterable[str], levels: Iterable[float] = RATES) -> list[float]:
    """Return the levels at which ASOR-GPR has the lowest median."""
    return [level for level, ratio in ratios(grid, competitors, levels).items() if ratio < 1.0]


def significantly_lowest(grid: Grid, competitors: Iterable[str], levels: Sequence[float]) -> list[float]:
    """Return the levels at which ASOR-GPR is significantly lower than every competitor.

    The p-value of a level is the largest one of its comparisons, because ASOR-GPR must be lower than every
    competitor. Holm's correction is across levels.
    """
    names = tuple(competitors)
    corrected = holm([largest_p(grid, names, level) for level in levels])
    return [level for level, p in zip(levels, corrected, strict=True) if p < SIGNIFICANT]


def largest_p(grid: Grid, competitors: Sequence[str], level: float) -> float:
    """Return the p-value of being lower than all competitors; 1 if one of them is not higher."""
    pairs = [compare(grid[SUBJECT, level], grid[competitor, level]) for competitor in competitors]
    return max(pair.p if pair.lower else 1.0 for pair in pairs)


def require_trials(grid: Grid, levels: Sequence[float]) -> None:
    """Refuse to test with so few trials that no outcome could be significant."""
    pairs = min(len(grid[method, level].values) for method in (SUBJECT, *COMPETITORS) for level in levels)
    if len(levels) * 2.0 ** (1 - pairs) >= SIGNIFICANT:
        raise NotEnoughError(f"{pairs} trials are too few for a test")


def lowest_at_most_levels(records: Sequence[Record]) -> Finding:
    """Judge "the lowest RMSE at most levels"."""
    grid = single_grid(records)
    levels = lowest(grid, COMPETITORS)
    significant = significantly_lowest(grid, COMPETITORS, RATES)
    extent = (
        f"at {len(levels)} of {len(RATES)} levels, significantly at {len(significant)}; "
        f"{span(ratios(grid, COMPETITORS))}"
    )
    return finding(holds=majority(len(levels), len(RATES)), extent=extent)


def clear_gains(records: Sequence[Record]) -> Finding:
    """Judge "clear gains": significantly lowest at most contaminated levels."""
    grid = single_grid(records)
    require_trials(grid, CONTAMINATED)
    levels = significantly_lowest(grid, COMPETITORS, CONTAMINATED)
    extent = (
        f"at {len(levels)} of {len(CONTAMINATED)} levels; lowest median at "
        f"{len(lowest(grid, COMPETITORS, CONTAMINATED))}; {span(ratios(grid, COMPETITORS, CONTAMINATED))}"
    )
    return finding(holds=majority(len(levels), len(CONTAMINATED)), extent=extent)


def several_wins(records: Sequence[Record]) -> Finding:
    """Judge "in several cases outperforms": significantly lowest at several levels of all the figures."""
    grids = grids_by_suite(records)
    for grid in grids.values():
        require_trials(grid, RATES)
    wins = {name: len(significantly_lowest(grid, ROBUST_COMPETITORS, RATES)) for name, grid in grids.items()}
    extent = ", ".join(f"{count} of {len(RATES)} levels in {name}" for name, count in wins.items())
    return finding(holds=sum(wins.values()) >= SEVERAL, extent=extent)


def better_than_standard(records: Sequence[Record]) -> Finding:
    """Judge "enhanced robustness": below the standard model at most contaminated levels of each figure."""
    grids = grids_by_suite(records)
    below = {name: len(lowest(grid, (STANDARD,), CONTAMINATED)) for name, grid in grids.items()}
    extent = ", ".join(f"{count} of {len(CONTAMINATED)} levels in {name}" for name, count in below.items())
    return finding(holds=all(majority(count, len(CONTAMINATED)) for count in below.values()), extent=extent)


def similar_trends(records: Sequence[Record]) -> Finding:
    """Judge "similar trends": the claims about figures 1a and 1c, for each panel of the supplement."""
    found = panels(records)
    expected = len(panels_of_supplement())
    if len(found) < expected:
        raise NotEnoughError(f"{len(found)} of {expected} contaminations")
    one_sided = [complete_grid(panel) for panel in found if is_one_sided(panel)]
    symmetric = [complete_grid(panel) for panel in found if not is_one_sided(panel)]
    lead = sum(majority(len(lowest(grid, COMPETITORS)), len(RATES)) for grid in one_sided)
    close = sum(len(competitive(grid, LIKELIHOOD_COMPETITORS)) == len(RATES) for grid in symmetric)
    extent = (
        f"lowest at most levels for {lead} of {len(one_sided)} asymmetric contaminations, competitive with "
        f"{listed(map(label, LIKELIHOOD_COMPETITORS))} for {close} of {len(symmetric)} symmetric ones"
    )
    return finding(holds=majority(lead, len(one_sided)) and majority(close, len(symmetric)), extent=extent)


def panels_of_supplement() -> set[tuple[str, str]]:
    """Return the data sets and contaminations of the full supplement."""
    return {(task.dataset, task.fault.label) for task in suite("supplement").tasks(trials=1)}


def is_one_sided(panel: Panel) -> bool:
    """Return whether the outliers lie to one side on average."""
    added = panel.fault.distribution
    return added is not None and added.mean != 0.0


# ---------------------------------------------------------------------------------------- runtime


def complete_times(records: Sequence[Record]) -> Grid:
    """Return the times by number of observations; every method of the paper must have all sizes."""
    grid = runtimes(records)
    require(grid, PAPER_METHODS, SIZES)
    return grid


def faster(first: Sequence[str], second: Sequence[str]) -> Callable[[Sequence[Record]], Finding]:
    """Make a rule for "faster": the slowest of the first methods beats the fastest of the second ones."""

    def judge(records: Sequence[Record]) -> Finding:
        grid = complete_times(records)
        ratios = {
            n: max(grid[method, n].median for method in first)
            / min(grid[method, n].median for method in second)
            for n in SIZES
        }
        count = sum(ratio < 1.0 for ratio in ratios.values())
        low, high = min(ratios.values()), max(ratios.values())
        names = f"{one_of('slowest', first)} takes {number(low)} to {number(high)} times as long as"
        extent = f"at {count} of {len(SIZES)} sizes; {names} {one_of('fastest', second)}"
        return finding(holds=count == len(SIZES), extent=extent)

    return judge


def one_of(which: str, methods: Sequence[str]) -> str:
    """Name a method, or the slowest or fastest of several."""
    named = listed(map(label, methods))
    return named if len(methods) == 1 else f"the {which} of {named}"


def both(*rules: Callable[[Sequence[Record]], Finding]) -> Callable[[Sequence[Record]], Finding]:
    """Make a rule for several statements that must all hold."""

    def judge(records: Sequence[Record]) -> Finding:
        found = [rule(records) for rule in rules]
        holds = all(each.verdict == "holds" for each in found)
        return finding(holds=holds, extent="; ".join(each.extent for each in found))

    return judge


def cubic(records: Sequence[Record]) -> Finding:
    """Judge "cubic complexity": no time grows significantly faster than the cube of n."""
    grid = complete_times(records)
    laws = {method: power_law(medians(grid, method)) for method in PAPER_METHODS}
    extent = ", ".join(f"{label(method)} {law}" for method, law in laws.items())
    holds = all(law is not None and at_most_cubic(law) for law in laws.values())
    return finding(holds=holds, extent=f"exponents of n: {extent}")


def at_most_cubic(law: PowerLaw) -> bool:
    """Return whether an exponent is at most three, up to its standard error."""
    return law.exponent - ERRORS_ALLOWED * law.error <= CUBIC


def same_order_at_all_rates(records: Sequence[Record]) -> Finding:
    """Judge "broadly consistent across contamination probabilities" from the times of a figure."""
    (panel,) = panels(records)
    grid = panel.times
    require(grid, PAPER_METHODS, RATES)
    concordance = kendall_w([[grid[method, rate].median for method in PAPER_METHODS] for rate in RATES])
    return finding(holds=concordance >= CONCORDANT, extent=f"concordance {concordance:.2f}")


def kendall_w(ratings: Sequence[Sequence[float]]) -> float:
    """Return Kendall's coefficient of concordance of several ratings of the same items.

    Examples
    --------
    >>> kendall_w([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]), kendall_w([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    (1.0, 0.0)
    """
    ranks = rankdata(np.asarray(ratings), axis=1)
    raters, items = ranks.shape
    sums = ranks.sum(axis=0)
    return float(12.0 * np.sum((sums - sums.mean()) ** 2) / (raters**2 * (items**3 - items)))
