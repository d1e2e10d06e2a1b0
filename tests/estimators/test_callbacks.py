"""Callbacks hear of every iteration and stop a fit."""

import numpy as np
import pytest
from references.estimators import OTHERS, RESUMING, name_of
from sklearn.base import clone

from sturdygp import (
    AsorGPRegressor,
    MixtureGPRegressor,
    RCGPRegressor,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
    load,
)
from sturdygp.datasets import make_synthetic
from sturdygp.methods.robust.search import Search
from sturdygp.status import Status


@pytest.fixture(scope="module")
def data():
    return make_synthetic(90, 20, rate=0.2, seed=4)


@pytest.mark.parametrize("estimator", [*RESUMING, *OTHERS], ids=name_of)
def test_callback_hears_of_every_iteration(estimator, data):
    heard = []
    clone(estimator).set_params(callback=heard.append).fit(data.X, data.y[:, 0])
    assert heard
    assert {progress.output for progress in heard} == {0}
    assert all(progress.seconds >= 0.0 for progress in heard)
    # A search may have converged before it is reported.
    searched = isinstance(estimator, RobustGPRegressor)
    assert searched or any(progress.seconds_left is not None for progress in heard)


@pytest.mark.parametrize("estimator", [*RESUMING, *OTHERS], ids=name_of)
def test_callback_stops_a_fit_without_warning(estimator, data):
    model = clone(estimator).set_params(callback=lambda progress: True).fit(data.X, data.y[:, 0])
    assert model.status_ is Status.STOPPED
    assert np.isfinite(model.predict(data.X_test)).all()


@pytest.mark.parametrize("estimator", [*RESUMING, *OTHERS], ids=name_of)
def test_callback_is_not_called_again_after_stop(estimator, data):
    heard = []
    model = clone(estimator).set_params(callback=heard.append)
    model.fit(data.X, data.y[:, 0])
    for call in (1, len(heard) // 2 + 1, len(heard)):
        heard.clear()
        model.set_params(callback=lambda progress, last=call: heard.append(progress) or len(heard) == last)
        assert model.fit(data.X, data.y[:, 0]).status_ is Status.STOPPED
        assert len(heard) == call


SEVERAL = [
    AsorGPRegressor(n_starts=7),
    MixtureGPRegressor(),
    StandardGPRegressor(n_starts=3),
    RCGPRegressor(n_starts=2),
    StudentTGPRegressor(n_starts=2),
]


@pytest.mark.parametrize("estimator", SEVERAL, ids=name_of)
def test_callback_iterations_count_through_all_optimisations(estimator, data):
    heard = []
    clone(estimator).set_params(callback=heard.append).fit(data.X, data.y[:, 0])
    assert [progress.iteration for progress in heard] == list(range(1, len(heard) + 1))
    if not isinstance(estimator, RCGPRegressor | StudentTGPRegressor):
        bounds = np.array([progress.bound for progress in heard])
        assert np.diff(bounds).min() >= -1e-8 * np.abs(bounds).max()


def test_search_with_low_noise_reports_in_order_and_stops(monkeypatch):
    with_low_noise = Search._with_low_noise
    # Low noise is tried only once the search has converged.
    monkeypatch.setattr(
        Search, "_with_low_noise", lambda s, h, others: ([], 0) if others else with_low_noise(s, h, [])
    )
    rng, t = np.random.default_rng(0), np.arange(200.0)
    y = 5.0 * np.sin(2.0 * np.pi * t / 50.0) + 0.5 * t + 0.2 * rng.standard_normal(200)
    y[rng.random(200) < 0.1] += 2.0
    heard = []
    model = RobustGPRegressor(callback=heard.append).fit(t[:, None], y)
    bounds = np.array([progress.bound for progress in heard])
    assert np.diff(bounds).min() >= -1e-8 * np.abs(bounds).max()
    for last in range(1, len(heard) + 1, 5):
        calls = []
        model.set_params(callback=lambda p, calls=calls, last=last: calls.append(p) or len(calls) == last)
        assert model.fit(t[:, None], y).status_ is Status.STOPPED
        assert len(calls) == last


def test_saved_model_has_no_callback(data, tmp_path):
    model = AsorGPRegressor(callback=lambda progress: None, warm_start=True).fit(data.X, data.y[:, 0])
    model.save(tmp_path / "model.sgp")
    again = load(tmp_path / "model.sgp")
    assert again.callback is None
    assert again.warm_start
    np.testing.assert_array_equal(again.predict(data.X_test), model.predict(data.X_test))
    assert again.fit(data.X, data.y[:, 0]).status_ is Status.CONVERGED
