"""The Student-t likelihood against SciPy, central differences and quadrature."""

from math import exp, log

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from scipy.stats import t as student

from sturdygp.gp import Marginals
from sturdygp.likelihoods.student_t import TLikelihood


def test_t_likelihood_equals_scipy_and_its_derivatives_central_differences():
    likelihood, r, h = TLikelihood(0.3, 4.0), np.array([-3.0, -0.5, 0.2, 1.7, 10.0]), 1e-4
    np.testing.assert_allclose(likelihood.log_density(r), student.logpdf(r, 4.0, 0, np.sqrt(0.3)), rtol=1e-12)
    first, second, third = likelihood.curvature(r)

    def by_f(values):
        return (values(r - h) - values(r + h)) / (2 * h)

    np.testing.assert_allclose(first, by_f(likelihood.log_density), rtol=1e-6)
    np.testing.assert_allclose(-second, by_f(lambda r: likelihood.curvature(r)[0]), rtol=1e-6)
    np.testing.assert_allclose(-third, by_f(lambda r: likelihood.curvature(r)[1]), rtol=1e-6)
    shifted = [
        (TLikelihood(0.3 * exp(h), 4.0), TLikelihood(0.3 * exp(-h), 4.0)),
        (TLikelihood(0.3, 4.0 * exp(h)), TLikelihood(0.3, 4.0 * exp(-h))),
    ]
    for i, (up, down) in enumerate(shifted):
        pairs = [(up.log_density(r), down.log_density(r))]
        pairs += [(up.curvature(r)[k], down.curvature(r)[k]) for k in (0, 1)]
        for analytic, (a, b) in zip(likelihood.by_parameters(r), pairs, strict=True):
            np.testing.assert_allclose(analytic[i], (a - b) / (2 * h), rtol=1e-6, atol=1e-8)
    power, constant = likelihood.to_power(0.5)
    np.testing.assert_allclose(power.log_density(r) + constant, 0.5 * likelihood.log_density(r), rtol=1e-12)


@pytest.mark.parametrize("dof", [1.5, 4.0, 29.0, 31.0, 1000.0, 1e6])
def test_tilted_moments_equal_quadrature(dof):
    likelihood = TLikelihood(0.3, dof)
    cavity = Marginals(np.array([0.1, -1.0, 2.0]), np.array([0.5, 0.01, 3.0]))
    y = np.array([0.3, 4.0, -5.0])
    tilted = likelihood.tilted(y, cavity)
    for i in range(3):
        m, sd = cavity.mean[i], np.sqrt(cavity.variance[i])

        def density(f, i=i, m=m, sd=sd):
            return student.pdf(y[i], dof, f, np.sqrt(0.3)) * norm.pdf(f, m, sd)

        low, high = min(m - 12 * sd, y[i] - 8), max(m + 12 * sd, y[i] + 8)
        options = {"points": sorted((m, y[i])), "limit": 400, "epsabs": 0.0, "epsrel": 1e-11}
        z = quad(density, low, high, **options)[0]
        mean = quad(lambda f: f * density(f), low, high, **options)[0] / z
        square = quad(lambda f: f**2 * density(f), low, high, **options)[0] / z
        variance = square - mean**2
        assert tilted.log_z[i] == pytest.approx(log(z), rel=1e-8)
        assert tilted.moments.mean[i] == pytest.approx(mean, rel=1e-7, abs=1e-9)
        assert tilted.moments.variance[i] == pytest.approx(variance, rel=1e-7)
    far = likelihood.tilted(np.array([1e7]), Marginals(np.zeros(1), np.ones(1)))
    assert far.log_z[0] == pytest.approx(likelihood.log_density(np.array([1e7]))[0], rel=1e-4)
