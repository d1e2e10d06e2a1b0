"""A sine with outliers, and what is written on axes."""

import numpy as np
from matplotlib.figure import Figure

FAULTS = [4, 19, 33]


def problem(seed=0, n=60):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(0.0, 8.0, n))[:, None]
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)
    y[FAULTS] += 4.0
    return X, y


def labels(ax):
    return ax.get_legend_handles_labels()[1]


def removed_axes():
    ax = Figure().subplots()
    ax.remove()
    return ax
