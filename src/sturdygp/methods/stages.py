"""Climbing in stages: first with a sample of the readings, then with all of them from where that led.

An evaluation costs the cube of the number of readings, and most of a climb goes into finding the region of
the optimum, which a quarter of the readings know nearly as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import TypeVar

import numpy as np

from sturdygp.gp.rows import Rows
from sturdygp.methods.alternating import Alternation, Start, Trail, start_at
from sturdygp.methods.base import Problem
from sturdygp.optimise import Optimum
from sturdygp.status import Status

L = TypeVar("L")

# Divides the readings from stage to stage, down to the fewest in one. A sample is held in memory, and more
# than so many readings would hardly tell more of where the optimum is.
FEWER, FEWEST, MOST = 4, 100, 50_000
# A stage of so few readings needs no inducing inputs.
EXACT_ROWS = 1000
# Precision to which a sample is fitted, relative to that asked for all: it only leads the way.
COARSER = 3.0


def sampled(problem: Problem, rows: int) -> Problem:
    """The same problem with so many of its readings, in memory: the same in whichever order they come."""
    X, y = problem.X, problem.y
    if y.size <= rows:
        return replace(problem, X=X[np.arange(y.size)]) if isinstance(X, Rows) else problem
    # Equal readings are told apart by their inputs, where these are at hand.
    order = np.lexsort((y,) if isinstance(X, Rows) else (*X.T, y))
    chosen = order[np.random.default_rng(0).choice(y.size, rows, replace=False)]
    inducing = problem.inducing if rows > EXACT_ROWS else None
    added = None if problem.added is None else problem.added[chosen]
    return replace(problem, X=X[chosen], y=y[chosen], added=added, callback=None, inducing=inducing)


def climb_by_stages(
    problem: Problem,
    loop_for: Callable[[Problem], Alternation[L]],
    starts_for: Callable[[Problem], list[Start[L]]],
    *,
    max_iter: int,
    tol: float,
) -> tuple[Optimum[Trail[L]], int]:
    """The best climb from all starts, and the factorisations it took; ``tol`` is per reading.

    Those of a sample count by their share of the work. A problem that is resumed goes on with all readings:
    where there are samples, they have chosen among the starts.
    """
    loop, limit, callback = loop_for(problem), tol * problem.y.size, problem.callback
    few = sampled(problem, min(problem.y.size // FEWER, MOST))
    staged = few.y.size >= FEWEST
    if problem.resume is not None:
        first, *others = starts_for(problem)
        start = start_at(problem.resume, problem.kernel, len(loop.extra_bounds), first.latent)
        starts = [start, *([] if staged or problem.resume.searched else others)]
        return loop.best_climb(starts, max_iter=max_iter, tol=limit, callback=callback)
    if staged:
        found, spent = climb_by_stages(few, loop_for, starts_for, max_iter=max_iter, tol=COARSER * tol)
        if found.status is not Status.FAILED:
            start = loop.start_from(problem.kernel, found)
            optimum = loop.climb(start, max_iter=max_iter, tol=limit, callback=callback)
            return optimum, ceil(spent * few.work / problem.work) + optimum.n_evaluations
    return loop.best_climb(starts_for(problem), max_iter=max_iter, tol=limit, callback=callback)
