"""Figures of fitted models with matplotlib, after scikit-learn's convention for displays.

A display is drawn on given axes, or on a new figure. Global settings of matplotlib do not change.
"""

from sturdygp.plot.calibration import CalibrationDisplay, plot_calibration
from sturdygp.plot.fit import FitDisplay, plot_fit
from sturdygp.plot.outliers import OutlierDisplay, plot_outliers
from sturdygp.plot.trace import TraceDisplay, plot_trace

__all__ = [
    "CalibrationDisplay",
    "FitDisplay",
    "OutlierDisplay",
    "TraceDisplay",
    "plot_calibration",
    "plot_fit",
    "plot_outliers",
    "plot_trace",
]
