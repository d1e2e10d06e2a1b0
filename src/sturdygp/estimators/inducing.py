"""The arguments ``inducing`` and ``optimise_inducing``: how many inducing inputs, or which ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sturdygp._typing import FloatArray
from sturdygp.estimators.validation import check_choice, check_positive
from sturdygp.gp.inducing_selection import chosen_inputs, moved_inputs
from sturdygp.gp.inputs import Inputs, Rows
from sturdygp.gp.posterior import check_inputs
from sturdygp.inference.problem import LONGER, Problem, lengthened
from sturdygp.kernels.base import Kernel
from sturdygp.kernels.state_space import has_state_space, state_space
from sturdygp.methods.fit import Fit, Method
from sturdygp.status import Status

Engine: TypeAlias = Literal["auto", "exact", "inducing", "markov"]
Inducing: TypeAlias = int | Literal["auto"] | ArrayLike | None

# "auto": the exact process up to so many rows, and inducing inputs for more.
EXACT_ROWS, AUTO_COUNT = 3000, 500
# Observations over time from which a Markov process is used: an evaluation is faster from about a hundred on,
# but the first one in a process has to load what is compiled.
MARKOV_ROWS = 300
# Length scales to choose inputs with, as log factors of the kernel's own.
LENGTHS = (LONGER, 0.0, -LONGER)


def engine_for(engine: Engine, inducing: Inducing, kernel: Kernel | None, X: Inputs) -> Engine:
    """The engine that is used: one for this kernel, or the default one, and these inputs."""
    check_choice("engine", engine, ("auto", "exact", "inducing", "markov"))
    if engine in {"exact", "markov"} and inducing is not None:
        raise ValueError(f'inducing inputs need engine="inducing" or "auto", and engine is {engine!r}')
    if engine == "markov":
        check_markov(kernel, X)
    if engine != "auto":
        return engine
    if inducing is not None:
        return "inducing"
    over_time = not isinstance(X, Rows) and X.shape[1] == 1 and kernel is not None and has_state_space(kernel)
    return "markov" if over_time and len(X) >= MARKOV_ROWS else "exact"


def check_markov(kernel: Kernel | None, X: Inputs) -> None:
    """Refuse what no Markov process can be."""
    if isinstance(X, Rows):
        raise ValueError(
            'engine="markov" needs the observations in memory; compute the Dask collection first'
        )
    if X.shape[1] != 1:
        raise ValueError(f'engine="markov" is for one input, such as time; X has {X.shape[1]} columns')
    if kernel is not None:
        state_space(kernel)


def inducing_inputs(inducing: Inducing, kernel: Kernel, X: Inputs) -> FloatArray | None:
    """The inputs through which the process is seen; None for the exact process."""
    if inducing is None:
        if isinstance(X, Rows):
            raise ValueError('Dask inputs need inducing points: set inducing="auto" or to their number')
        return None
    if isinstance(inducing, str):
        if inducing != "auto":
            raise ValueError(f'inducing must be None, "auto", a number or an array, got {inducing!r}')
        exact = len(X) <= EXACT_ROWS and not isinstance(X, Rows)
        return None if exact else automatic_inputs(kernel, X, AUTO_COUNT)
    if np.ndim(inducing) == 0:
        check_positive("inducing", inducing, integer=True)
        return automatic_inputs(kernel, X, int(np.asarray(inducing)))
    Z = check_inputs(np.asarray(inducing), "inducing")
    if Z.shape[1] != X.shape[1]:
        raise ValueError(f"inducing has {Z.shape[1]} columns but X has {X.shape[1]}; they must match")
    return Z


def automatic_inputs(kernel: Kernel, X: Inputs, count: int) -> FloatArray:
    """Chosen with longer length scales: at the initial ones all inputs are equally far apart.

    Where few inputs tell all of so smooth a function, as along a line, shorter ones find more of them.
    """
    for log_factor in LENGTHS:
        chosen = chosen_inputs(lengthened(kernel, log_factor), X, count)
        if len(chosen) == min(count, len(X)):
            break
    return chosen


def fitted(method: Method, problem: Problem, *, optimise_inducing: bool) -> Fit:
    """The fit; or, if it is better, that with inducing inputs moved to where its bound is highest."""
    moving = optimise_inducing and problem.inducing is not None
    if moving:
        check_movable(problem)
    fit = method.fit(problem)
    if problem.inducing is None or not moving or fit.status is Status.STOPPED:
        return fit
    posterior = fit.posterior
    moved = moved_inputs(posterior.kernel, problem.X, posterior.sites, problem.inducing)
    again = method.fit(replace(problem, inducing=moved, resume=fit.resume))
    spent = fit.n_factorizations + again.n_factorizations
    return replace(again if again.bound > fit.bound else fit, n_factorizations=spent)


def check_movable(problem: Problem) -> None:
    """Refuse kernels without derivatives by their inputs, before anything is fitted."""
    try:
        problem.kernel.input_pullback(problem.X[np.arange(1)], None, np.zeros((1, 1)))
    except NotImplementedError as error:
        raise ValueError(f"optimise_inducing must be False: {error}") from None
