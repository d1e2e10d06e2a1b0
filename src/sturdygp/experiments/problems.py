"""Data of a task, which follow from its seeds and not from its method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.datasets.contamination import Outliers
from sturdygp.datasets.synthetic import make_gp_sample, make_synthetic
from sturdygp.datasets.tables import (
    Table,
    load_air_quality,
    load_energy,
    load_motorcycle,
    load_neal,
    load_yacht,
)
from sturdygp.experiments.task import NOISE, Task, check_member

# The paper tests on as many rows as it trains on in its figures.
N_TEST = 100
# The published benchmark splits 90 to 10.
TEST_FRACTION = 0.1


@dataclass(frozen=True, eq=False)
class Clean:
    """Training and test data before contamination.

    Errors are measured against ``truth``. ``function`` holds the noise-free values at the same inputs if they
    are known, ``noise_variance`` is that of the training observations.
    """

    X: FloatArray
    y: FloatArray
    X_test: FloatArray
    truth: FloatArray
    function: FloatArray | None = None
    noise_variance: float | None = None


@dataclass(frozen=True, eq=False)
class Data:
    """Contaminated training data, with the mask of outliers and their distribution if they have one."""

    X: FloatArray
    y: FloatArray
    mask: BoolArray
    clean: Clean
    outliers: Outliers | None

    @property
    def truth_is_noisy(self) -> bool:
        """Errors are measured against observations rather than against the function."""
        return self.clean.truth is not self.clean.function


def draw(task: Task) -> Data:
    """Draw the clean data with one seed, and the outliers with another.

    Raises
    ------
    DataFileError
        The file of a real data set does not exist and cannot be downloaded.
    """
    check_member("dataset", task.dataset, tuple(DATASETS))
    clean = DATASETS[task.dataset](task)
    contamination = task.fault.contamination(task.rate)
    if contamination is None:
        return Data(clean.X, clean.y, np.zeros(clean.y.shape, dtype=bool), clean, None)
    X, y, mask = contamination.contaminate(clean.X, clean.y, np.random.default_rng(task.fault_seed))
    return Data(X, y, mask, clean, task.fault.distribution)


def synthetic(task: Task) -> Clean:
    """Draw the paper's synthetic problem; errors are against the function."""
    noise = NOISE[task.convention].true
    drawn = make_synthetic(needed_rows(task), N_TEST, noise_variance=noise, seed=task.data_seed)
    return Clean(drawn.X, drawn.y, drawn.X_test, drawn.f_test, drawn.f_test, noise)


def random_rows(load: Callable[[], Table]) -> Callable[[Task], Clean]:
    """Sample a table as the paper does: random rows to train and to test on, standardised by the former."""

    def drawn(task: Task) -> Clean:
        table, n_train = load(), needed_rows(task)
        if len(table.y) < n_train + N_TEST:
            raise ValueError(
                f"{task.dataset} has {len(table.y)} rows, too few for {n_train} to train and {N_TEST} to "
                f"test on: n_train can be {len(table.y) - N_TEST} at most"
            )
        order = np.random.default_rng(task.data_seed).permutation(len(table.y))
        train, test = order[:n_train], order[n_train : n_train + N_TEST]
        X, y = (standardised(part, part[train], ddof=1) for part in (table.X, table.y))
        return Clean(X[train], y[train], X[test], y[test])

    return drawn


def random_split(load: Callable[[], Table]) -> Callable[[Task], Clean]:
    """Split a table as the published benchmark does: the first output, standardised as a whole, 90 to 10."""

    def drawn(task: Task) -> Clean:
        table = load()
        y = table.y if table.y.ndim == 1 else table.y[:, 0]
        X, y = (standardised(part, part, ddof=0) for part in (table.X, y))
        test, train = split(task, len(y))
        return Clean(X[train], y[train], X[test], y[test])

    return drawn


def gp_sample(task: Task) -> Clean:
    """Split the benchmark's synthetic data: one function for all trials, which differ in their splits."""
    sample = make_gp_sample()
    test, train = split(task, len(sample.y))
    return Clean(sample.X[train], sample.y[train], sample.X[test], sample.y[test], sample.f[test])


def split(task: Task, n: int) -> list[FloatArray]:
    """Draw the rows to test on and the rows to train on."""
    if task.n_train is not None:
        raise ValueError(f"{task.dataset} is split 90 to 10: n_train must be None, got {task.n_train!r}")
    order = np.random.default_rng(task.data_seed).permutation(n)
    return np.split(order, [round(TEST_FRACTION * n)])


def standardised(values: FloatArray, reference: FloatArray, *, ddof: int) -> FloatArray:
    """Standardise values by the mean and the standard deviation of a reference."""
    return np.asarray((values - reference.mean(axis=0)) / reference.std(axis=0, ddof=ddof))


def needed_rows(task: Task) -> int:
    """Return the number of rows to train on, which this data set requires."""
    if task.n_train is None:
        raise ValueError(f"{task.dataset} needs n_train, the number of rows to train on")
    return task.n_train


DATASETS: dict[str, Callable[[Task], Clean]] = {
    "synthetic": synthetic,
    "air-quality": random_rows(load_air_quality),
    "energy": random_rows(load_energy),
    "gp-sample": gp_sample,
    "energy-heating": random_split(load_energy),
    "yacht": random_split(load_yacht),
    "neal": random_split(load_neal),
    "motorcycle": random_split(load_motorcycle),
}
