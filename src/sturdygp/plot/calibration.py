"""Whether intervals hold what they promise: the share of readings inside, against the nominal one."""

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
from sturdygp.plot.axes import THRESHOLD, Drawn, check_length, column_of, flagged
from sturdygp.plot.palette import BLACK, BLUE, GREY

LEVELS = np.linspace(0.01, 0.99, 99)
# Where the share of readings inside lies by chance alone, 19 times out of 20.
CHANCE = (0.025, 0.975)


@dataclass(eq=False)
class CalibrationDisplay(Drawn):
    """Nominal and actual coverage of intervals.

    Parameters
    ----------
    nominal, actual : arrays of shape (m,)
        The share of readings that intervals should hold, and the share that they do hold.
    n_readings : int
        How many readings were compared; the band shows what chance does to so many.
    label : str
        What was compared.

    Attributes
    ----------
    ax_, figure_
        Axes and figure, once it is drawn.
    """

    nominal: FloatArray
    actual: FloatArray
    n_readings: int
    label: str = "readings"

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
        """Compare the intervals of a model with readings.

        Parameters
        ----------
        estimator : fitted estimator of sturdygp
            The model.
        X, y : array-likes
            Readings that were held out; or None and the readings of the fit, each of which is predicted from
            the others.
        output : int
            Which column of y.
        threshold : float or None
            Readings with a higher outlier probability are left out: the intervals are those of nominal
            readings. None keeps all.
        ax : Axes, optional
            Where to draw; a new figure of the given width in inches by default.
        width : float
            For a new figure.
        """
        mean, std, proba = left_out(estimator, y) if X is None else held_out(estimator, X, y)
        z = (column_of(y, output) - column_of(mean, output)) / column_of(std, output)
        kept = ~flagged(proba, output, threshold, len(z))
        how = "each left out" if X is None else "held out"
        return cls.of_residuals(z[kept], f"readings,\n{how}").plot(ax=ax, width=width)

    @classmethod
    def of_residuals(cls, z: FloatArray, label: str = "readings") -> Self:
        """From residuals in predictive standard deviations; NaN is left out."""
        given = z[~np.isnan(z)]
        if not given.size:
            raise ValueError("no reading is left to compare the intervals with")
        # A reading lies in every interval whose level exceeds this.
        needed = 2.0 * ndtr(np.abs(given)) - 1.0
        actual = np.array([np.mean(needed <= level) for level in LEVELS])
        return cls(LEVELS, actual, int(given.size), label)

    def chance(self) -> tuple[FloatArray, FloatArray]:
        """Between which shares the actual one lies by chance, if the intervals hold what they promise."""
        low, high = (np.asarray(binom.ppf(tail, self.n_readings, self.nominal)) for tail in CHANCE)
        return low / self.n_readings, high / self.n_readings

    def plot(self, *, ax: Axes | None = None, width: float = 3.5) -> Self:
        """Draw on axes, or on a new figure of a width in inches."""
        with self.drawing(ax, width) as axes:
            low, high = self.chance()
            axes.fill_between(self.nominal, low, high, color=GREY, alpha=0.2, lw=0, label="chance")
            axes.plot([0.0, 1.0], [0.0, 1.0], color=BLACK, lw=0.6, ls="--", label="as promised")
            axes.plot(self.nominal, self.actual, color=BLUE, lw=1.3, label=f"{self.n_readings} {self.label}")
            axes.set(
                xlabel="nominal share inside the interval",
                ylabel="actual share inside",
                xlim=(0.0, 1.0),
                ylim=(0.0, 1.0),
                aspect="equal",
            )
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        return self


Prediction: TypeAlias = tuple[FloatArray, FloatArray, FloatArray | None]


def held_out(estimator: BaseGPRegressor, X: ArrayLike, y: ArrayLike) -> Prediction:
    """Mean and standard deviation of new readings, and how probably they are outliers if that is told."""
    mean, std = estimator.predict(X, return_std=True, include_noise=True)
    check_length(y, len(mean))
    return mean, std, estimator.outlier_proba(X, y) if isinstance(estimator, FlaggingGPRegressor) else None


def left_out(estimator: BaseGPRegressor, y: ArrayLike) -> Prediction:
    """The same for each reading of the fit, predicted from the others."""
    mean, std = estimator.leave_one_out(include_noise=True)
    if np.shape(y) != mean.shape:
        raise ValueError(f"y must be the readings of the fit, of shape {mean.shape}; got {np.shape(y)}")
    if not estimator.has_readings(y):
        raise ValueError("y must be the readings of the fit; give X, too, for others")
    return mean, std, getattr(estimator, "outlier_proba_", None)


plot_calibration = CalibrationDisplay.from_estimator
