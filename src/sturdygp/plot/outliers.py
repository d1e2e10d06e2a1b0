"""Display of the outlier probabilities of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sturdygp._typing import FloatArray
from sturdygp.estimators.base import BaseGPRegressor, FlaggingGPRegressor
from sturdygp.estimators.validation import input_names
from sturdygp.plot.canvas import BLACK, GREY, ORANGE, THRESHOLD, Display, column_of, feature_index


@dataclass(eq=False)
class OutlierDisplay(Display):
    """Outlier probability of each observation.

    Parameters
    ----------
    x : array of shape (n,)
        Values of one input, or the numbers of the observations.
    outlier_proba : array of shape (n,)
        Outlier probabilities; NaN for a missing observation.
    threshold : float
        Probability above which an observation is flagged.
    label : str
        Label of the horizontal axis.

    Attributes
    ----------
    ax_, figure_
        Axes and figure, once drawn.
    """

    x: FloatArray
    outlier_proba: FloatArray
    threshold: float = THRESHOLD
    label: str = "number of the observation"

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseGPRegressor,
        X: ArrayLike | None = None,
        *,
        feature: int | str = 0,
        output: int = 0,
        threshold: float = THRESHOLD,
        ax: Axes | None = None,
        width: float = 5.0,
    ) -> Self:
        """Draw the outlier probabilities of a fit.

        Parameters
        ----------
        estimator : fitted estimator with outlier probabilities
            The model.
        X : array-like of shape (n, d), optional
            Inputs of the fit, to draw the probabilities over one of them instead of in their order.
        feature : int or str
            Input on the horizontal axis, by number or by name.
        output : int
            Column of y.
        threshold : float
            Probability above which an observation is drawn as flagged.
        ax : Axes, optional
            Axes to draw on; those of a new figure by default.
        width : float
            Width of a new figure in inches.
        """
        check_is_fitted(estimator)
        if not isinstance(estimator, FlaggingGPRegressor):
            raise ValueError(
                f"{type(estimator).__name__} has no outlier probabilities; use RobustGPRegressor"
            )
        proba = column_of(estimator.outlier_proba_, output)
        if X is None:
            return cls(np.arange(1.0, len(proba) + 1.0), proba, threshold).plot(ax=ax, width=width)
        index, inputs = feature_index(estimator, feature), np.asarray(X, dtype=np.float64)
        if len(inputs) != len(proba):
            raise ValueError(f"X has {len(inputs)} rows but the model was fitted to {len(proba)}")
        label = input_names(estimator)[index]
        return cls(inputs[:, index], proba, threshold, label).plot(ax=ax, width=width)

    def plot(self, *, ax: Axes | None = None, width: float = 5.0) -> Self:
        """Draw on given axes, or on a new figure of a given width in inches."""
        flagged = self.outlier_proba > self.threshold
        with self.drawing(ax, width) as axes:
            axes.vlines(self.x[flagged], 0.0, self.outlier_proba[flagged], color=ORANGE, lw=0.8, alpha=0.6)
            kept = ~flagged
            axes.scatter(self.x[kept], self.outlier_proba[kept], s=8, color=GREY, lw=0, label="kept")
            axes.scatter(
                self.x[flagged],
                self.outlier_proba[flagged],
                s=14,
                marker="D",
                color=ORANGE,
                lw=0,
                label="flagged",
            )
            axes.axhline(self.threshold, color=BLACK, lw=0.6, ls="--", label="threshold")
            axes.set(xlabel=self.label, ylabel="outlier probability", ylim=(-0.03, 1.05))
            axes.legend(
                loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False, borderaxespad=0.2
            )
        return self


plot_outliers = OutlierDisplay.from_estimator
