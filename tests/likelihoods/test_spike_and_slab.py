"""The ASOR likelihood against quadrature and definitions."""

from math import log

import numpy as np
import pytest

from sturdygp.likelihoods.spike_and_slab import AsorPrior, FittedSpikeAndSlab, update_multipliers, update_rate


def test_update_rate_ends_where_the_elbo_is_flat():
    R, prior = np.random.default_rng(0).gamma(0.5, 20.0, 40), AsorPrior()
    rate = 20.0
    for _ in range(500):
        rate = update_rate(update_multipliers(R, rate, prior), prior)

    def profile(rate):
        q = update_multipliers(R, rate, prior)
        return (q.log_scale - 0.5 * q.weight * R).sum() + prior.log_rate_density(rate)

    assert profile(rate) > max(profile(rate * 1.01), profile(rate / 1.01))


def test_update_multipliers_does_not_overflow():
    q = update_multipliers(np.array([0.0, 1e3, 1e6, 1e300]), 20.0, AsorPrior())
    assert np.isfinite(q.log_scale).all()
    assert np.all(q.inlier_proba[1:] < 1e-200)
    assert np.all(np.diff(q.weight) < 0)


def test_judge_outlier_proba_equals_quadrature():
    from scipy.integrate import quad
    from scipy.stats import norm
    from scipy.stats import t as student

    outliers = FittedSpikeAndSlab(0.3, rate=15.0, prior=AsorPrior(slab_shape=1.4, inlier_proba=0.7))
    y, mean, variance = np.array([0.1, 1.5, 4.0]), np.array([0.0, 0.2, -0.3]), np.array([0.05, 0.5, 1e-6])
    for i, found in enumerate(outliers.judge(y, mean, variance, np.full(3, 0.3)).outlier_proba):
        sd = np.sqrt(variance[i])

        def slab(f, i=i, sd=sd):
            return student.pdf(y[i], 2.8, f, np.sqrt(15.0 * 0.3 / 1.4)) * norm.pdf(f, mean[i], sd)

        a = 0.3 * quad(slab, mean[i] - 9 * sd, mean[i] + 9 * sd, points=[mean[i]])[0]
        b = 0.7 * norm.pdf(y[i], mean[i], np.sqrt(variance[i] + 0.3))
        assert found == pytest.approx(a / (a + b), rel=1e-5)
    assert outliers.judge(np.array([1e8]), np.zeros(1), np.ones(1), np.full(1, 0.3)).outlier_proba[0] == 1.0


@pytest.mark.parametrize("shape", [0.3, 1.0, 30.0, 1000.0, 1e5])
def test_judge_log_density_is_that_of_the_mixture_without_multipliers(shape):
    """Where the function is known the slab is a Student-t, narrow in the multiplier if a is large."""
    from scipy.stats import norm
    from scipy.stats import t as student

    outliers = FittedSpikeAndSlab(0.3, rate=4.0 * shape, prior=AsorPrior(slab_shape=shape, inlier_proba=0.7))
    y = np.array([0.0, 0.5, 3.0, 20.0])
    found = outliers.judge(y, np.zeros(4), np.full(4, 1e-12), np.full(4, 0.3)).log_density
    slab = student.logpdf(y, 2.0 * shape, scale=np.sqrt(4.0 * 0.3))
    expected = np.logaddexp(log(0.7) + norm.logpdf(y, scale=np.sqrt(0.3)), log(0.3) + slab)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"slab_shape": 0.0}, "slab_shape must be positive"),
        ({"rate_shape": 1.0}, "rate_shape must exceed 1"),
        ({"inlier_proba": 1.0}, "inlier_proba must lie between 0 and 1"),
        ({"noise_scale": float("nan")}, "noise_scale must be positive"),
    ],
)
def test_asor_prior_refuses_bad_values(arguments, message):
    with pytest.raises(ValueError, match=message):
        AsorPrior(**arguments)
