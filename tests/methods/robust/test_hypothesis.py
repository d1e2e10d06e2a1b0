"""The score of a hypothesis and its terms."""

from dataclasses import astuple
from math import e, log, pi
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from sturdygp.gp import Sites, condition
from sturdygp.gp.posterior import Marginals
from sturdygp.inference.problem import Problem, default_kernel
from sturdygp.inference.variational import LatentState
from sturdygp.likelihoods.contamination import Contamination, ContaminationModel, MixtureState, Shape
from sturdygp.likelihoods.contamination_prior import ContaminationPrior
from sturdygp.methods.robust.hypothesis import CONVINCING, Hypothesis, bounded_noise_gain
from sturdygp.methods.robust.prior import FunctionPrior
from sturdygp.methods.robust.screening import LEVELS
from sturdygp.methods.robust.search import Search
from sturdygp.methods.robust.variance_function import NoiseParameters
from sturdygp.optimise import Optimum
from sturdygp.status import Status

SHAPES = [Shape.normal(), Shape.flat(5)]


PARAMETERS = np.array([-1.0, 0.3, 0.6])


@pytest.fixture(scope="module", params=["outliers", "heteroscedastic", "uniform"])
def hypotheses(request):
    """Hypotheses about contaminated data, about growing noise and about uniform noise, hardly optimised."""
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 10.0, 80)
    noise = {
        "outliers": 0.1 * rng.standard_normal(80) + 3.0 * (np.arange(80) % 8 == 3),
        "heteroscedastic": 0.02 * np.exp(0.35 * x) * rng.standard_normal(80),
        "uniform": rng.uniform(-0.5, 0.5, 80),
    }[request.param]
    problem = Problem(x[:, None], np.sin(x) + noise, default_kernel(x[:, None]), np.random.default_rng(0))
    found, _ = Search(problem, ContaminationPrior(), 0.5, 1e-3, 100)._initial_hypotheses(list(LEVELS), 6)
    term = {"heteroscedastic": "variance_function", "uniform": "bounded_noise"}.get(request.param)
    assert term is None or max(getattr(each.score, term) for each in found) > 0.0
    return found


def test_score_separates_the_value_of_the_optimum_into_elbo_and_prior(hypotheses):
    for each in hypotheses:
        score, start = each.score, each.state
        assert score.elbo + score.parameter_prior == pytest.approx(each.optimum.value, rel=1e-12)
        # The latent part was updated last. The posterior that follows from it is better, but hardly.
        posterior = each.problem.prior(start.kernel).condition(
            each.model.sites(start.parameters, start.latent)
        )
        assert -1e-9 < posterior.log_evidence - score.elbo < 0.1


def test_score_total_is_what_hypotheses_are_judged_by(hypotheses):
    for each in hypotheses:
        assert each.score.total == pytest.approx(sum(astuple(each.score)), rel=1e-12)
        assert each.score.total == pytest.approx(each.judged, rel=1e-12)
        assert each.entry.score == each.score


def hypothesis_of(inlier, caution):
    """A hypothesis with these probabilities to be an inlier, without a posterior."""
    X = np.arange(float(inlier.size))[:, None]
    problem = Problem(X, np.zeros(inlier.size), default_kernel(X), np.random.default_rng(0))
    model = ContaminationModel(problem.y, SHAPES[0], ContaminationPrior(caution=caution))
    latent = MixtureState(np.vstack([inlier, 1.0 - inlier]), np.array(inlier.mean()))
    x = np.append(problem.kernel.theta, PARAMETERS)
    optimum = Optimum(x, 0.0, np.zeros_like(x), LatentState(latent), Status.CONVERGED, 1, 1, (0.0,))
    return Hypothesis(model, problem, FunctionPrior.of(problem, 1.5), optimum, 0.0)


@pytest.mark.parametrize("caution", [0.1, 1.0])
def test_structure_prior_grows_with_caution_and_for_few_observations(caution):
    def structure_prior(n):
        return hypothesis_of(np.where(np.arange(n) % 5 == 0, 0.0, 1.0), caution).structure_prior

    expected = -caution * (0.8**-2 - 1.0)
    assert structure_prior(100) == pytest.approx(expected)
    assert structure_prior(400) == pytest.approx(expected)
    assert structure_prior(50) == pytest.approx(2.0 * expected)


