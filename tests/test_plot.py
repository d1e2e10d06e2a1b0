"""Pictures: what is drawn is what was found, and nothing global is touched."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

import sturdygp
from sturdygp import RobustGPRegressor, StandardGPRegressor
from sturdygp.plot import (
    CalibrationDisplay,
    FitDisplay,
    OutlierDisplay,
    TraceDisplay,
    plot_calibration,
    plot_fit,
    plot_outliers,
    plot_trace,
)
from sturdygp.plot.canvas import proba_of

FILES = Path(__file__).parent / "files"
FAULTS = [4, 19, 33]


def problem(seed=0, n=60):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(0.0, 8.0, n))[:, None]
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)
    y[FAULTS] += 4.0
    return X, y


@pytest.fixture(scope="module")
def fitted():
    X, y = problem()
    return RobustGPRegressor().fit(X, y), X, y


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.uniform(0.0, 6.0, (50, 2)), columns=["depth", "speed"])
    Y = np.stack([np.sin(X["depth"]), X["speed"]], axis=1) + 0.1 * rng.standard_normal((50, 2))
    Y[0, 1] = np.nan
    return RobustGPRegressor().fit(X, Y), X, Y


def labels(ax):
    return ax.get_legend_handles_labels()[1]


def test_as_many_new_observations_are_judged_anew(fitted):
    model, X, y = fitted
    new = y.copy()
    new[[4, 19, 33]], new[50] = np.sin(X[[4, 19, 33], 0]), 6.0
    display = FitDisplay.from_estimator(model, X + 1e-3, new)
    assert np.flatnonzero(display.flagged).tolist() == [50]


def test_other_observations_at_the_inputs_of_the_fit_are_judged_anew(fitted):
    model, X, y = fitted
    other = y.copy()
    other[FAULTS], other[50] = [np.sin(X[4, 0]), np.nan, np.nan], 6.0
    assert np.flatnonzero(plot_fit(model, X, other).flagged).tolist() == [50]


def test_observations_of_the_fit_keep_their_flags(several, tmp_path):
    model, X, Y = several
    model.save(tmp_path / "model.sgp")
    for each in (model, sturdygp.load(tmp_path / "model.sgp")):
        np.testing.assert_array_equal(proba_of(each, X, Y), model.outlier_proba_)
        np.testing.assert_array_equal(proba_of(each, X, Y + 0.01), model.outlier_proba(X, Y + 0.01))
    single = RobustGPRegressor(inducing=8).fit(X, Y[:, 0])
    np.testing.assert_array_equal(proba_of(single, X, Y[:, :1].tolist()), single.outlier_proba_)


def test_a_model_that_did_not_keep_its_observations_judges_them():
    model = sturdygp.load(FILES / "model-v1.sgp")
    (output,) = model._outputs
    X = np.zeros((len(output.observed), model.n_features_in_))
    X[output.observed], y = output.fit.posterior.inputs, output.spread(np.arange(output.observed.sum()))
    np.testing.assert_array_equal(proba_of(model, X, y), model.outlier_proba(X, y))


def test_fit_shows_the_interval_and_the_flagged_observations(fitted):
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


def test_fit_over_one_of_several_inputs(several):
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


def test_a_model_that_does_not_flag_is_drawn_without_flags():
    X, y = problem()
    display = plot_fit(StandardGPRegressor().fit(X, y), X, y)
    assert labels(display.ax_) == ["fit, 95 % interval", "observations"]


def test_new_observations_are_judged(fitted):
    model, _, _ = fitted
    X, y = problem(seed=5, n=45)
    assert np.flatnonzero(plot_fit(model, X, y).flagged).tolist() == FAULTS


def test_outliers(fitted, several):
    model, X, _ = fitted
    display = plot_outliers(model)
    np.testing.assert_array_equal(display.outlier_proba, model.outlier_proba_)
    assert display.ax_.get_xlabel() == "number of the observation"
    over = OutlierDisplay.from_estimator(model, X, threshold=0.9)
    np.testing.assert_array_equal(over.x, X[:, 0])
    named, frame, _ = several
    assert plot_outliers(named, frame, feature="speed", output=1).ax_.get_xlabel() == "speed"


def test_trace(fitted, several):
    display = TraceDisplay.from_estimator(fitted[0])
    assert labels(display.ax_) == ["converged"]
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), fitted[0].trace_)
    assert labels(plot_trace(several[0]).ax_) == ["output 0: converged", "output 1: converged"]


def test_calibration_counts_observations_inside(fitted):
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


def test_leaving_one_out_is_a_fit_without_it(fitted):
    model, X, y = fitted
    mean, std = model.leave_one_out(include_noise=True)
    assert mean.shape == std.shape == y.shape
    # A far outlier says nothing, so that its prediction hardly changes without it.
    np.testing.assert_allclose(mean[FAULTS], model.predict(X[FAULTS]), atol=0.05)
    _, inner = model.leave_one_out()
    np.testing.assert_allclose(std**2 - inner**2, model.noise_variance_)


def test_given_axes_are_used_and_nothing_global_is_touched(fitted):
    model, X, y = fitted
    before = dict(mpl.rcParams)
    figure = Figure()
    axes = figure.subplots(2, 2).ravel()
    displays = [
        plot_fit(model, X, y, ax=axes[0]),
        plot_outliers(model, ax=axes[1]),
        plot_trace(model, ax=axes[2]),
        plot_calibration(model, None, y, ax=axes[3]),
    ]
    assert [display.ax_ for display in displays] == list(axes)
    assert {display.figure_ for display in displays} == {figure}
    plot_fit(model, X, y)
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X, y: plot_fit(m, X, y, feature=3), "feature must be from 0 to 0"),
        (lambda m, X, y: plot_fit(m, X, y, feature="depth"), "feature must be one of input"),
        (lambda m, X, y: plot_fit(m, X, y, output=1), "output must be from 0 to 0"),
        (lambda m, X, y: FitDisplay.from_estimator(m, X, y, level=95.0), "level must be between 0 and 1"),
        (lambda m, X, y: plot_fit(m, X, y, others="mean"), "others must be one of 'median', 'data'"),
        (lambda m, X, y: plot_fit(m, X, y[:5]), "X has 60 rows but y has 5"),
        (lambda m, X, y: plot_fit(StandardGPRegressor().fit(X, y), X, y[:1]), "X has 60 rows but y has 1"),
        (lambda m, X, y: plot_outliers(m, X[:5]), "X has 5 rows but the model was fitted to 60"),
        (lambda m, X, y: plot_outliers(StandardGPRegressor().fit(X, y)), "has no outlier probabilities"),
        (lambda m, X, y: plot_calibration(m, None, y[:5]), "must be the observations of the fit"),
        (lambda m, X, y: plot_calibration(m, None, y + 1.0), "give X, too, for others"),
        (lambda m, X, y: plot_calibration(m, X, y[:5]), "X has 60 rows but y has 5"),
        (
            lambda m, X, y: plot_calibration(StandardGPRegressor().fit(X, y), X, y[:1]),
            "X has 60 rows but y has 1",
        ),
        (lambda m, X, y: CalibrationDisplay.of_residuals(np.array([np.nan])), "no observation is left"),
        (
            lambda m, X, y: plot_trace(m, ax=Figure().subplots()) and plot_trace(m, ax=removed_axes()),
            "no figure",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message, fitted):
    with pytest.raises(ValueError, match=message):
        call(*fitted)


@pytest.mark.parametrize(
    "plot",
    [plot_fit, plot_calibration, lambda m, X, y: plot_outliers(m, X), lambda m, X, y: plot_trace(m)],
)
def test_what_is_not_fitted_is_refused(plot):
    with pytest.raises(NotFittedError):
        plot(RobustGPRegressor(), *problem())


def removed_axes():
    ax = Figure().subplots()
    ax.remove()
    return ax
