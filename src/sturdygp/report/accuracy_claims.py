"""How accurate ASOR-GPR is among the methods of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sturdygp.experiments.record import Record
from sturdygp.experiments.suites import RATES, suite
from sturdygp.report.grid import Grid, Panel, panels
from sturdygp.report.judgement import (
    LIKELIHOOD_RIVALS,
    RIVALS,
    ROBUST_RIVALS,
    STANDARD,
    SUBJECT,
    Finding,
    NotEnoughError,
    finding,
    most,
    require,
)
from sturdygp.report.paired import SIGNIFICANT, compare, holm
from sturdygp.report.style import label
from sturdygp.report.table import listed, number

# "Competitive": at most so many times the best median of the others.
COMPETITIVE = 1.1
# "Several".
SEVERAL = 3
CONTAMINATED = tuple(rate for rate in RATES if rate > 0.0)


def complete_grid(panel: Panel) -> Grid:
    """Errors of a panel in which every method of the paper has results at every rate."""
    grid = panel.errors
    require(grid, (SUBJECT, *RIVALS), RATES)
    return grid


def the_panel(records: Sequence[Record]) -> Grid:
    """Errors of the one panel of a figure."""
    (panel,) = panels(records)
    return complete_grid(panel)


def grids_by_suite(records: Sequence[Record]) -> dict[str, Grid]:
    """Errors of several figures."""
    suites = dict.fromkeys(record.task.suite for record in records)
    return {name: the_panel([each for each in records if each.task.suite == name]) for name in suites}


def ratios(grid: Grid, rivals: Iterable[str], levels: Iterable[float] = RATES) -> dict[float, float]:
    """Median of ASOR-GPR over the best median of its rivals, by level."""
    names = tuple(rivals)
    return {
        level: grid[SUBJECT, level].median / min(grid[rival, level].median for rival in names)
        for level in levels
    }


def span(by_level: dict[float, float]) -> str:
    """The smallest and the largest ratio, and where they are."""
    low, high = min(by_level, key=by_level.__getitem__), max(by_level, key=by_level.__getitem__)
    return (
        f"ratio of medians to the best of the others from {number(by_level[low])} (rate {low:g}) to "
        f"{number(by_level[high])} (rate {high:g})"
    )


def competitive(grid: Grid, rivals: Iterable[str]) -> list[float]:
    """The levels at which ASOR-GPR is close to the best of its rivals, or better."""
    return [level for level, ratio in ratios(grid, rivals).items() if ratio <= COMPETITIVE]


def competitive_with(rivals: Sequence[str]) -> Callable[[Sequence[Record]], Finding]:
    """A judge of "competitive": close to the best of some rivals at every level."""

    def judge(records: Sequence[Record]) -> Finding:
        grid = the_panel(records)
        levels = competitive(grid, rivals)
        extent = f"at {len(levels)} of {len(RATES)} levels; {span(ratios(grid, rivals))}"
        return finding(holds=len(levels) == len(RATES), extent=extent)

    return judge


def lowest(grid: Grid, rivals: Iterable[str], levels: Iterable[float] = RATES) -> list[float]:
    """The levels at which ASOR-GPR has the lowest median."""
    return [level for level, ratio in ratios(grid, rivals, levels).items() if ratio < 1.0]


def significantly_lowest(grid: Grid, rivals: Iterable[str], levels: Sequence[float]) -> list[float]:
    """The levels at which ASOR-GPR is lower than every rival by more than chance.

    Being lower than all is no more certain than being lower than the least certain of them, so the p-value
    of a level is the largest one; Holm's correction is across levels.
    """
    names = tuple(rivals)
    corrected = holm([largest_p(grid, names, level) for level in levels])
    return [level for level, p in zip(levels, corrected, strict=True) if p < SIGNIFICANT]


def largest_p(grid: Grid, rivals: Sequence[str], level: float) -> float:
    """The p-value of being lower than all rivals; 1 if one of them is not higher."""
    pairs = [compare(grid[SUBJECT, level], grid[rival, level]) for rival in rivals]
    return max(pair.p if pair.lower else 1.0 for pair in pairs)


def require_trials(grid: Grid, levels: Sequence[float]) -> None:
    """Refuse to test with so few trials that no outcome could be significant."""
    pairs = min(len(grid[method, level].values) for method in (SUBJECT, *RIVALS) for level in levels)
    if len(levels) * 2.0 ** (1 - pairs) >= SIGNIFICANT:
        raise NotEnoughError(f"{pairs} trials are too few for a test")


def lowest_at_most_levels(records: Sequence[Record]) -> Finding:
    """Judge "the lowest RMSE at most levels"."""
    grid = the_panel(records)
    levels = lowest(grid, RIVALS)
    beyond_chance = significantly_lowest(grid, RIVALS, RATES)
    extent = (
        f"at {len(levels)} of {len(RATES)} levels, significantly at {len(beyond_chance)}; "
        f"{span(ratios(grid, RIVALS))}"
    )
    return finding(holds=most(len(levels), len(RATES)), extent=extent)


def clear_gains(records: Sequence[Record]) -> Finding:
    """Judge "clear gains": beyond chance at most contaminated levels."""
    grid = the_panel(records)
    require_trials(grid, CONTAMINATED)
    levels = significantly_lowest(grid, RIVALS, CONTAMINATED)
    extent = (
        f"at {len(levels)} of {len(CONTAMINATED)} levels; lowest median at "
        f"{len(lowest(grid, RIVALS, CONTAMINATED))}; {span(ratios(grid, RIVALS, CONTAMINATED))}"
    )
    return finding(holds=most(len(levels), len(CONTAMINATED)), extent=extent)


def several_wins(records: Sequence[Record]) -> Finding:
    """Judge "in several cases outperforms": beyond chance at several levels of all figures together."""
    grids = grids_by_suite(records)
    for grid in grids.values():
        require_trials(grid, RATES)
    wins = {name: len(significantly_lowest(grid, ROBUST_RIVALS, RATES)) for name, grid in grids.items()}
    extent = ", ".join(f"{count} of {len(RATES)} levels in {name}" for name, count in wins.items())
    return finding(holds=sum(wins.values()) >= SEVERAL, extent=extent)


def better_than_standard(records: Sequence[Record]) -> Finding:
    """Judge "enhanced robustness": below the standard model at most contaminated levels of each figure."""
    grids = grids_by_suite(records)
    below = {name: len(lowest(grid, (STANDARD,), CONTAMINATED)) for name, grid in grids.items()}
    extent = ", ".join(f"{count} of {len(CONTAMINATED)} levels in {name}" for name, count in below.items())
    return finding(holds=all(most(count, len(CONTAMINATED)) for count in below.values()), extent=extent)


def similar_trends(records: Sequence[Record]) -> Finding:
    """Judge "similar trends": what is said of the figures, panel by panel of the supplement."""
    found = panels(records)
    expected = len(panels_of_supplement())
    if len(found) < expected:
        raise NotEnoughError(f"{len(found)} of {expected} contaminations")
    one_sided = [complete_grid(panel) for panel in found if is_one_sided(panel)]
    symmetric = [complete_grid(panel) for panel in found if not is_one_sided(panel)]
    lead = sum(most(len(lowest(grid, RIVALS)), len(RATES)) for grid in one_sided)
    close = sum(len(competitive(grid, LIKELIHOOD_RIVALS)) == len(RATES) for grid in symmetric)
    extent = (
        f"lowest at most levels for {lead} of {len(one_sided)} asymmetric contaminations, competitive with "
        f"{listed(map(label, LIKELIHOOD_RIVALS))} for {close} of {len(symmetric)} symmetric ones"
    )
    return finding(holds=most(lead, len(one_sided)) and most(close, len(symmetric)), extent=extent)


def panels_of_supplement() -> set[tuple[str, str]]:
    """Data sets and kinds of faults that the full supplement has."""
    return {(task.dataset, task.fault.label) for task in suite("supplement").tasks(trials=1)}


def is_one_sided(panel: Panel) -> bool:
    """Whether the faults push readings one way."""
    added = panel.fault.distribution
    return added is not None and added.mean != 0.0
