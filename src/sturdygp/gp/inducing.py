"""Where to put inducing inputs. Targets play no part, so that outliers do not either."""

from __future__ import annotations

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.rows import Inputs, Rows
from sturdygp.kernels.base import Kernel
from sturdygp.linalg import pivoted_cholesky

# More rows than this many for each inducing input add little to choose from.
ROWS_TO_CHOOSE_FROM = 20
# What a further input may add of the prior variance before it is left out as a repetition.
REPETITION = 1e-9


def chosen_inputs(kernel: Kernel, X: Inputs, count: int) -> FloatArray:
    """At most ``count`` rows of ``X``, each where the others tell least of the function.

    That is the greedy choice by conditional variance of Burt, Rasmussen and van der Wilk (2020). Of many
    rows, a sample is considered: the same one in whichever order they come, if they are an array.
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
