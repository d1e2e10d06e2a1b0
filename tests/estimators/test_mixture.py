"""MixtureGPRegressor: limits and arguments."""

import numpy as np
import pytest
from references.problems import make_problem

from sturdygp import MixtureGPRegressor, MixturePrior, StandardGPRegressor
from sturdygp.datasets import make_synthetic


def test_mixture_does_not_collapse_on_exact_observations():
    x = np.linspace(0, 6, 60)[:, None]
    model = MixtureGPRegressor().fit(x, np.sin(x[:, 0]))
    assert model.noise_variance_ > 1e-6
    assert model.outlier_proba_.max() < 0.5
    np.testing.assert_allclose(model.predict(x), np.sin(x[:, 0]), atol=1e-2)


def test_mixture_of_a_single_component_is_standard():
    p = make_problem(30, 0.0, 2)
    a = StandardGPRegressor(tol=1e-9).fit(p.X, p.y)
    b = MixtureGPRegressor(start_ratios=(), prior=MixturePrior(noise_scale=1e-12), tol=1e-9).fit(p.X, p.y)
    np.testing.assert_allclose(b.predict(p.X), a.predict(p.X), atol=1e-6)
    assert b.bound_ == pytest.approx(a.bound_, abs=1e-6)


def test_mixture_fits_three_components_and_refuses_bad_arguments():
    data = make_synthetic(50, 10, rate=0.3, seed=1)
    model = MixtureGPRegressor(start_ratios=(10.0, 100.0), n_starts=2).fit(data.X, data.y[:, 0])
    assert np.isfinite(model.bound_)
    with pytest.raises(ValueError, match="start_ratios"):
        MixtureGPRegressor(start_ratios=(-1.0,)).fit(data.X, data.y[:, 0])
    with pytest.raises(ValueError, match="prior must be a MixturePrior"):
        MixtureGPRegressor(prior="none").fit(data.X, data.y[:, 0])
