"""Where readings are dense, what those around each say tells a function from faults."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import norm

from sturdygp import RobustGPRegressor, StandardGPRegressor
from sturdygp.gp import Sites, condition
from sturdygp.methods.alternating import resume
from sturdygp.methods.base import Problem, default_kernel, lengthened
from sturdygp.methods.robust import hypothesis, masking
from sturdygp.methods.robust.contamination import Contamination, ContaminationModel, Shape
from sturdygp.methods.robust.initialisation import around_neighbours, median_of_neighbours
from sturdygp.methods.robust.neighbours import around, nearest
from sturdygp.methods.robust.prior import ContaminationPrior
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
def test_a_peak_is_a_part_of_the_function(seed, noise):
    f, y = peak(seed, noise)
    model = RobustGPRegressor().fit(GRID[:, None], y)
    assert not (model.outlier_proba_ > 0.5).any()
    ordinary = StandardGPRegressor(n_starts=2).fit(GRID[:, None], y)
    assert rmse(f, model.predict(GRID[:, None])) < 1.1 * rmse(f, ordinary.predict(GRID[:, None]))


def test_a_peak_is_lost_where_readings_do_not_speak_for_themselves(monkeypatch):
    monkeypatch.setattr(hypothesis.Hypothesis, "predicts_more_than", lambda self, other: False)
    model = RobustGPRegressor().fit(GRID[:, None], peak(0, 0.1)[1])
    assert (model.outlier_proba_ > 0.5).sum() > 5


@pytest.mark.parametrize("seed", range(3))
def test_faults_beside_a_peak_are_found(seed):
    _, y = peak(seed, 0.1)
    bad = np.array([7, 23, 66])
    y[bad] += [2.5, -2.0, 3.0]
    flagged = np.flatnonzero(RobustGPRegressor().fit(GRID[:, None], y).outlier_proba_ > 0.5)
    assert set(bad) <= set(flagged)
    assert len(flagged) <= 4


@pytest.mark.parametrize("size", [1.5, 2.0])
def test_a_burst_has_sharp_edges_and_is_faulty(size):
    rng, x = np.random.default_rng(0), np.linspace(0, 10, 250)
    f, burst = 0.7 * x, slice(120, 140)
    y = f + 0.1 * rng.standard_normal(250)
    y[burst] += size
    flagged = RobustGPRegressor().fit(x[:, None], y).outlier_proba_ > 0.5
    assert flagged[burst].all()
    assert np.count_nonzero(flagged) <= 21


def test_rows_around_each_are_the_nearest_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    X[5] = X[6] = X[7]
    distance = cdist(X / X.std(axis=0), X / X.std(axis=0))
    np.fill_diagonal(distance, np.inf)
    found = around(X, 3)
    expected = np.sort(distance, axis=1)[:, :3]
    np.testing.assert_allclose(np.take_along_axis(distance, found, axis=1), expected)
    np.testing.assert_allclose(distance[np.arange(40), nearest(X)], expected[:, 0])


def test_all_rows_may_be_the_same():
    assert (around(np.zeros((6, 1)), 4) != np.arange(6)[:, None]).all()


def test_the_median_around_a_reading_does_not_know_it():
    x = np.arange(9.0)[:, None]
    y = np.where(np.arange(9) == 4, 100.0, x[:, 0])
    assert median_of_neighbours(x, y)[4] == pytest.approx(4.0)
    assert median_of_neighbours(x[:2], y[:2]).tolist() == [1.0, 0.0]


def test_a_start_from_neighbours_keeps_the_top_of_a_peak():
    _, y = peak(0, 0.1)
    model = ContaminationModel((y - np.median(y)) / 0.4, Shape.normal(), ContaminationPrior())
    kernel = lengthened(default_kernel(GRID[:, None]), SHORT)
    problem = Problem(GRID[:, None], model.y, kernel, np.random.default_rng(0))
    start = around_neighbours(problem, model, kernel)
    assert (start.latent.responsibility[0] > 0.5).mean() > 0.9
    assert start.latent.responsibility[0, np.argmax(y)] > 0.5
    assert start.kernel.variance > kernel.variance


def test_there_is_no_such_start_where_readings_are_few_or_agree_to_the_last_digit():
    for y in (np.arange(5.0), np.zeros(30), np.arange(30.0)):
        X = np.arange(float(y.size))[:, None]
        model, kernel = ContaminationModel(y, Shape.normal(), ContaminationPrior()), default_kernel(X)
        assert around_neighbours(Problem(X, y, kernel, np.random.default_rng(0)), model, kernel) is None


def test_readings_are_foretold_as_by_a_process_without_them():
    rng, x = np.random.default_rng(3), np.linspace(0, 5, 25)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(25)
    y[[4, 11]] += 3.0
    problem = Problem(x, y, default_kernel(x), rng)
    found, _ = Search(problem, ContaminationPrior(), 0.5, 1e-3, 100).best(list(LEVELS))
    sites, start = found.optimum.carry.posterior.sites, resume(problem.kernel, found.optimum)
    c, share, total = Contamination.of(start.extra, found.model.shape), float(start.latent.nominal), 0.0
    for i in range(25):
        silent = np.where(np.arange(25) == i, 0.0, sites.precision)
        mean = found.optimum.carry.posterior.mean
        others = condition(start.kernel, x, Sites(sites.target, silent, sites.log_scale), mean).predict(
            x[[i]]
        )
        cells = norm(others.mean + c.cell_shift, np.sqrt(others.variance + c.cell_variance)).pdf(y[i])
        nominal = norm(others.mean, np.sqrt(others.variance + c.noise)).pdf(y[i])
        total += np.log(share * nominal + (1.0 - share) * cells.mean())[0]
    assert found.leave_one_out_log_density == pytest.approx(total, rel=1e-8)


@pytest.mark.parametrize(("most", "misread"), [(masking.MOSTLY_INLIERS, 0), (0.0, 1)])
def test_noise_is_not_taken_for_faults_once_far_ones_are_set_aside(most, misread, monkeypatch):
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
