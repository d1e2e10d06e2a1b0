"""How long ASOR-GPR takes among the methods of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import rankdata

from sturdygp.experiments.record import Record
from sturdygp.experiments.suites import RATES, SIZES
from sturdygp.report.grid import Grid, panels
from sturdygp.report.judgement import ORACLE, RIVALS, SUBJECT, Finding, finding, require
from sturdygp.report.runtime import PowerLaw, medians, power_law, runtimes
from sturdygp.report.style import in_order, label
from sturdygp.report.table import listed, number

COMPARED = in_order((ORACLE, SUBJECT, *RIVALS))
CUBIC = 3.0
# Exponents are judged with twice their standard error.
ERRORS_ALLOWED = 2.0
# "Broadly consistent": Kendall's coefficient of concordance, 1 if the order is the same everywhere.
CONCORDANT = 0.9


def complete_times(records: Sequence[Record]) -> Grid:
    """Times by number of readings, with results of every method of the paper at every size."""
    grid = runtimes(records)
    require(grid, COMPARED, SIZES)
    return grid


def faster(first: Sequence[str], second: Sequence[str]) -> Callable[[Sequence[Record]], Finding]:
    """A judge of "faster": the slowest of the first methods beats the fastest of the others at every size."""

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
    """A method, or the slowest or fastest of several."""
    named = listed(map(label, methods))
    return named if len(methods) == 1 else f"the {which} of {named}"


def both(*judges: Callable[[Sequence[Record]], Finding]) -> Callable[[Sequence[Record]], Finding]:
    """A judge of several statements that must all hold."""

    def judge(records: Sequence[Record]) -> Finding:
        found = [each(records) for each in judges]
        holds = all(each.verdict == "holds" for each in found)
        return finding(holds=holds, extent="; ".join(each.extent for each in found))

    return judge


def cubic(records: Sequence[Record]) -> Finding:
    """Judge "cubic complexity": no time grows faster than the cube of n."""
    grid = complete_times(records)
    laws = {method: power_law(medians(grid, method)) for method in COMPARED}
    extent = ", ".join(f"{label(method)} {law}" for method, law in laws.items())
    holds = all(law is not None and at_most_cubic(law) for law in laws.values())
    return finding(holds=holds, extent=f"exponents of n: {extent}")


def at_most_cubic(law: PowerLaw) -> bool:
    """Whether an exponent is not above three by more than its error allows."""
    return law.exponent - ERRORS_ALLOWED * law.error <= CUBIC


def same_order_at_all_rates(records: Sequence[Record]) -> Finding:
    """Judge "broadly consistent across contamination probabilities" by the times of a figure."""
    (panel,) = panels(records)
    grid = panel.times
    require(grid, COMPARED, RATES)
    concordance = kendall_w([[grid[method, rate].median for method in COMPARED] for rate in RATES])
    return finding(holds=concordance >= CONCORDANT, extent=f"concordance {concordance:.2f}")


def kendall_w(ratings: Sequence[Sequence[float]]) -> float:
    """Kendall's coefficient of concordance of several orders of the same things.

    Examples
    --------
    >>> kendall_w([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]), kendall_w([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    (1.0, 0.0)
    """
    ranks = rankdata(np.asarray(ratings), axis=1)
    orders, things = ranks.shape
    sums = ranks.sum(axis=0)
    return float(12.0 * np.sum((sums - sums.mean()) ** 2) / (orders**2 * (things**3 - things)))
