"""Where to put inducing inputs. Targets play no part, so that outliers do not either."""

from __future__ import annotations

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.kernels.base import Kernel
from sturdygp.linalg import pivoted_cholesky

# More rows than this many for each inducing input add little to choose from.
ROWS_TO_CHOOSE_FROM = 20
# What a further input may add of the prior variance before it is left out as a repetition.
REPETITION = 1e-9


def chosen_inputs(kernel: Kernel, X: FloatArray, count: int) -> FloatArray:
    """At most ``count`` rows of ``X``, each where the others tell least of the function.

    That is the greedy choice by conditional variance of Burt, Rasmussen and van der Wilk (2020). Of many
    rows, a sample is considered: the same one in whichever order they come.
    """
    candidates = X[np.lexsort(X.T)]
    most = ROWS_TO_CHOOSE_FROM * count
    if len(X) > most:
        candidates = candidates[np.random.default_rng(0).choice(len(X), most, replace=False)]
    _, pivots = pivoted_cholesky(
        kernel.diag(candidates),
        lambda row: kernel(candidates, candidates[row : row + 1])[:, 0],
        min(count, len(candidates)),
        REPETITION,
    )
    return np.asarray(candidates[pivots])
