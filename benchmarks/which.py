"""Which estimator when: what each costs and gains, from the results that are kept in docs/results.

``python benchmarks/which.py`` prints the table of docs/which-estimator.md. Nothing is measured here:
``sturdygp reproduce`` runs the suites ``fig1a``, ``fig1c`` and ``table1``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sturdygp.experiments.record import Record
from sturdygp.experiments.store import ResultStore
from sturdygp.report.grid import Grid, Setting, grid_of, rate, rmse
from sturdygp.report.runtime import runtimes
from sturdygp.report.table import Table, number

RESULTS = Path(__file__).parent.parent / "docs" / "results"
TITLE = "Which estimator when: errors in units of an oracle's, and the time of a fit"
ORACLE = "oracle-centred"
ONE_SIDE, BOTH_SIDES, TIMED = "fig1a", "fig1c", "table1"
SHOWN_RATE, SHOWN_SIZE = 0.2, 1000.0


@dataclass(frozen=True)
class Choice:
    """An estimator, when to take it, and the method of the suites that it is."""

    estimator: str
    when: str
    method: str


CHOICES = (
    Choice("RobustGPRegressor", "nothing is known of the faults", "robust"),
    Choice("MixtureGPRegressor", "faults are rare and on both sides", "mixture"),
    Choice("AsorGPRegressor", "the paper's method is wanted", "asor"),
    Choice("StudentTGPRegressor", "noise has heavy tails", "student-t"),
    Choice("RCGPRegressor", "for comparison", "rcgp"),
    Choice("StandardGPRegressor", "there are no faults", "standard"),
)
# Heading, suite and rate of each column of errors.
ERRORS = (
    ("synthetic, 0 %", ONE_SIDE, 0.0),
    ("20 %", ONE_SIDE, 0.2),
    ("40 %", ONE_SIDE, 0.4),
    ("60 %", ONE_SIDE, 0.6),
    ("Energy, 0 %", BOTH_SIDES, 0.0),
    ("20 %", BOTH_SIDES, 0.2),
    ("40 %", BOTH_SIDES, 0.4),
)


def records(suite: str) -> list[Record]:
    """What is kept of a suite, as the paper's text describes it and every method at its best."""
    return Setting().of(ResultStore(RESULTS / f"{suite}.jsonl").records())


def by_rate(kept: list[Record], measure: Callable[[Record], float | None]) -> Grid:
    """A score by method and rate of faults."""
    return grid_of(kept, level=rate, measure=measure)


def decision_table() -> Table:
    """One row for each estimator."""
    kept = {suite: records(suite) for suite in (ONE_SIDE, BOTH_SIDES, TIMED)}
    errors = {suite: by_rate(kept[suite], rmse) for suite in (ONE_SIDE, BOTH_SIDES)}
    covered = by_rate(kept[ONE_SIDE], lambda record: record.scores.coverage)
    found = by_rate(kept[ONE_SIDE], lambda record: record.scores.average_precision)
    times = runtimes(kept[TIMED])
    rows = tuple(
        (
            choice.estimator,
            choice.when,
            *(ratio(errors[suite], choice.method, level) for _, suite, level in ERRORS),
            number(covered[choice.method, SHOWN_RATE].mean),
            number(found[choice.method, SHOWN_RATE].mean),
            number(times[choice.method, SHOWN_SIZE].median),
        )
        for choice in CHOICES
    )
    header = ("estimator", "take it if", *(heading for heading, _, _ in ERRORS), "covers", "finds", "s")
    return Table(TITLE, header, rows)


def ratio(grid: Grid, method: str, level: float) -> str:
    """Median error in units of the oracle's."""
    return number(grid[method, level].median / grid[ORACLE, level].median)


if __name__ == "__main__":
    print(decision_table().markdown())
