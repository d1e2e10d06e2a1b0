"""AsorGPRegressor: its arguments reach the method."""

import pytest
from sklearn.exceptions import ConvergenceWarning

from sturdygp import AsorGPRegressor, AsorPrior


def test_asor_refuses_bad_arguments(data):
    with pytest.raises(ValueError, match="solver must be one of"):
        AsorGPRegressor(solver="newton").fit(data.X, data.y[:, 0])
    with pytest.raises(ValueError, match="prior must be an AsorPrior"):
        AsorGPRegressor(prior="vague").fit(data.X, data.y[:, 0])


def test_asor_solver_and_prior_reach_the_method(data):
    X, y = data.X[:20], data.y[:20, 0]
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        gem = AsorGPRegressor(solver="gem", max_iter=2).fit(X, y)
    assert gem.n_iter_ == 2
    trusting = AsorGPRegressor(prior=AsorPrior(inlier_proba=0.99)).fit(X, y)
    assert trusting.outlier_proba_.sum() < AsorGPRegressor().fit(X, y).outlier_proba_.sum()
