"""Which observations are flagged; figures, and what cannot be drawn."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from references.plots import problem, removed_axes
from sklearn.exceptions import NotFittedError

import sturdygp
from sturdygp import RobustGPRegressor, StandardGPRegressor
from sturdygp.plot import (
    CalibrationDisplay,
    FitDisplay,
    plot_calibration,
    plot_fit,
    plot_outliers,
    plot_trace,
)
from sturdygp.plot.canvas import proba_of

FILES = Path(__file__).parents[1] / "files"


def test_proba_of_the_fit_is_kept(several, tmp_path):
    model, X, Y = several
    model.save(tmp_path / "model.sgp")
    for each in (model, sturdygp.load(tmp_path / "model.sgp")):
        np.testing.assert_array_equal(proba_of(each, X, Y), model.outlier_proba_)
        np.testing.assert_array_equal(proba_of(each, X, Y + 0.01), model.outlier_proba(X, Y + 0.01))
    single = RobustGPRegressor(inducing=8).fit(X, Y[:, 0])
    np.testing.assert_array_equal(proba_of(single, X, Y[:, :1].tolist()), single.outlier_proba_)


def test_proba_of_a_model_without_its_observations_is_judged_anew():
    model = sturdygp.load(FILES / "model-v1.sgp")
    (output,) = model._outputs
    X = np.zeros((len(output.observed), model.n_features_in_))
    X[output.observed], y = output.fit.posterior.inputs, output.spread(np.arange(output.observed.sum()))
    np.testing.assert_array_equal(proba_of(model, X, y), model.outlier_proba(X, y))


def test_displays_use_given_axes_and_touch_nothing_global(fitted):
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
def test_displays_refuse_what_cannot_be_drawn(call, message, fitted):
    with pytest.raises(ValueError, match=message):
        call(*fitted)


@pytest.mark.parametrize(
    "plot",
    [plot_fit, plot_calibration, lambda m, X, y: plot_outliers(m, X), lambda m, X, y: plot_trace(m)],
)
def test_displays_refuse_what_is_not_fitted(plot):
    with pytest.raises(NotFittedError):
        plot(RobustGPRegressor(), *problem())
