"""Synthetic problems: that of the paper (eq:synthetic_generation), and that of published benchmarks.

The paper's problem has two inputs and four correlated outputs. The problem of published benchmarks is a
function of one input, drawn from a Gaussian process and observed with noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.datasets.contamination import Outliers, UniformOutliers, add_outliers
from sturdygp.kernels.stationary import SquaredExponential
from sturdygp.linalg.cholesky import jittered_cholesky

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


@dataclass(frozen=True, eq=False)
class FunctionSample:
    """Clean observations ``y`` of a known function: ``f`` holds its values at the same inputs."""

    X: FloatArray
    y: FloatArray
    f: FloatArray


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
        Distribution of what is added to a contaminated entry; U[0, 10] by default.
    noise_variance : float
        Variance of the inlier noise, on outputs of unit variance.
    seed : int
        Seed of all random numbers.

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
    clean = f + np.sqrt(noise_variance) * rng.standard_normal(f.shape)
    y, mask = add_outliers(clean, outliers or UniformOutliers(0.0, 10.0), rate=rate, rng=rng)
    return Dataset(X, y, f, mask, X_test, f_test)


def latin_hypercube(n: int, rng: np.random.Generator) -> FloatArray:
    """Draw ``n`` points on [-3, 3]^2."""
    unit = np.asarray(qmc.LatinHypercube(2, rng=rng).random(n))
    return HALF_WIDTH * (2.0 * unit - 1.0)


def clean_outputs(X: FloatArray) -> FloatArray:
    """Return the four mixed functions before they are standardised."""
    x1, x2 = X[:, :1], X[:, 1:]
    z1, z2 = (x1 + HALF_WIDTH) / (2.0 * HALF_WIDTH), (x2 + HALF_WIDTH) / (2.0 * HALF_WIDTH)
    j = np.arange(1, N_OUTPUTS + 1)
    common = 10.0 * np.sin(np.pi * z1 * z2) + 5.0
    own = 0.75 * np.sin((0.8 + 0.1 * j) * x1) + 0.5 * np.cos((0.6 + 0.05 * j) * x2) + 0.1 * j * x1
    mixing = (1.0 - MIXING) * np.eye(N_OUTPUTS) + MIXING
    return np.asarray((common + own) @ mixing)


def make_gp_sample(
    n: int = 300,
    *,
    low: float = 0.0,
    high: float = 20.0,
    variance: float = 1.0,
    length_scale: float = 1.0,
    noise_variance: float = 0.01,
    seed: int = 0,
) -> FunctionSample:
    """Draw a function of one input from a Gaussian process with a squared exponential kernel.

    The defaults are those of the benchmark by Altamirano, Briol and Knoblauch (2024). It splits the
    observations at random and contaminates the training part: see
    :class:`~sturdygp.datasets.SymmetricShifts`.

    Parameters
    ----------
    n : int
        Number of observations, at evenly spaced inputs.
    low, high : float
        The first and the last input.
    variance, length_scale : float
        Parameters of the kernel.
    noise_variance : float
        Variance of the normal noise in ``y``.
    seed : int
        Seed of all random numbers.

    Examples
    --------
    >>> sample = make_gp_sample(seed=1)
    >>> sample.X.shape, sample.y.shape, sample.f.shape
    ((300, 1), (300,), (300,))
    """
    if not (n >= 1 and low < high and noise_variance >= 0.0):
        raise ValueError(
            "make_gp_sample needs n >= 1, low < high and noise_variance >= 0, "
            f"got n={n!r}, low={low!r}, high={high!r}, noise_variance={noise_variance!r}"
        )
    rng = np.random.default_rng(seed)
    X = np.linspace(low, high, n)[:, None]
    factor = jittered_cholesky(SquaredExponential(variance=variance, length_scale=length_scale)(X))
    f = factor.lower @ rng.standard_normal(n)
    return FunctionSample(X, f + np.sqrt(noise_variance) * rng.standard_normal(n), f)
