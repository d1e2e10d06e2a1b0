"""The Laplace approximation: its gradient and its mode."""

from math import exp, log

import numpy as np
from references.differences import numeric_gradient
from references.problems import make_problem

from sturdygp.gp.exact import ExactPrior
from sturdygp.inference.laplace import approximate
from sturdygp.likelihoods.student_t import TLikelihood


def test_approximate_gradient_equals_central_differences_and_its_mode_is_one():
    p = make_problem(25, 0.3, 4)
    x = np.append(p.kernel.theta, [log(0.2), log(4.0), 0.1])

    def run(x):
        likelihood = TLikelihood(exp(x[-3]), exp(x[-2]))
        return approximate(ExactPrior.at(p.kernel.with_theta(x[:-3]), p.X), p.y, likelihood, x[-1], p.y)

    fit = run(x)
    analytic = np.append(fit.by_kernel, [fit.by_log_noise, fit.by_log_dof, fit.by_mean])
    numeric = numeric_gradient(lambda x: run(x).log_evidence, x, 1e-4)
    np.testing.assert_allclose(analytic, numeric, rtol=1e-4, atol=1e-4)
    slope = TLikelihood(0.2, 4.0).curvature(p.y - fit.mode)[0]
    np.testing.assert_allclose(p.kernel(p.X) @ slope, fit.mode - 0.1, atol=1e-6)
