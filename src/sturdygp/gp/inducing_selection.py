"""Where to put inducing inputs: chosen among the rows without a look at the targets, or moved uphill."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp.inputs import Extent, Inputs, Rows
from sturdygp.gp.sites import Sites
from sturdygp.gp.sparse import SparsePrior
from sturdygp.kernels.base import Kernel
from sturdygp.linalg.cholesky import pivoted_cholesky

# More rows than this many for each inducing input add little to choose from.
ROWS_TO_CHOOSE_FROM = 20
# What a further input may add of the prior variance before it is left out as a repetition.
REPETITION = 1e-9
# Steps by which inducing inputs are moved.
STEPS = 30


def chosen_inputs(kernel: Kernel, X: Inputs, count: int) -> FloatArray:
    """At most ``count`` rows of ``X``, each where the others tell least of the function.

    Targets play no part, so that outliers do not either. That is the greedy choice by conditional variance of
    Burt, Rasmussen and van der Wilk (2020). Of many rows, a sample is considered: the same one in whichever
    order they come, if they are an array.
    """
    most = min(len(X), ROWS_TO_CHOOSE_FROM * count)
    chosen = np.random.default_rng(0).choice(len(X), most, replace=False)
    candidates = X[chosen if isinstance(X, Rows) else np.lexsort(X.T)[chosen]]
    candidates = candidates[np.lexsort(candidates.T)]
    _, pivots = pivoted_cholesky(
        kernel.diag(candidates),
        lambda row: kernel(candidates, candidates[row : row + 1])[:, 0],
        min(count, len(candidates)),
        REPETITION,
    )
    return np.asarray(candidates[pivots])


def moved_inputs(kernel: Kernel, X: Inputs, sites: Sites, Z: FloatArray) -> FloatArray:
    """Inducing inputs nearer to where the bound is highest, for given sites and parameters."""
    # A site of negative precision would gain by what the inducing inputs do not tell.
    trusted = Sites(sites.target, np.maximum(sites.precision, 0.0), sites.log_scale)
    spread = Extent.of(X).std
    unit = np.where(spread > 0.0, spread, 1.0)

    def loss(z: FloatArray) -> tuple[float, FloatArray]:
        try:
            posterior = SparsePrior.at(kernel, X, z.reshape(Z.shape) * unit).condition(trusted)
        except NotPositiveDefiniteError:
            return np.inf, np.zeros_like(z)
        return -posterior.log_evidence, -(posterior.inducing_gradient() * unit).ravel()

    found = minimize(loss, (Z / unit).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(found.x.reshape(Z.shape) * unit)
