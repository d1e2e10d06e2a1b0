"""Estimators with inducing inputs against those without."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from sturdygp import (
    AsorGPRegressor,
    MixtureGPRegressor,
    OracleGPRegressor,
    RCGPRegressor,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
)
from sturdygp.datasets import make_synthetic
from sturdygp.estimators.inducing import inducing_inputs
from sturdygp.kernels import SquaredExponential

ESTIMATORS = [
    StandardGPRegressor(),
    AsorGPRegressor(),
    MixtureGPRegressor(),
    StudentTGPRegressor(),
    StudentTGPRegressor(inference="vb"),
    RobustGPRegressor(),
    RCGPRegressor(),
    OracleGPRegressor(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_fit_with_all_inputs_inducing_is_exact(estimator):
    data = make_synthetic(50, 20, rate=0.3, seed=3)
    exact = clone(estimator).fit(data.X, data.y[:, 0])
    sparse = clone(estimator).set_params(inducing=data.X).fit(data.X, data.y[:, 0])
    assert sparse.bound_ == pytest.approx(exact.bound_, abs=1e-5)
    mean, std = sparse.predict(data.X_test, return_std=True)
    exact_mean, exact_std = exact.predict(data.X_test, return_std=True)
    # Both stop where the gradient of the bound is within tol of zero, not at the same point.
    np.testing.assert_allclose(mean, exact_mean, atol=1e-3)
    # What the flagship allows for its kernel's parameters goes by the curvature that was learned on the way.
    np.testing.assert_allclose(std, exact_std, rtol=0.01, atol=1e-3)
    assert sparse.sample_y(data.X_test, 3).shape == (20, 3)


@pytest.mark.parametrize("estimator", [AsorGPRegressor(), RobustGPRegressor()], ids=repr)
def test_fit_with_few_inducing_inputs_is_nearly_as_good(estimator):
    data = make_synthetic(600, rate=0.4, seed=5)
    y, truth = data.y[:, 0], data.f_test[:, 0]
    exact = clone(estimator).fit(data.X, y)
    sparse = clone(estimator).set_params(inducing=80).fit(data.X, y)
    error = [np.sqrt(np.mean((model.predict(data.X_test) - truth) ** 2)) for model in (exact, sparse)]
    assert error[1] < 1.03 * error[0]
    assert len(sparse._outputs[0].fit.posterior.sites) == 600


@pytest.mark.parametrize(
    ("inducing", "message"),
    [
        ("many", 'inducing must be None, "auto", a number or an array'),
        (0, "inducing must be a positive integer"),
        (np.zeros((3, 1)), "inducing has 1 columns but X has 2"),
        ([[0.0, np.nan]], "inducing contains NaN"),
    ],
)
def test_fit_refuses_bad_inducing_inputs(inducing, message):
    with pytest.raises(ValueError, match=message):
        AsorGPRegressor(inducing=inducing).fit(np.eye(2), [0.0, 1.0])


def test_inducing_inputs_auto_is_exact_for_few_rows():
    assert inducing_inputs("auto", SquaredExponential(), np.zeros((10, 1))) is None


def test_fit_refuses_inducing_inputs_where_the_exact_process_is_needed():
    X, y = np.eye(3), [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="laplace"):
        StudentTGPRegressor(inference="laplace", inducing=X).fit(X, y)
    with pytest.raises(ValueError, match="gem"):
        AsorGPRegressor(solver="gem", inducing=X).fit(X, y)


def test_optimise_inducing_raises_elbo():
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 10.0, (200, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=200)
    y[::9] += 4.0
    fixed = AsorGPRegressor(inducing=9).fit(X, y)
    moved = AsorGPRegressor(inducing=9, optimise_inducing=True).fit(X, y)
    assert moved.bound_ > fixed.bound_ + 1.0


def test_inducing_inputs_along_a_line_are_as_many_as_given():
    """A smooth function needs few of them there, but the function need not be smooth."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, (800, 1))
    y = np.sin(30.0 * X[:, 0]) + 0.1 * rng.normal(size=800)
    model = StandardGPRegressor(inducing=100).fit(X, y)
    assert len(model._outputs[0].fit.posterior.features.Z) == 100
    assert np.mean((model.predict(X) - np.sin(30.0 * X[:, 0])) ** 2) < 0.01


def test_sparse_model_pickles_after_leave_one_out():
    data = make_synthetic(60, 5, rate=0.1, seed=0)
    model = AsorGPRegressor(inducing=20).fit(data.X, data.y[:, 0])
    left_out = model.leave_one_out()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(data.X_test), model.predict(data.X_test))
    np.testing.assert_allclose(again.leave_one_out(), left_out)
