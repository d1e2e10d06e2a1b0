"""Verdicts, and what the words of the claims mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sturdygp.report.grid import Grid
from sturdygp.report.style import label

Verdict: TypeAlias = Literal["holds", "does not hold", "undecided"]

SUBJECT = "asor"
ORACLE, STANDARD = "oracle", "standard"
ROBUST_RIVALS = ("rcgp", "student-t", "mixture")
# The methods that the paper compares with, apart from its oracle.
RIVALS = (STANDARD, *ROBUST_RIVALS)
LIKELIHOOD_RIVALS = ("student-t", "mixture")


@dataclass(frozen=True)
class Finding:
    """A verdict, and by how much."""

    verdict: Verdict
    extent: str


class NotEnoughError(Exception):
    """Results that a claim needs are missing; the message names them."""


def finding(*, holds: bool, extent: str) -> Finding:
    """A verdict on results that are all there."""
    return Finding("holds" if holds else "does not hold", extent)


def most(count: int, total: int) -> bool:
    """More than half."""
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
