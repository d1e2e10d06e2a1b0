"""The synthetic problem of published benchmarks: a draw from a Gaussian process, read with noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.kernels.stationary import SquaredExponential
from sturdygp.linalg.cholesky import jittered_cholesky


@dataclass(frozen=True, eq=False)
class FunctionSample:
    """Clean readings ``y`` of a known function: ``f`` holds its values at the same inputs."""

    X: FloatArray
    y: FloatArray
    f: FloatArray


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

    The defaults are those of the benchmark by Altamirano, Briol and Knoblauch (2024), which splits the
    readings at random and spoils the training part: see :class:`~sturdygp.datasets.SymmetricShifts`.

    Parameters
    ----------
    n : int
        Readings, evenly spaced.
    low, high : float
        The first and the last input.
    variance, length_scale : float
        Of the kernel.
    noise_variance : float
        Of the normal noise in ``y``.
    seed : int
        Everything follows from it.

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
