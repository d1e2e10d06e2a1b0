"""The display of a fit."""

import numpy as np
import pandas as pd
import pytest
from references.plots import FAULTS, labels, problem

from sturdygp import StandardGPRegressor
from sturdygp.plot import FitDisplay, plot_fit


def test_fit_display_judges_as_many_new_observations_anew(fitted):
    model, X, y = fitted
    new = y.copy()
    new[[4, 19, 33]], new[50] = np.sin(X[[4, 19, 33], 0]), 6.0
    display = FitDisplay.from_estimator(model, X + 1e-3, new)
    assert np.flatnonzero(display.flagged).tolist() == [50]


def test_fit_display_judges_others_at_the_inputs_of_the_fit_anew(fitted):
    model, X, y = fitted
    other = y.copy()
    other[FAULTS], other[50] = [np.sin(X[4, 0]), np.nan, np.nan], 6.0
    assert np.flatnonzero(plot_fit(model, X, other).flagged).tolist() == [50]


def test_fit_display_shows_the_interval_and_the_flagged_observations(fitted):
    model, X, y = fitted
    display = FitDisplay.from_estimator(model, X, y)
    assert np.flatnonzero(display.flagged).tolist() == FAULTS
    assert labels(display.ax_) == ["fit, 95 % interval", "observations", "flagged"]
    mean, std = model.predict([[display.x[10]]], return_std=True, include_noise=True)
    assert display.mean[10] == pytest.approx(mean[0])
    assert display.upper[10] - display.mean[10] == pytest.approx(1.96 * std[0], rel=1e-3)
    assert display.figure_ is display.ax_.figure
    assert display.figure_.get_figwidth() == 5.0
    narrow = plot_fit(model, X, y, width=3.5)
    assert narrow.figure_.get_figwidth() == 3.5


def test_fit_display_over_one_of_several_inputs(several):
    model, X, Y = several
    display = FitDisplay.from_estimator(model, X, Y, feature="speed", output=1)
    assert display.ax_.get_xlabel() == "speed, other inputs at their medians"
    middle = [[X["depth"].median(), display.x[7]]]
    frame = pd.DataFrame(middle, columns=["depth", "speed"])
    assert display.mean[7] == pytest.approx(model.predict(frame)[0, 1])
    points = plot_fit(model, X, Y, feature=0, others="data")
    assert points.along == "points"
    assert points.ax_.get_xlabel() == "depth"
    np.testing.assert_allclose(points.mean, model.predict(X)[:, 0])


def test_fit_display_of_a_model_that_does_not_flag():
    X, y = problem()
    display = plot_fit(StandardGPRegressor().fit(X, y), X, y)
    assert labels(display.ax_) == ["fit, 95 % interval", "observations"]


def test_fit_display_judges_new_observations(fitted):
    model, _, _ = fitted
    X, y = problem(seed=5, n=45)
    assert np.flatnonzero(plot_fit(model, X, y).flagged).tolist() == FAULTS
