"""Where observations are dense, neighbours tell a function from outliers."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import norm

from sturdygp import RobustGPRegressor, StandardGPRegressor
from sturdygp.gp import Sites, condition
from sturdygp.inference.problem import Problem, default_kernel, lengthened
from sturdygp.inference.variational import resume
from sturdygp.likelihoods.contamination import Contamination, ContaminationModel, Shape
from sturdygp.likelihoods.contamination_prior import ContaminationPrior
from sturdygp.methods.robust import hypothesis, masking
from sturdygp.methods.robust.initialisation import around_neighbours, median_of_neighbours
from sturdygp.methods.robust.neighbours import around, nearest
from sturdygp.methods.robust.screening import LEVELS
from sturdygp.methods.robust.search import SHORT, Search
from sturdygp.metrics import rmse

GRID = np.linspace(0.0, 10.0, 80)


def peak(seed, noise):
    """A peak of five on a slope, six hundredths of the range wide at half of its height, and noise."""
    rng = np.random.default_rng(seed)
    f = 5.0 * np.exp(-0.5 * ((GRID - rng.uniform(3, 7)) / 0.25) ** 2) + 0.1 * GRID
    return f, f + noise * rng.standard_normal(f.size)


@pytest.mark.parametrize("noise", [0.02, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_robust_fit_keeps_a_peak(seed, noise):
    f, y = peak(seed, noise)
    model = RobustGPRegressor().fit(GRID[:, None], y)
    assert not (model.outlier_proba_ > 0.5).any()
    ordinary = StandardGPRegressor(n_starts=2).fit(GRID[:, None], y)
    assert rmse(f, model.predict(GRID[:, None])) < 1.1 * rmse(f, ordinary.predict(GRID[:, None]))


def test_predicts_more_than_is_what_keeps_a_peak(monkeypatch):
    monkeypatch.setattr(hypothesis.Hypothesis, "predicts_more_than", lambda self, other: False)
    model = RobustGPRegressor().fit(GRID[:, None], peak(0, 0.1)[1])
    assert (model.outlier_proba_ > 0.5).sum() > 5


@pytest.mark.parametrize("seed", range(3))
def test_robust_fit_finds_outliers_beside_a_peak(seed):
    _, y = peak(seed, 0.1)
    bad = np.array([7, 23, 66])
    y[bad] += [2.5, -2.0, 3.0]
    flagged = np.flatnonzero(RobustGPRegressor().fit(GRID[:, None], y).outlier_proba_ > 0.5)
    assert set(bad) <= set(flagged)
    assert len(flagged) <= 4


@pytest.mark.parametrize("size", [1.5, 2.0])
def test_robust_fit_finds_a_burst_of_outliers(size):
    rng, x = np.random.default_rng(0), np.linspace(0, 10, 250)
    f, burst = 0.7 * x, slice(120, 140)
    y = f + 0.1 * rng.standard_normal(250)
    y[burst] += size
    flagged = RobustGPRegressor().fit(x[:, None], y).outlier_proba_ > 0.5
    assert flagged[burst].all()
    assert np.count_nonzero(flagged) <= 21


def test_around_gives_the_nearest_other_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    X[5] = X[6] = X[7]
    distance = cdist(X / X.std(axis=0), X / X.std(axis=0))
    np.fill_diagonal(distance, np.inf)
    found = around(X, 3)
    expected = np.sort(distance, axis=1)[:, :3]
    np.testing.assert_allclose(np.take_along_axis(distance, found, axis=1), expected)
    np.testing.assert_allclose(distance[np.arange(40), nearest(X)], expected[:, 0])


def test_around_accepts_equal_rows():
    assert (around(np.zeros((6, 1)), 4) != np.arange(6)[:, None]).all()


def test_median_of_neighbours_leaves_out_the_observation():
    x = np.arange(9.0)[:, None]
    y = np.where(np.arange(9) == 4, 100.0, x[:, 0])
    assert median_of_neighbours(x, y)[4] == pytest.approx(4.0)
    assert median_of_neighbours(x[:2], y[:2]).tolist() == [1.0, 0.0]


def test_around_neighbours_keeps_the_top_of_a_peak():
    _, y = peak(0, 0.1)
    model = ContaminationModel((y - np.median(y)) / 0.4, Shape.normal(), ContaminationPrior())
    kernel = lengthened(default_kernel(GRID[:, None]), SHORT)
    problem = Problem(GRID[:, None], model.y, kernel, np.random.default_rng(0))
    start = around_neighbours(problem, model, kernel)
    assert (start.latent.responsibility[0] > 0.5).mean() > 0.9
    assert start.latent.responsibility[0, np.argmax(y)] > 0.5
    assert start.kernel.variance > kernel.variance


def test_around_neighbours_is_none_for_few_or_exact_observations():
    for y in (np.arange(5.0), np.zeros(30), np.arange(30.0)):
        X = np.arange(float(y.size))[:, None]
        model, kernel = ContaminationModel(y, Shape.normal(), ContaminationPrior()), default_kernel(X)
        assert around_neighbours(Problem(X, y, kernel, np.random.default_rng(0)), model, kernel) is None


def test_leave_one_out_log_density_equals_refits_without_each_observation():
    rng, x = np.random.default_rng(3), np.linspace(0, 5, 25)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(25)
    y[[4, 11]] += 3.0
    problem = Problem(x, y, default_kernel(x), rng)
    found = Search(problem, ContaminationPrior(), 0.5, 1e-3, 100).best(list(LEVELS)).best
    sites, start = found.optimum.carry.posterior.sites, resume(problem.kernel, found.optimum)
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


@pytest.mark.parametrize(("most", "misread"), [(masking.MOSTLY_INLIERS, 0), (0.0, 1)])
def test_masking_takes_no_noise_for_outliers(most, misread, monkeypatch):
    monkeypatch.setattr(masking, "MOSTLY_INLIERS", most)
    count = 0
    for seed in range(12):
        y = 7.0 + np.random.default_rng(seed).standard_normal(80)
        y[[11, 42, 60]] = -999.0
        fit = RobustGPRegressor(faults="many").fit(GRID[:, None], y)
        flagged = np.flatnonzero(fit.outlier_proba_ > 0.5)
        assert {11, 42, 60} <= set(flagged)
        count += len(flagged) > 10
    assert count >= misread if misread else count == 0
