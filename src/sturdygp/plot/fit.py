"""The fit over one input, with its interval, the readings, and those that are flagged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.estimators.base import BaseGPRegressor
from sturdygp.estimators.validation import check_choice, input_names
from sturdygp.plot.axes import (
    THRESHOLD,
    Drawn,
    check_length,
    column_of,
    feature_index,
    flagged,
    proba_of,
)
from sturdygp.plot.palette import BLUE, GREY, ORANGE

Others: TypeAlias = Literal["median", "data"]

# Points of a line.
GRID = 300


@dataclass(eq=False)
class FitDisplay(Drawn):
    """The fit over one input.

    Parameters
    ----------
    x, mean, lower, upper : arrays of shape (m,)
        Where the fit is shown, and the interval in which ``level`` of nominal readings lie.
    x_readings, readings : arrays of shape (n,)
        The readings.
    flagged : array of bool of shape (n,)
        Which of them are probably faulty.
    along : {"line", "points"}
        Whether the fit is a line over x, or a point for each reading.
    labels : pair of str
        What stands at the axes.

    Attributes
    ----------
    ax_, figure_
        Axes and figure, once it is drawn.
    """

    x: FloatArray
    mean: FloatArray
    lower: FloatArray
    upper: FloatArray
    x_readings: FloatArray
    readings: FloatArray
    flagged: BoolArray
    level: float = 0.95
    along: Literal["line", "points"] = "line"
    labels: tuple[str, str] = ("input", "reading")

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseGPRegressor,
        X: ArrayLike,
        y: ArrayLike,
        *,
        feature: int | str = 0,
        output: int = 0,
        others: Others = "median",
        level: float = 0.95,
        threshold: float = THRESHOLD,
        ax: Axes | None = None,
        width: float = 5.0,
    ) -> Self:
        """Draw a fitted model.

        Parameters
        ----------
        estimator : fitted estimator of sturdygp
            The model.
        X, y : array-likes
            The readings to show, as a rule those of the fit, with the flags that it gave them. Others are
            judged as new readings.
        feature : int or str
            The input along which to show them.
        output : int
            Which column of y.
        others : {"median", "data"}
            With several inputs: the fit as a line with the other inputs at their medians, or as a point for
            each reading.
        level : float
            Share of nominal readings within the interval.
        threshold : float
            Outlier probability above which a reading is drawn as flagged.
        ax : Axes, optional
            Where to draw; a new figure of the given width in inches by default.
        width : float
            For a new figure.

        Examples
        --------
        >>> import numpy as np
        >>> from sturdygp import RobustGPRegressor
        >>> from sturdygp.plot import FitDisplay
        >>> x = np.linspace(0, 6, 40)[:, None]
        >>> y = np.sin(x[:, 0]) + 0.05 * np.cos(40 * x[:, 0])
        >>> y[7] = 5.0
        >>> display = FitDisplay.from_estimator(RobustGPRegressor().fit(x, y), x, y)
        >>> display.ax_.get_ylabel()
        'reading'
        """
        check_is_fitted(estimator)
        check_choice("others", others, get_args(Others))
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must be between 0 and 1, got {level!r}")
        inputs, index = np.asarray(X, dtype=np.float64), feature_index(estimator, feature)
        check_length(y, len(inputs))
        sliced = others == "median" or inputs.shape[1] == 1
        where = slice_through(inputs, index) if sliced else inputs
        mean, half = interval(estimator, where, X, output, level)
        display = cls(
            x=where[:, index],
            mean=mean,
            lower=mean - half,
            upper=mean + half,
            x_readings=inputs[:, index],
            readings=column_of(y, output),
            flagged=flagged(proba_of(estimator, X, y), output, threshold, len(inputs)),
            level=level,
            along="line" if sliced else "points",
            labels=(label_of(estimator, index, sliced=sliced), "reading"),
        )
        return display.plot(ax=ax, width=width)

    def plot(self, *, ax: Axes | None = None, width: float = 5.0) -> Self:
        """Draw on axes, or on a new figure of a width in inches."""
        with self.drawing(ax, width) as axes:
            label = f"fit, {100 * self.level:g} % interval"
            if self.along == "line":
                axes.fill_between(self.x, self.lower, self.upper, color=BLUE, alpha=0.2, lw=0)
                axes.plot(self.x, self.mean, color=BLUE, lw=1.3, label=label)
            else:
                axes.vlines(self.x, self.lower, self.upper, color=BLUE, alpha=0.3, lw=1.0)
                axes.scatter(self.x, self.mean, s=24, marker="_", color=BLUE, lw=1.3, label=label)
            good, bad = ~self.flagged, self.flagged
            axes.scatter(self.x_readings[good], self.readings[good], s=8, color=GREY, lw=0, label="readings")
            if bad.any():
                axes.scatter(
                    self.x_readings[bad],
                    self.readings[bad],
                    s=16,
                    marker="o",
                    facecolors="none",
                    edgecolors=ORANGE,
                    lw=0.9,
                    label="flagged",
                )
            axes.set(xlabel=self.labels[0], ylabel=self.labels[1])
            axes.legend(
                loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False, borderaxespad=0.2
            )
        return self


def slice_through(X: FloatArray, index: int) -> FloatArray:
    """A grid over the range of one input, the others at their medians."""
    grid = np.tile(np.median(X, axis=0), (GRID, 1))
    grid[:, index] = np.linspace(X[:, index].min(), X[:, index].max(), GRID)
    return grid


def interval(
    estimator: BaseGPRegressor, where: FloatArray, X: Any, output: int, level: float
) -> tuple[FloatArray, FloatArray]:
    """Mean, and half the width of the interval of nominal readings."""
    columns = getattr(X, "columns", None)
    # A model that was fitted to a frame wants the names of its columns.
    rows = where if columns is None else type(X)(where, columns=columns)
    mean, std = estimator.predict(rows, return_std=True, include_noise=True)
    return column_of(mean, output), float(ndtri(0.5 + 0.5 * level)) * column_of(std, output)


def label_of(estimator: BaseGPRegressor, index: int, *, sliced: bool) -> str:
    """The name of the input, and what holds for the others."""
    names = input_names(estimator)
    return names[index] + (", other inputs at their medians" if sliced and len(names) > 1 else "")


plot_fit = FitDisplay.from_estimator
