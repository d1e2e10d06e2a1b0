"""StudentTGPRegressor: limits, intervals and left-out observations."""

import numpy as np
import pytest
from references.problems import make_problem
from sklearn.exceptions import ConvergenceWarning

from sturdygp import StandardGPRegressor, StudentTGPRegressor
from sturdygp.kernels import SquaredExponential


@pytest.mark.parametrize("inference", ["vb", "laplace", "ep"])
def test_student_t_with_many_dof_is_standard(inference):
    p = make_problem(25, 0.0, 3)
    kernel = SquaredExponential(1.5, 1.2, length_scale_bounds="fixed", variance_bounds="fixed")
    a = StandardGPRegressor(kernel=kernel, scale_targets=None, tol=1e-10).fit(p.X, p.y)
    b = StudentTGPRegressor(kernel=kernel, scale_targets=None, inference=inference, dof=1e8, tol=1e-10)
    b.fit(p.X, p.y)
    np.testing.assert_allclose(b.predict(p.X), a.predict(p.X), atol=1e-6)
    with pytest.raises(ValueError, match="dof must be"):
        StudentTGPRegressor(dof="many").fit(p.X, p.y)


def test_leave_one_out_of_an_improper_laplace_is_missing_without_a_warning():
    rng, x = np.random.default_rng(0), np.linspace(0, 10, 80)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(80)
    y[::9] += 4.0
    with pytest.warns(ConvergenceWarning):
        model = StudentTGPRegressor(inference="laplace", dof=1.0).fit(x, y)
    mean, std = model.leave_one_out()
    assert np.isfinite(mean).all()
    assert np.all(np.isnan(std) | (std > 0.0))
    assert 0 < np.isnan(std).sum() < 10


def test_leave_one_out_of_an_improper_laplace_stays_missing_with_noise():
    """Without that observation its approximation is improper; noise does not make it proper."""
    X, rng = np.repeat(np.linspace(0, 6, 5), 2)[:, None], np.random.default_rng(16)
    with pytest.warns(ConvergenceWarning, match="max_factorizations"):
        model = StudentTGPRegressor(inference="laplace").fit(
            X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(10)
        )
    missing = np.isnan(model.leave_one_out()[1])
    assert missing.any()
    np.testing.assert_array_equal(np.isnan(model.leave_one_out(include_noise=True)[1]), missing)


def test_dof_is_reported(data):
    assert StudentTGPRegressor().fit(data.X, data.y[:, 0]).dof_ == 4.0
    assert StudentTGPRegressor(dof="learn").fit(data.X, data.y[:, :2]).dof_.shape == (2,)


def test_student_t_intervals_hold_for_long_tails():
    rng = np.random.default_rng(0)
    x, t = rng.uniform(0, 10, (1200, 1)), 0.2 * rng.standard_t(3, 1200)
    y = np.sin(x[:, 0]) + t
    model = StudentTGPRegressor(dof="learn", inference="vb").fit(x[:300], y[:300])
    mean, std = model.predict(x[300:], return_std=True, include_noise=True)
    assert np.mean(np.abs(y[300:] - mean) < 1.96 * std) == pytest.approx(0.95, abs=0.02)
    normal = StandardGPRegressor().fit(x[:300], y[:300])
    densities = (m.log_predictive_density(x[300:], y[300:]).mean() for m in (model, normal))
    assert next(densities) > next(densities) + 0.05
