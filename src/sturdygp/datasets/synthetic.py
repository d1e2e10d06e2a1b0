"""The paper's synthetic problem (eq:synthetic_generation): two inputs, four correlated outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.datasets.contamination import Outliers, UniformOutliers, add_outliers

N_OUTPUTS = 4
HALF_WIDTH = 3.0
MIXING = 0.1


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training data with known outliers, and noise-free test values.

    ``outlier_mask`` has the shape of ``y``; ``f`` and ``f_test`` are the true function.
    """

    X: FloatArray
    y: FloatArray
    f: FloatArray
    outlier_mask: BoolArray
    X_test: FloatArray
    f_test: FloatArray


def make_synthetic(
    n_train: int = 100,
    n_test: int = 100,
    *,
    rate: float = 0.0,
    outliers: Outliers | None = None,
    noise_variance: float = 0.25,
    seed: int = 0,
) -> Dataset:
    """Draw the paper's synthetic problem.

    Parameters
    ----------
    n_train, n_test : int
        Points in each Latin hypercube on [-3, 3]^2.
    rate : float
        Probability that a training entry is contaminated.
    outliers : Outliers, optional
        What is added to a contaminated entry; U[0, 10] by default.
    noise_variance : float
        Nominal noise on outputs of unit variance.
    seed : int
        Everything follows from it.

    Examples
    --------
    >>> data = make_synthetic(50, rate=0.3, seed=1)
    >>> data.X.shape, data.y.shape, bool(data.outlier_mask.any())
    ((50, 2), (50, 4), True)
    """
    rng = np.random.default_rng(seed)
    X, X_test = latin_hypercube(n_train, rng), latin_hypercube(n_test, rng)
    f, f_test = clean_outputs(X), clean_outputs(X_test)
    centre, scale = f.mean(axis=0), f.std(axis=0, ddof=1)
    f, f_test = (f - centre) / scale, (f_test - centre) / scale
    nominal = f + np.sqrt(noise_variance) * rng.standard_normal(f.shape)
    y, mask = add_outliers(nominal, outliers or UniformOutliers(0.0, 10.0), rate=rate, rng=rng)
    return Dataset(X, y, f, mask, X_test, f_test)


def latin_hypercube(n: int, rng: np.random.Generator) -> FloatArray:
    """``n`` points on [-3, 3]^2."""
    unit = np.asarray(qmc.LatinHypercube(2, rng=rng).random(n))
    return HALF_WIDTH * (2.0 * unit - 1.0)


def clean_outputs(X: FloatArray) -> FloatArray:
    """The four mixed functions before they are standardised."""
    x1, x2 = X[:, :1], X[:, 1:]
    z1, z2 = (x1 + HALF_WIDTH) / (2.0 * HALF_WIDTH), (x2 + HALF_WIDTH) / (2.0 * HALF_WIDTH)
    j = np.arange(1, N_OUTPUTS + 1)
    common = 10.0 * np.sin(np.pi * z1 * z2) + 5.0
    own = 0.75 * np.sin((0.8 + 0.1 * j) * x1) + 0.5 * np.cos((0.6 + 0.05 * j) * x2) + 0.1 * j * x1
    mixing = (1.0 - MIXING) * np.eye(N_OUTPUTS) + MIXING
    return np.asarray((common + own) @ mixing)
