"""RCGP: its score against brute force and central differences."""

from math import exp, log

import numpy as np
import pytest
from references.differences import numeric_gradient
from references.problems import make_problem, random_problem
from scipy.stats import norm

from sturdygp.gp import Sites, condition
from sturdygp.likelihoods.pseudo import Weighting
from sturdygp.methods.rcgp import Rcgp
from sturdygp.status import Status


@pytest.mark.parametrize("score", ["weighted", "plain"])
def test_rcgp_score_equals_brute_force_and_its_gradient_central_differences(score):
    p = make_problem(20, 0.3, 2)
    method, mean = Rcgp(score=score), float(np.median(p.y))
    weighting = Weighting.around(p.y, mean, mean, 0.1, 1.0)
    x = np.append(p.kernel.theta, log(0.4))

    def evaluate(x):
        return method.evaluate(p, p.kernel.with_theta(x[:-1]), exp(x[-1]), weighting)

    np.testing.assert_allclose(
        evaluate(x).gradient, numeric_gradient(lambda x: evaluate(x).value, x), rtol=1e-5, atol=1e-6
    )
    sites, total = weighting.sites(0.4), 0.0
    for i in range(20):
        rest = np.arange(20) != i
        without = Sites(sites.target[rest], sites.precision[rest], sites.log_scale[rest])
        there = condition(p.kernel, p.X[rest], without, mean).predict(p.X[i : i + 1])
        count = 1 / weighting.inflation[i] if score == "weighted" else 1.0
        total += count * norm.logpdf(p.y[i], there.mean[0], np.sqrt(there.variance[0] + 0.4))
    assert evaluate(x).value == pytest.approx(total, rel=1e-8)


def test_rcgp_fits_random_problems():
    for seed in range(200):
        fit = Rcgp().fit(random_problem(seed)[0])
        assert fit.status in {Status.CONVERGED, Status.STALLED}
