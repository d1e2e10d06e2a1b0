"""Observations of which some rows are copies, and designed experiments."""

import numpy as np

N = 50


# Rows of a table that are there again, and which of them come in which order.
AGAIN = {
    "doubled": np.tile(np.arange(N), 2),
    "tripled": np.tile(np.arange(N), 3),
    "half": np.concatenate([np.arange(N), np.arange(0, N, 2)]),
    "block": np.concatenate([np.arange(N), np.arange(10, 25)]),
}


def readings(seed=0, step=0.0, n=N):
    """Readings of a function at inputs of their own, one in seven of them faulty."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, (n, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)
    y[::7] += 3.0
    return X, np.round(y / step) * step if step else y


def response(dose):
    return 10.0 / (1.0 + np.exp(6.0 - dose))


def replicates(doses, count, *, step=0.1, noise=0.1, faults=0.0, seed=0):
    """A designed experiment: several readings at each of some doses."""
    rng = np.random.default_rng(seed)
    dose = np.repeat(np.linspace(0.0, 12.0, doses), count)
    y = response(dose) + noise * rng.standard_normal(dose.size)
    faulty = rng.random(dose.size) < faults
    y[faulty] += rng.uniform(1.0, 9.0, faulty.sum())
    return dose[:, None], np.round(y / step) * step if step else y
