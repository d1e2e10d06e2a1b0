"""Expectation propagation: published values, central differences, long sampling and limits."""

from math import exp, log

import numpy as np
import pytest
from references import gibbs
from references.differences import numeric_gradient
from references.problems import make_problem
from sklearn.gaussian_process import kernels as sk

from sturdygp.datasets import make_synthetic
from sturdygp.gp.exact import ExactPrior
from sturdygp.gp.sparse import SparsePrior
from sturdygp.inference.expectation_propagation import NaturalSites, Propagation
from sturdygp.kernels import Linear, SquaredExponential
from sturdygp.likelihoods.student_t import TLikelihood

NEAL = np.array([1.0871, 0.0321, -4.6357])


@pytest.fixture
def neal():
    """Neal's outlier data (older draws): the reference problem of GPstuff, if the data folder is there."""
    import os
    from pathlib import Path

    path = Path(os.environ.get("STURDYGP_DATA", "")) / "neal_odata_200.txt"
    if not path.is_file():
        pytest.skip("STURDYGP_DATA does not hold neal_odata_200.txt")
    table = np.loadtxt(path)[:100]
    return table[:, :1], table[:, 1]


def test_propagation_reproduces_the_public_reference_value(neal):
    """log evidence 16.8685, 11 negative sites, the least -13.04 (kernel matrix with 1e-4 on its diagonal)."""
    X, y = neal
    kernel = SquaredExponential(exp(NEAL[1]), exp(NEAL[0])) + sk.WhiteKernel(1e-4)

    class ZeroMean(ExactPrior):
        def condition(self, sites, mean=None):
            return super().condition(sites, 0.0)

    start = NaturalSites(np.full(100, 0.5 / exp(NEAL[2])), 0.5 * y / exp(NEAL[2]))
    result = Propagation(ZeroMean.at(kernel, X), y, TLikelihood(exp(NEAL[2]), 4.0)).run(start, careful=False)
    assert result.log_evidence == pytest.approx(16.8685, abs=1e-4)
    assert (result.natural.precision < 0).sum() == 11
    assert result.natural.precision.min() == pytest.approx(-13.04, abs=0.01)
    assert result.n_factorizations <= 20


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_propagation_gradient_equals_central_differences(power):
    p = make_problem(25, 0.3, 4)
    x = np.append(p.kernel.theta, [log(0.2), log(4.0)])
    start = NaturalSites(np.ones(25), p.y)

    def run(x):
        likelihood = TLikelihood(exp(x[-2]), exp(x[-1]))
        prior = ExactPrior.at(p.kernel.with_theta(x[:-2]), p.X)
        return Propagation(prior, p.y, likelihood, power).run(start, careful=True)

    result = run(x)
    by_noise = (result.tilted.by_log_noise.sum() + 0.5 * (1 - power) * 25) / power
    analytic = np.append(result.posterior.gradient().kernel, by_noise)
    numeric = numeric_gradient(lambda x: run(x).log_evidence, x, 1e-4)
    np.testing.assert_allclose(analytic, numeric[:-1], rtol=1e-4, atol=1e-4)
    if power == 1.0:
        assert result.tilted.by_log_dof.sum() == pytest.approx(numeric[-1], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_propagation_agrees_with_long_sampling(seed):
    """docs/baselines.md tabulates all three approximations."""
    p = make_problem(30, 0.15, seed, kernel=SquaredExponential((2.0, 2.0), 1.2))
    noise, dof = 0.2, 4.0
    draws = gibbs.sample(
        p.kernel(p.X), p.y, m=0.0, noise=noise, a=dof / 2, b=dof / 2, theta=1e-12,
        n_samples=8000, burn_in=500, rng=np.random.default_rng(seed),
    )  # fmt: skip
    prior, likelihood = ExactPrior.at(p.kernel, p.X), TLikelihood(noise, dof)

    class ZeroMean(ExactPrior):
        def condition(self, sites, mean=None):
            return super().condition(sites, 0.0)

    zero = ZeroMean(prior.kernel, prior.X, prior.linearised)
    ep = Propagation(zero, p.y, likelihood).run(NaturalSites(np.ones(30), p.y), careful=True).posterior
    mean, spread = draws.f.mean(axis=0), draws.f.std(axis=0)
    error = gibbs.batch_error(draws.f)
    assert np.all(np.abs(ep.marginals().mean - mean) < 5 * error + 0.03 * spread)
    assert np.abs(np.sqrt(ep.marginals().variance) / spread - 1).max() < 0.15


def test_propagation_of_a_known_function_is_the_limit_of_one_that_hardly_varies():
    """There an observation still tells of the mean."""
    rng, x = np.random.default_rng(0), np.linspace(0, 6, 40)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(40)
    y[::8] += 4.0
    known, near = (
        Propagation(ExactPrior.at(Linear(0.1), x + shift), y, TLikelihood(0.3, 4.0)).run(
            NaturalSites(np.full(40, 1.0), y), careful=True
        )
        for shift in (0.0, 1e-4)
    )
    assert known.log_evidence == pytest.approx(near.log_evidence, abs=1e-4)
    np.testing.assert_allclose(known.natural.precision, near.natural.precision, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(known.posterior.mean, near.posterior.mean, rtol=1e-4)


def test_propagation_is_finite_where_inducing_inputs_leave_nothing_free():
    """Their kernel does not reach some observations: what these would say moves nothing."""
    data = make_synthetic(40, 1, rate=0.5, seed=0)
    prior = SparsePrior.at(SquaredExponential((0.05, 0.05)), data.X, data.X[:8])
    propagated = Propagation(prior, data.y[:, 0], TLikelihood(0.3, 4.0)).run(
        NaturalSites(np.full(40, 1.0), data.y[:, 0]), careful=True
    )
    free = propagated.cavity.variance - propagated.posterior.left_out
    assert free.min() == 0.0
    assert np.isfinite(propagated.natural.precision).all()
    assert propagated.disagreement < 1e-6
    assert np.isfinite(propagated.by_left_out(1.0)).all()


def test_propagation_gradient_with_inducing_inputs_equals_central_differences():
    """Also where they leave much out: cavities and evidence are those of what the sites reach."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (60, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_t(3, 60)
    kernel, likelihood = SquaredExponential(0.8, 1.3), TLikelihood(0.1, 4.0)
    start = NaturalSites(np.full(60, 5.0), 5.0 * y)

    def run(theta):
        prior = SparsePrior.at(kernel.with_theta(theta), X, X[:4])
        return Propagation(prior, y, likelihood, tolerance=1e-11).run(start, careful=True)

    found, step = run(kernel.theta), 1e-5
    assert np.max(found.posterior.left_out) > 0.3
    numeric = [
        (run(kernel.theta + h).log_evidence - run(kernel.theta - h).log_evidence) / (2.0 * step)
        for h in step * np.eye(2)
    ]
    gradient = found.posterior.gradient(found.by_left_out(1.0)).kernel
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4)
