"""The display of calibration, and the left-out predictions it is made of."""

import numpy as np
from references.plots import FAULTS, problem

from sturdygp.plot import CalibrationDisplay, plot_calibration


def test_calibration_display_counts_observations_inside(fitted):
    model, _, y = fitted
    left_out = plot_calibration(model, None, y)
    assert left_out.n_observations == 57
    assert np.abs(left_out.coverage - left_out.level).max() < 0.2
    X_new, y_new = problem(seed=9, n=50)
    held_out = plot_calibration(model, X_new, y_new)
    assert held_out.n_observations == 47
    everything = CalibrationDisplay.from_estimator(model, X_new, y_new, threshold=None)
    assert everything.n_observations == 50
    perfect = CalibrationDisplay.of_residuals(np.array([0.0, np.nan, 10.0]))
    np.testing.assert_array_equal(perfect.coverage, 0.5)


def test_leave_one_out_of_an_outlier_hardly_changes_the_prediction(fitted):
    model, X, y = fitted
    mean, std = model.leave_one_out(include_noise=True)
    assert mean.shape == std.shape == y.shape
    # A far outlier says nothing, so that its prediction hardly changes without it.
    np.testing.assert_allclose(mean[FAULTS], model.predict(X[FAULTS]), atol=0.05)
    _, inner = model.leave_one_out()
    np.testing.assert_allclose(std**2 - inner**2, model.noise_variance_)
