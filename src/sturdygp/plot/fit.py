"""Display of a fit over one input, with its interval, the observations, and the flagged ones."""

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
from sturdygp.plot.canvas import (
    BLUE,
    GREY,
    ORANGE,
    THRESHOLD,
    Display,
    check_length,
    column_of,
    feature_index,
    flagged,
    proba_of,
)

Others: TypeAlias = Literal["median", "data"]

# Points of the line.
GRID_POINTS = 300


@dataclass(eq=False)
class FitDisplay(Display):
    """Fit over one input.

    Parameters
    ----------
    x, mean, lower, upper : arrays of shape (m,)
        Inputs at which the fit is drawn, its mean, and the interval that holds a fraction ``level`` of the
        inliers.
    x_observed, y_observed : arrays of shape (n,)
        Inputs and values of the observations.
    flagged : array of bool of shape (n,)
        Mask of the observations that are probably outliers.
    level : float
        Probability of the interval.
    along : {"line", "points"}
        Shape of the fit: a line over x, or a point for each observation.
    labels : pair of str
        Labels of the axes.

    Attributes
    ----------
    ax_, figure_
        Axes and figure, once drawn.
    """

    x: FloatArray
    mean: FloatArray
    lower: FloatArray
    upper: FloatArray
    x_observed: FloatArray
    y_observed: FloatArray
    flagged: BoolArray
    level: float = 0.95
    along: Literal["line", "points"] = "line"
    labels: tuple[str, str] = ("input", "observation")

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
            Inputs and observations to draw. Those of the fit are drawn with the outlier probabilities of the
            fit; the probabilities of any others are computed as for new observations.
        feature : int or str
            Input on the horizontal axis, by number or by name.
        output : int
            Column of y.
        others : {"median", "data"}
            Treatment of the other inputs: the fit is a line with the other inputs at their medians, or a
            point for each observation.
        level : float
            Probability of the interval of inliers.
        threshold : float
            Outlier probability above which an observation is drawn as flagged.
        ax : Axes, optional
            Axes to draw on; those of a new figure by default.
        width : float
            Width of a new figure in inches.

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
        'observation'
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
            x_observed=inputs[:, index],
            y_observed=column_of(y, output),
            flagged=flagged(proba_of(estimator, X, y), output, threshold, len(inputs)),
            level=level,
            along="line" if sliced else "points",
            labels=(label_of(estimator, index, sliced=sliced), "observation"),
        )
        return display.plot(ax=ax, width=width)

    def plot(self, *, ax: Axes | None = None, width: float = 5.0) -> Self:
        """Draw on given axes, or on a new figure of a given width in inches."""
        with self.drawing(ax, width) as axes:
            label = f"fit, {100 * self.level:g} % interval"
            if self.along == "line":
                axes.fill_between(self.x, self.lower, self.upper, color=BLUE, alpha=0.2, lw=0)
                axes.plot(self.x, self.mean, color=BLUE, lw=1.3, label=label)
            else:
                axes.vlines(self.x, self.lower, self.upper, color=BLUE, alpha=0.3, lw=1.0)
                axes.scatter(self.x, self.mean, s=24, marker="_", color=BLUE, lw=1.3, label=label)
            kept, flagged = ~self.flagged, self.flagged
            axes.scatter(
                self.x_observed[kept], self.y_observed[kept], s=8, color=GREY, lw=0, label="observations"
            )
            if flagged.any():
                axes.scatter(
                    self.x_observed[flagged],
                    self.y_observed[flagged],
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
    """Make a grid over the range of one input, with the other inputs at their medians."""
    grid = np.tile(np.median(X, axis=0), (GRID_POINTS, 1))
    grid[:, index] = np.linspace(X[:, index].min(), X[:, index].max(), GRID_POINTS)
    return grid


def interval(
    estimator: BaseGPRegressor, where: FloatArray, X: Any, output: int, level: float
) -> tuple[FloatArray, FloatArray]:
    """Mean of the fit, and half the width of the interval of inliers."""
    columns = getattr(X, "columns", None)
    # A model that was fitted to a data frame needs the names of its columns.
    rows = where if columns is None else type(X)(where, columns=columns)
    mean, std = estimator.predict(rows, return_std=True, include_noise=True)
    return column_of(mean, output), float(ndtri(0.5 + 0.5 * level)) * column_of(std, output)


def label_of(estimator: BaseGPRegressor, index: int, *, sliced: bool) -> str:
    """Label of the horizontal axis: the input's name, and the treatment of the other inputs."""
    names = input_names(estimator)
    return names[index] + (", other inputs at their medians" if sliced and len(names) > 1 else "")


plot_fit = FitDisplay.from_estimator
