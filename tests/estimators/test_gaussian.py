"""StandardGPRegressor against scikit-learn, OracleGPRegressor against StandardGPRegressor."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from sturdygp import OracleGPRegressor, StandardGPRegressor
from sturdygp.datasets import make_synthetic
from sturdygp.inference.problem import default_kernel


def test_standard_finds_the_optimum_of_scikit_learn():
    data = make_synthetic(60, 10, seed=3)
    y = data.y[:, 0] - data.y[:, 0].mean()
    ours = StandardGPRegressor(scale_targets=None).fit(data.X, y)
    kernel = sk.ConstantKernel(1.0) * sk.RBF((1.0, 1.0)) + sk.WhiteKernel(0.5)
    theirs = GaussianProcessRegressor(kernel, n_restarts_optimizer=2, random_state=0).fit(
        data.X, y - ours.mean_
    )
    assert ours.bound_ == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-3)
    np.testing.assert_allclose(ours.predict(data.X_test), ours.mean_ + theirs.predict(data.X_test), atol=5e-3)


def test_sample_y_of_a_nearly_exact_function():
    x = np.linspace(0, 6, 200)[:, None]
    model = StandardGPRegressor().fit(x, np.sin(x[:, 0]))
    np.testing.assert_allclose(model.sample_y(x)[:, 0], np.sin(x[:, 0]), atol=1e-3)


def test_noise_variance_may_exceed_the_robust_scale():
    x, rng = np.linspace(0, 6, 60)[:, None], np.random.default_rng(0)
    y = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(60)
    y[[10, 40]] += 1000.0, -1000.0
    robust_scale, standard = (
        StandardGPRegressor(scale_targets=how).fit(x, y) for how in ("robust", "standard")
    )
    assert robust_scale.noise_variance_ == pytest.approx(standard.noise_variance_, rel=0.01)
    assert robust_scale.bound_ == pytest.approx(standard.bound_, abs=0.1)


def test_standard_fit_learns_an_input_that_rarely_varies():
    rng = np.random.default_rng(0)
    usual = 1.0 + 0.003 * rng.standard_normal(300)
    usual[rng.choice(300, 12, replace=False)] = rng.uniform(1.5, 5.0, 12)
    X, new = np.c_[rng.uniform(0, 10, 300), usual], rng.uniform((0, 1.5), (10, 5), (200, 2))
    truth, f_new = (np.sin(Z[:, 0]) + 0.8 * (Z[:, 1] - 1.0) for Z in (X, new))
    model = StandardGPRegressor().fit(X, truth + 0.1 * rng.standard_normal(300))
    assert np.sqrt(np.mean((model.predict(new) - f_new) ** 2)) < 0.3


def test_oracle_without_outliers_is_standard():
    data = make_synthetic(40, 10, seed=1)
    a = StandardGPRegressor().fit(data.X, data.y[:, 0])
    b = OracleGPRegressor().fit(data.X, data.y[:, 0], outlier_mask=np.zeros(40, dtype=bool))
    np.testing.assert_allclose(a.predict(data.X_test), b.predict(data.X_test), rtol=1e-10)


def test_oracle_with_infinite_outlier_variance_is_standard_on_inliers():
    data = make_synthetic(50, 10, rate=0.3, seed=2)
    told = OracleGPRegressor(scale_targets=None, tol=1e-9).fit(data.X, data.y, outlier_mask=data.outlier_mask)
    for j in range(4):
        clean = ~data.outlier_mask[:, j]
        y = data.y[clean, j]
        kernel = default_kernel(data.X)
        alone = StandardGPRegressor(scale_targets=None, kernel=kernel, tol=1e-9).fit(data.X[clean], y)
        same = OracleGPRegressor(scale_targets=None, kernel=kernel, tol=1e-9).fit(
            data.X, data.y[:, j], outlier_mask=data.outlier_mask[:, j]
        )
        np.testing.assert_allclose(same.predict(data.X_test), alone.predict(data.X_test), atol=1e-6)
        np.testing.assert_allclose(told.predict(data.X_test)[:, j], same.predict(data.X_test), atol=1e-6)
        np.testing.assert_array_equal(told.weights_[~clean, j], 0.0)


def test_oracle_uses_given_moments_of_outliers():
    data = make_synthetic(80, 200, rate=0.6, seed=5)
    mask = data.outlier_mask
    dropped = OracleGPRegressor().fit(data.X, data.y, outlier_mask=mask)
    informed = OracleGPRegressor().fit(
        data.X, data.y, outlier_mask=mask, outlier_variance=100 / 12, outlier_mean=5.0
    )
    biased = OracleGPRegressor().fit(data.X, data.y, outlier_mask=mask, outlier_variance=100 / 12)
    errors = [np.mean((m.predict(data.X_test) - data.f_test) ** 2) for m in (informed, dropped, biased)]
    assert errors[0] < 1.05 * errors[1] < errors[2]
    with pytest.raises(ValueError, match="outlier_mask must be one number or have the shape of y"):
        OracleGPRegressor().fit(data.X, data.y, outlier_mask=mask[:, 0])
    with pytest.raises(ValueError, match="outlier_variance must not be negative"):
        OracleGPRegressor().fit(data.X, data.y, outlier_mask=mask, outlier_variance=-1.0)


def test_oracle_evidence_leaves_out_dropped_outliers(data):
    y, mask = data.y[:, 0], data.outlier_mask[:, 0]
    dropped = OracleGPRegressor().fit(data.X, y, mask)
    alone = OracleGPRegressor(kernel=dropped.kernel_, init_noise_variance=dropped.noise_variance_)
    alone.set_params(noise="fixed").fit(data.X[~mask], y[~mask])
    assert dropped.bound_ == pytest.approx(alone.bound_, abs=1e-3)
