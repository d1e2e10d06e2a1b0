"""Axes to draw on, and what of a model and its readings is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.estimators.base import BaseGPRegressor, FlaggingGPRegressor
from sturdygp.estimators.validation import input_names
from sturdygp.plot.canvas import look

HEIGHT_TO_WIDTH = 0.65
# Probability above which a reading is drawn as flagged.
THRESHOLD = 0.5


class Drawn:
    """A picture: the axes that it is on, and their figure."""

    ax_: Axes
    figure_: Figure

    @contextmanager
    def drawing(self, ax: Axes | None, width: float) -> Iterator[Axes]:
        """The given axes as they are, or those of a new figure of pyplot in our look."""
        if ax is None:
            with look():
                own = plt.figure(figsize=(width, HEIGHT_TO_WIDTH * width), layout="constrained")
                self.ax_, self.figure_ = own.subplots(), own
                yield self.ax_
            return
        figure = ax.get_figure(root=True)
        if figure is None:
            raise ValueError("the axes belong to no figure; make them with figure.subplots()")
        self.ax_, self.figure_ = ax, figure
        yield ax


def column_of(values: ArrayLike, output: int) -> FloatArray:
    """One output of readings, or of anything of their shape."""
    table = np.asarray(values, dtype=np.float64)
    table = table.reshape(len(table), -1)
    if not 0 <= output < table.shape[1]:
        raise ValueError(f"output must be from 0 to {table.shape[1] - 1}, got {output}")
    return table[:, output]


def check_length(y: ArrayLike, rows: int) -> None:
    """Refuse readings that do not go with so many rows of inputs."""
    count = len(np.asarray(y))
    if count != rows:
        raise ValueError(f"X has {rows} rows but y has {count}")


def proba_of(estimator: BaseGPRegressor, X: ArrayLike, y: ArrayLike) -> FloatArray | None:
    """Outlier probabilities of readings: those of the fit for the readings of the fit, else new ones."""
    if not isinstance(estimator, FlaggingGPRegressor):
        return None
    return estimator.outlier_proba_ if estimator.fitted_to(X, y) else estimator.outlier_proba(X, y)


def flagged(proba: FloatArray | None, output: int, threshold: float | None, n: int) -> BoolArray:
    """Which of n readings are probably faulty; none where nothing is told of them, or without a threshold."""
    if proba is None or threshold is None:
        return np.zeros(n, dtype=bool)
    return column_of(proba, output) > threshold


def feature_index(estimator: BaseGPRegressor, feature: int | str) -> int:
    """Which column of X a feature is."""
    names = input_names(estimator)
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"feature must be one of {', '.join(names)}; got {feature!r}")
        return names.index(feature)
    if not 0 <= feature < len(names):
        raise ValueError(f"feature must be from 0 to {len(names) - 1}, or a name; got {feature}")
    return feature
