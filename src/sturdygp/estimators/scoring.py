"""The score of scikit-learn's regressors, with missing readings."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import r2_score

from sturdygp._typing import FloatArray


def mean_r2(y: FloatArray, predicted: FloatArray, weight: FloatArray) -> float:
    """Coefficient of determination of what is not missing, averaged over the columns that have readings."""
    given = ~np.isnan(y)
    if not given.any():
        raise ValueError("y has no reading at all; there is nothing to score")
    columns = zip(y.T, predicted.T, given.T, strict=True)
    return float(np.mean([r2_score(t[g], p[g], sample_weight=weight[g]) for t, p, g in columns if g.any()]))
