"""Display of the calibration of intervals: the fraction of observations inside, against their probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from scipy.special import ndtr
from scipy.stats import binom

from sturdygp._typing import FloatArray
from sturdygp.estimators.base import BaseGPRegressor, FlaggingGPRegressor
from sturdygp.plot.canvas import BLACK, BLUE, GREY, THRESHOLD, Display, check_length, column_of, flagged

LEVELS = np.linspace(0.01, 0.99, 99)
# Quantiles of the coverage that calibrated intervals have by chance, 19 times out of 20 between these.
CHANCE = (0.025, 0.975)


@dataclass(eq=False)
class CalibrationDisplay(Display):
    """Coverage of intervals against their probability.

    Parameters
    ----------
    level, coverage : arrays of shape (m,)
        Probability of each interval, and the fraction of observations inside.
    n_observations : int
        Number of observations; the band of chance follows from it.
    label : str
        Description of the observations.

    Attributes
    ----------
    ax_, figure_
        Axes and figure, once drawn.
    """

    level: FloatArray
    coverage: FloatArray
    n_observations: int
    label: str = "observations"

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseGPRegressor,
        X: ArrayLike | None,
        y: ArrayLike,
        *,
        output: int = 0,
        threshold: float | None = THRESHOLD,
        ax: Axes | None = None,
        width: float = 3.5,
    ) -> Self:
        """Compare the intervals of a model with observations.

        Parameters
        ----------
        estimator : fitted estimator of sturdygp
            The model.
        X, y : array-likes
            Held-out data; or None and the observations of the fit, which are predicted by leave-one-out.
        output : int
            Column of y.
        threshold : float or None
            Outlier probability above which observations are left out, because the intervals are those of
            inliers. None keeps all.
        ax : Axes, optional
            Axes to draw on; those of a new figure by default.
        width : float
            Width of a new figure in inches.
        """
        mean, std, proba = leave_one_out(estimator, y) if X is None else held_out(estimator, X, y)
        z = (column_of(y, output) - column_of(mean, output)) / column_of(std, output)
        kept = ~flagged(proba, output, threshold, len(z))
        how = "each left out" if X is None else "held out"
        return cls.of_residuals(z[kept], f"observations,\n{how}").plot(ax=ax, width=width)

    @classmethod
    def of_residuals(cls, z: FloatArray, label: str = "observations") -> Self:
        """Compute the coverage from residuals in predictive standard deviations; NaN is left out."""
        given = z[~np.isnan(z)]
        if not given.size:
            raise ValueError("no observation is left to compare the intervals with")
        # An observation lies in every interval whose level exceeds this.
        needed = 2.0 * ndtr(np.abs(given)) - 1.0
        coverage = np.array([np.mean(needed <= level) for level in LEVELS])
        return cls(LEVELS, coverage, int(given.size), label)

    def chance_band(self) -> tuple[FloatArray, FloatArray]:
        """Return the coverages between which calibrated intervals lie by chance."""
        low, high = (np.asarray(binom.ppf(tail, self.n_observations, self.level)) for tail in CHANCE)
        return low / self.n_observations, high / self.n_observations

    def plot(self, *, ax: Axes | None = None, width: float = 3.5) -> Self:
        """Draw on given axes, or on a new figure of a given width in inches."""
        with self.drawing(ax, width) as axes:
            low, high = self.chance_band()
            axes.fill_between(self.level, low, high, color=GREY, alpha=0.2, lw=0, label="chance")
            axes.plot([0.0, 1.0], [0.0, 1.0], color=BLACK, lw=0.6, ls="--", label="calibrated")
            label = f"{self.n_observations} {self.label}"
            axes.plot(self.level, self.coverage, color=BLUE, lw=1.3, label=label)
            axes.set(
                xlabel="probability of the interval",
                ylabel="fraction of observations inside",
                xlim=(0.0, 1.0),
                ylim=(0.0, 1.0),
                aspect="equal",
            )
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        return self


Prediction: TypeAlias = tuple[FloatArray, FloatArray, FloatArray | None]


def held_out(estimator: BaseGPRegressor, X: ArrayLike, y: ArrayLike) -> Prediction:
    """Mean and standard deviation of new observations, with outlier probabilities if the model has them."""
    mean, std = estimator.predict(X, return_std=True, include_noise=True)
    check_length(y, len(mean))
    return mean, std, estimator.outlier_proba(X, y) if isinstance(estimator, FlaggingGPRegressor) else None


def leave_one_out(estimator: BaseGPRegressor, y: ArrayLike) -> Prediction:
    """Leave-one-out mean and standard deviation of the observations of the fit, with their probabilities."""
    mean, std = estimator.leave_one_out(include_noise=True)
    if np.shape(y) != mean.shape:
        raise ValueError(f"y must be the observations of the fit, of shape {mean.shape}; got {np.shape(y)}")
    if not estimator.has_targets(y):
        raise ValueError("y must be the observations of the fit; give X, too, for others")
    return mean, std, getattr(estimator, "outlier_proba_", None)


plot_calibration = CalibrationDisplay.from_estimator
