"""StandardGPRegressor against scikit-learn and on inputs of unusual scales."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from sturdygp import StandardGPRegressor
from sturdygp.datasets import make_synthetic


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