@pytest.mark.parametrize("caution", [0.1, 1.0])
def test_structure_prior_favours_clean_data_by_two_nats(caution):
    """Less than one outlier must be expected, however the probabilities are spread."""
    assert hypothesis_of(np.ones(200), caution).structure_prior == 2.0
    assert hypothesis_of(np.full(200, 1.0 - 0.9 / 200), caution).structure_prior == 2.0
    assert hypothesis_of(np.full(200, 1.0 - 1.1 / 200), caution).structure_prior < 0.0


def test_structure_prior_counts_inliers_as_heteroscedastic_noise_has_them():
    hypothesis = hypothesis_of(np.where(np.arange(200) % 5 == 0, 0.0, 1.0), 1.0)
    noise = NoiseParameters(0.999, np.zeros(3))
    hypothesis.__dict__["heteroscedasticity"] = SimpleNamespace(noise=noise, gain=1.0)
    assert hypothesis.structure_prior == 2.0


@pytest.mark.parametrize(
    ("inliers", "gain", "more"),
    [(40, 2.0, True), (40, 0.5, False), (30, 2.0, False), (20, 2.0, False)],
    ids=["more and better", "hardly better", "the same", "fewer"],
)
def test_predicts_more_than_takes_more_inliers_and_a_convincing_density(inliers, gain, more):
    one, other = (hypothesis_of(np.where(np.arange(50) < n, 1.0, 0.0), 1.0) for n in (inliers, 30))
    one.__dict__["leave_one_out_log_density"] = -100.0 + gain * CONVINCING
    other.__dict__["leave_one_out_log_density"] = -100.0
    assert one.predicts_more_than(other) is more


def test_leave_one_out_log_density_equals_refits_without_each_observation():
    rng, x = np.random.default_rng(3), np.linspace(0, 5, 25)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(25)
    y[[4, 11]] += 3.0
    problem = Problem(x, y, default_kernel(x), rng)
    found = Search(problem, ContaminationPrior(), 0.5, 1e-3, 100).best(list(LEVELS)).best
    sites, start = found.optimum.carry.posterior.sites, found.state
    c, weight = Contamination.of(start.parameters, found.model.shape), float(start.latent.inlier_weight)
    total = 0.0
    for i in range(25):
        silent = np.where(np.arange(25) == i, 0.0, sites.precision)
        mean = found.optimum.carry.posterior.mean
        others = condition(start.kernel, x, Sites(sites.target, silent, sites.log_scale), mean).predict(
            x[[i]]
        )
        cells = norm(others.mean + c.component_shift, np.sqrt(others.variance + c.component_variance)).pdf(
            y[i]
        )
        inlier = norm(others.mean, np.sqrt(others.variance + c.noise)).pdf(y[i])
        total += np.log(weight * inlier + (1.0 - weight) * cells.mean())[0]
    assert found.leave_one_out_log_density == pytest.approx(total, rel=1e-8)


def test_bounded_noise_gain_equals_entropies_and_is_zero_for_normal_noise():
    rng, n = np.random.default_rng(0), 2000
    known, inlier = Marginals(np.zeros(n), np.full(n, 1e-8)), np.ones(n)
    y = rng.uniform(-3.0, 3.0, n)
    normal = 0.5 * log(2.0 * pi * e * np.mean(y**2))
    expected = n * (normal - log(2.0 * np.abs(y).max())) - log(n)
    assert bounded_noise_gain(y, known, inlier) == pytest.approx(expected, abs=1.0)
    # Outliers do not count.
    far = np.append(y, 50.0)
    wider = Marginals(np.zeros(n + 1), np.full(n + 1, 1e-8))
    assert bounded_noise_gain(far, wider, np.append(inlier, 0.0)) == pytest.approx(expected, abs=1.0)
    assert bounded_noise_gain(rng.standard_normal(n), known, inlier) == 0.0
