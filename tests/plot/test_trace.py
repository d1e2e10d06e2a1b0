"""The display of convergence."""

import numpy as np
from references.plots import labels

from sturdygp.plot import TraceDisplay, plot_trace


def test_trace_display_shows_each_output_with_its_status(fitted, several):
    display = TraceDisplay.from_estimator(fitted[0])
    assert labels(display.ax_) == ["converged"]
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), fitted[0].trace_)
    assert labels(plot_trace(several[0]).ax_) == ["output 0: converged", "output 1: converged"]
