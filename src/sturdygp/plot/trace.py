"""Display of the convergence of a fit: the log evidence, or its lower bound (ELBO), by iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from sklearn.utils.validation import check_is_fitted

from sturdygp._typing import FloatArray
from sturdygp.estimators.base import BaseGPRegressor
from sturdygp.plot.canvas import BLUE, GREEN, GREY, ORANGE, PURPLE, YELLOW, Display

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, YELLOW, GREY)
# With more outputs the legend would cover the curves.
MOST_NAMED = 6


@dataclass(eq=False)
class TraceDisplay(Display):
    """Convergence of a fit.

    Parameters
    ----------
    traces : list of arrays
        For each output the ELBO or log evidence after each iteration, in the units of y.
    statuses : list of str
        Status of the fit of each output.

    Attributes
    ----------
    ax_, figure_
        Axes and figure, once drawn.
    """

    traces: list[FloatArray]
    statuses: list[str]

    @classmethod
    def from_estimator(
        cls, estimator: BaseGPRegressor, *, ax: Axes | None = None, width: float = 5.0
    ) -> Self:
        """Draw the convergence of a model, one line for each output.

        Parameters
        ----------
        estimator : fitted estimator of sturdygp
            The model.
        ax : Axes, optional
            Axes to draw on; those of a new figure by default.
        width : float
            Width of a new figure in inches.
        """
        check_is_fitted(estimator)
        several = isinstance(estimator.trace_, list)
        traces = estimator.trace_ if several else [estimator.trace_]
        statuses = estimator.status_ if several else [estimator.status_]
        names = [status.name.lower().replace("_", " ") for status in statuses]
        return cls([np.asarray(trace) for trace in traces], names).plot(ax=ax, width=width)

    def plot(self, *, ax: Axes | None = None, width: float = 5.0) -> Self:
        """Draw on given axes, or on a new figure of a given width in inches."""
        with self.drawing(ax, width) as axes:
            for index, (trace, status) in enumerate(zip(self.traces, self.statuses, strict=True)):
                colour = COLOURS[index % len(COLOURS)]
                steps = np.arange(1, len(trace) + 1)
                name = f"output {index}: {status}" if len(self.traces) > 1 else status
                axes.plot(steps, trace, color=colour, lw=1.2, marker=".", ms=4, label=name)
            axes.set(xlabel="iteration", ylabel="bound on the log evidence")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            if len(self.traces) <= MOST_NAMED:
                axes.legend(loc="lower right", frameon=False)
        return self


plot_trace = TraceDisplay.from_estimator
