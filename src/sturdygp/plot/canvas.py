"""Colours and style of every figure, and the axes that a display is drawn on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.estimators.base import BaseGPRegressor, FlaggingGPRegressor
from sturdygp.estimators.validation import input_names

# Okabe and Ito's colours, which colour-blind readers can tell apart.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#6E6E6E"
GREEN, PURPLE, YELLOW = "#009E73", "#CC79A7", "#E69F00"
BLACK, SILVER, SKY = "#000000", "#999999", "#56B4E9"
# Points. Legible where a journal prints a column 3.5 inches wide.
TEXT, SMALL_TEXT = 8.0, 7.0
STYLE: dict[str, Any] = {
    "font.size": TEXT,
    "axes.titlesize": TEXT,
    "axes.labelsize": TEXT,
    "xtick.labelsize": SMALL_TEXT,
    "ytick.labelsize": SMALL_TEXT,
    "legend.fontsize": SMALL_TEXT,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.linewidth": 0.3,
    "grid.color": "#D0D0D0",
    # Letters stay letters in a PDF.
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
}
HEIGHT_TO_WIDTH = 0.65
# Outlier probability above which an observation is drawn as flagged.
THRESHOLD = 0.5


# ------------------------------------------------------------------------------- style and files


def figure_style() -> AbstractContextManager[None]:
    """Style for figures that are made or saved within the context; the global style does not change."""
    return style.context(STYLE)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG or PDF, according to the ending of the file.

    Raises
    ------
    ValueError
        The ending is not that of a format in which figures can be written.
    """
    with figure_style():
        figure.savefig(path)


class Display:
    """Drawing of a fitted model: its axes and their figure."""

    ax_: Axes
    figure_: Figure

    @contextmanager
    def drawing(self, ax: Axes | None, width: float) -> Iterator[Axes]:
        """Yield the given axes as they are, or those of a new pyplot figure in the library's style."""
        if ax is None:
            with figure_style():
                own = plt.figure(figsize=(width, HEIGHT_TO_WIDTH * width), layout="constrained")
                self.ax_, self.figure_ = own.subplots(), own
                yield self.ax_
            return
        figure = ax.get_figure(root=True)
        if figure is None:
            raise ValueError("the axes belong to no figure; make them with figure.subplots()")
        self.ax_, self.figure_ = ax, figure
        yield ax


# --------------------------------------------------------------------- what a display is drawn from


def column_of(values: ArrayLike, output: int) -> FloatArray:
    """Select one output of an array with a row for each observation."""
    table = np.asarray(values, dtype=np.float64)
    table = table.reshape(len(table), -1)
    if not 0 <= output < table.shape[1]:
        raise ValueError(f"output must be from 0 to {table.shape[1] - 1}, got {output}")
    return table[:, output]


def check_length(y: ArrayLike, rows: int) -> None:
    """Refuse observations whose number is not that of the rows of inputs."""
    count = len(np.asarray(y))
    if count != rows:
        raise ValueError(f"X has {rows} rows but y has {count}")


def proba_of(estimator: BaseGPRegressor, X: ArrayLike, y: ArrayLike) -> FloatArray | None:
    """Outlier probabilities of observations: those of the fit if it used these, else those of new ones."""
    if not isinstance(estimator, FlaggingGPRegressor):
        return None
    return estimator.outlier_proba_ if estimator.fitted_to(X, y) else estimator.outlier_proba(X, y)


def flagged(proba: FloatArray | None, output: int, threshold: float | None, n: int) -> BoolArray:
    """Return which of n observations are probably outliers; none without probabilities or a threshold."""
    if proba is None or threshold is None:
        return np.zeros(n, dtype=bool)
    return column_of(proba, output) > threshold


def feature_index(estimator: BaseGPRegressor, feature: int | str) -> int:
    """Return the column of X that a feature is, given its number or its name."""
    names = input_names(estimator)
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"feature must be one of {', '.join(names)}; got {feature!r}")
        return names.index(feature)
    if not 0 <= feature < len(names):
        raise ValueError(f"feature must be from 0 to {len(names) - 1}, or a name; got {feature}")
    return feature
