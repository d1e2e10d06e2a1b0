"""The display of outlier probabilities."""

import numpy as np

from sturdygp.plot import OutlierDisplay, plot_outliers


def test_outlier_display_shows_probabilities_by_number_or_input(fitted, several):
    model, X, _ = fitted
    display = plot_outliers(model)
    np.testing.assert_array_equal(display.outlier_proba, model.outlier_proba_)
    assert display.ax_.get_xlabel() == "number of the observation"
    over = OutlierDisplay.from_estimator(model, X, threshold=0.9)
    np.testing.assert_array_equal(over.x, X[:, 0])
    named, frame, _ = several
    assert plot_outliers(named, frame, feature="speed", output=1).ax_.get_xlabel() == "speed"
