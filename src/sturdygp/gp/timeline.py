"""Times in order, and the steps between them: on a regular grid there are few that differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sturdygp._compiled import compiled
from sturdygp._typing import FloatArray, IntArray
from sturdygp.gp.posterior import check_inputs

# Different steps that transitions are kept for; more are worked out as they come.
MOST_STEPS = 256
# Entries of the table that finds a step: well above the number of steps.
SLOT_BITS = 10
SLOTS = 1 << SLOT_BITS
# An odd number that spreads the bits of a step over the table (Knuth's multiplicative hashing).
SPREADING = 11400714819323198485


@dataclass(frozen=True, eq=False)
class Steps:
    """What lies before each of some times in order; zero before the first if ``first`` is that of all.

    ``which`` counts each step among the ``distinct`` ones, -1 where there is none. Both are None if too many
    differ.
    """

    dt: FloatArray
    first: bool
    which: IntArray | None
    distinct: FloatArray | None

    @classmethod
    def of(cls, times: FloatArray, before: float | None = None) -> Self:
        """Find the distinct steps between times in order, the first of which may follow another."""
        first = before is None
        dt = np.diff(times, prepend=times[0] if before is None else before)
        distinct, which = np.empty(MOST_STEPS), np.empty(len(dt), np.intp)
        count = index_steps(dt, distinct, which)
        if count < 0:
            return cls(dt, first, None, None)
        if first:
            which[0] = -1
        return cls(dt, first, which, distinct[:count])

    def __len__(self) -> int:
        """The number of times."""
        return len(self.dt)


@dataclass(frozen=True, eq=False)
class Timeline:
    """The rows of ``X``, a column of times in any order; and in order, for any number of kernels."""

    X: FloatArray
    times: FloatArray
    steps: Steps
    order: IntArray | None

    @classmethod
    def of(cls, X: FloatArray) -> Self:
        """Sort the times, unless they are in order."""
        X = check_inputs(X)
        if X.shape[1] != 1:
            raise ValueError(
                f'a process over time has one input, but X has {X.shape[1]} columns; use engine="exact"'
            )
        times = np.ascontiguousarray(X[:, 0])
        if is_sorted(times):
            return cls(X, times, Steps.of(times), None)
        order = np.argsort(times, kind="stable")
        times = times[order]
        return cls(X, times, Steps.of(times), order)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.X)

    def sorted(self, values: FloatArray) -> FloatArray:
        """Values at the rows, in the order of their times."""
        return values if self.order is None else values[self.order]

    def unsorted(self, values: FloatArray) -> FloatArray:
        """Values in the order of times, as the rows are."""
        if self.order is None:
            return values
        back = np.empty_like(values)
        back[self.order] = values
        return back


@compiled
def is_sorted(times: Any) -> Any:
    """Whether no time is less than the one before."""
    for t in range(1, len(times)):
        if times[t] < times[t - 1]:
            return False
    return True


@compiled
def index_steps(dt: Any, distinct: Any, which: Any) -> Any:
    """Number the distinct steps as they come; -1 if there are more than fit."""
    table = np.full(SLOTS, -1, np.int16)
    bits = dt.view(np.uint64)
    count, last, previous = 0, -1, np.nan
    for t in range(len(dt)):
        if dt[t] != previous:
            previous = dt[t]
            slot = np.int64((bits[t] * np.uint64(SPREADING)) >> np.uint64(64 - SLOT_BITS))
            while table[slot] >= 0 and distinct[table[slot]] != previous:
                slot = (slot + 1) % SLOTS
            if table[slot] < 0:
                if count == len(distinct):
                    return -1
                distinct[count] = previous
                table[slot] = count
                count += 1
            last = table[slot]
        which[t] = last
    return count
