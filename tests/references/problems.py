"""Problems that tests of several modules share."""

from math import exp, log

import numpy as np

from sturdygp.datasets import make_synthetic
from sturdygp.inference.problem import Problem, default_kernel


def make_problem(n=30, rate=0.3, seed=0, kernel=None):
    data = make_synthetic(n, 1, rate=rate, seed=seed)
    return Problem(data.X, data.y[:, 0], kernel or default_kernel(data.X), np.random.default_rng(0))


def random_problem(seed):
    """Gross outliers, tiny noise, clustered and repeated inputs, dof from 1.5 to 30."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 60)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d))
    if rng.uniform() < 0.4:
        X = X[rng.integers(0, max(2, n // 4), n)] + 1e-3 * rng.normal(size=(n, d))
    if rng.uniform() < 0.2:
        X[n // 2 :] = X[: n - n // 2]
    y = np.sin(2 * X[:, 0]) + X[:, -1] * (rng.uniform() < 0.5)
    y = y + 10 ** rng.uniform(-5, 0) * rng.standard_t(3, size=n)
    bad = rng.uniform(size=n) < rng.choice([0, 0.1, 0.3, 0.5])
    y[bad] += rng.choice([-1, 1], bad.sum()) * 10 ** rng.uniform(0, 4, bad.sum())
    scaled = (y - np.median(y)) / (1.4826 * np.median(np.abs(y - np.median(y))))
    dof = exp(rng.uniform(log(1.5), log(30)))
    return Problem(X, scaled, default_kernel(X), rng), dof


def noisy_sine(n=40, d=2, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + np.sqrt(noise) * rng.normal(size=n) + 3.0
    return X, y, rng


GRID = np.linspace(0.0, 10.0, 80)


def peak(seed, noise):
    """A peak of five on a slope, six hundredths of the range wide at half of its height, and noise."""
    rng = np.random.default_rng(seed)
    f = 5.0 * np.exp(-0.5 * ((GRID - rng.uniform(3, 7)) / 0.25) ** 2) + 0.1 * GRID
    return f, f + noise * rng.standard_normal(f.size)


def growing(n=100, seed=0, rate=0.0):
    """A wave between 1 and 9 with noise of a tenth of its value, and outliers at this rate."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0.0, 10.0, n))
    f = 5.0 + 4.0 * np.sin(x)
    noise = 0.1 * f
    outlier = rng.uniform(size=n) < rate
    return x[:, None], f + noise * rng.normal(size=n) + 12.0 * outlier, f, noise, outlier


def contaminated(n=80):
    """A sine with a tenth of its observations too high."""
    x, rng = np.linspace(0, 6, n)[:, None], np.random.default_rng(0)
    f = np.sin(x[:, 0])
    y = f + 0.1 * rng.standard_normal(n)
    y[::8] += 4.0
    return x, f, y
