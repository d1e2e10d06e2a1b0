"""Inducing inputs: chosen among the rows, independently of the targets, or moved to raise the ELBO."""

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
# Fraction of the prior variance below which a further input is left out as a repetition.
REPETITION = 1e-9
# Most L-BFGS steps that move inducing inputs.
MOVING_STEPS = 30


def chosen_inputs(kernel: Kernel, X: Inputs, count: int) -> FloatArray:
    """Choose at most ``count`` rows of ``X``, each with the largest variance given those before.

    This is the greedy selection by conditional variance of Burt, Rasmussen and van der Wilk (2020). Targets
    play no part, so that outliers do not either. Of many rows a sample is considered, which does not depend
    on the order of an array's rows.
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
    """Move inducing inputs to raise the ELBO, for given sites and parameters."""
    # With negative precisions, the ELBO would rise with the variance that inducing inputs leave out.
    trusted = Sites(sites.target, np.maximum(sites.precision, 0.0), sites.log_scale)
    std = Extent.of(X).std
    unit = np.where(std > 0.0, std, 1.0)

    def loss(z: FloatArray) -> tuple[float, FloatArray]:
        try:
            posterior = SparsePrior.at(kernel, X, z.reshape(Z.shape) * unit).condition(trusted)
        except NotPositiveDefiniteError:
            return np.inf, np.zeros_like(z)
        return -posterior.log_evidence, -(posterior.inducing_gradient() * unit).ravel()

    found = minimize(loss, (Z / unit).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": MOVING_STEPS})
    return np.asarray(found.x.reshape(Z.shape) * unit)
