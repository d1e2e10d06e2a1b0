"""The pseudo-observations of RCGP minimise its generalised loss."""

import numpy as np
from references.differences import numeric_gradient
from references.problems import make_problem

from sturdygp import RCGPRegressor
from sturdygp.gp import Sites, condition
from sturdygp.kernels import SquaredExponential
from sturdygp.likelihoods.pseudo import Weighting


def weighted_score_loss(f, y, noise, centre, threshold):
    """The generalised-Bayes loss by definition: w^2 s^2 + 2 d/dy (w^2 s) with the score s = d/dy log p."""

    def squared_weight(y):
        return 0.5 * noise / (1 + ((y - centre) / threshold) ** 2)

    def weighted_score(y):
        return squared_weight(y) * (f - y) / noise

    h = 1e-5
    divergence = (weighted_score(y + h) - weighted_score(y - h)) / (2 * h)
    return (squared_weight(y) * ((f - y) / noise) ** 2 + 2 * divergence).sum()


def test_weighting_posterior_minimises_the_generalised_loss():
    p = make_problem(12, 0.3, 1, kernel=SquaredExponential((1.5, 1.5), 1.3))
    noise, mean = 0.4, float(np.median(p.y))
    weighting = Weighting.around(p.y, mean, mean, 0.2, 1.0)
    posterior = condition(p.kernel, p.X, weighting.sites(noise), mean)
    K_inverse = np.linalg.inv(p.kernel(p.X) + 1e-10 * np.eye(12))

    def loss(f):
        prior = 0.5 * (f - mean) @ K_inverse @ (f - mean)
        return prior + weighted_score_loss(f, p.y, noise, mean, weighting.threshold)

    at = posterior.marginals().mean
    curvature = K_inverse + np.diag(weighting.sites(noise).precision)
    step = np.linalg.solve(curvature, numeric_gradient(loss, at, 1e-4))
    np.testing.assert_allclose(step, 0.0, atol=1e-6)
    # exactly: the sites in closed form against the loss in closed form
    w2 = 0.5 * noise / weighting.inflation
    slope = -2 * weighting.residual / weighting.threshold**2 / weighting.inflation
    linear = 2 * w2 / noise**2 * p.y - 2 * w2 * slope / noise
    direct = np.linalg.solve(K_inverse + np.diag(2 * w2 / noise**2), K_inverse @ np.full(12, mean) + linear)
    np.testing.assert_allclose(at, direct, rtol=1e-7, atol=1e-8)


def test_weighting_with_the_other_sign_is_not_the_minimiser():
    p = make_problem(12, 0.3, 1, kernel=SquaredExponential((1.5, 1.5), 1.3))
    a, b = (
        condition(p.kernel, p.X, Weighting.around(p.y, 0.0, 0.0, 0.2, sign).sites(0.4), 0.0).marginals().mean
        for sign in (1.0, -1.0)
    )
    assert np.abs(a - b).max() > 0.01


def test_weighting_with_an_infinite_threshold_is_standard():
    p = make_problem(25, 0.0, 3)
    weighting = Weighting.around(p.y, 0.1, 0.1, 0.0, 1.0)
    sites, plain = weighting.sites(0.3), Sites.gaussian(p.y, 0.3)
    np.testing.assert_allclose(sites.target, plain.target)
    np.testing.assert_allclose(sites.precision, plain.precision)
    np.testing.assert_array_equal(RCGPRegressor(epsilon=0.0).fit(p.X, p.y).weights_, 1.0)
