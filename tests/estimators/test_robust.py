"""RobustGPRegressor: which observations it takes for outliers, and what it says of them."""

import re
from math import log

import numpy as np
import pytest
from references.problems import GRID, contaminated, peak
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels as sk

from sturdygp import MixtureGPRegressor, RobustGPRegressor, StandardGPRegressor
from sturdygp.datasets import FocusedOutliers, NormalOutliers, UniformOutliers, make_gp_sample, make_synthetic
from sturdygp.kernels import Matern52, SquaredExponential
from sturdygp.likelihoods.contamination_prior import ContaminationPrior
from sturdygp.methods.robust.neighbours import clustering
from sturdygp.metrics import rmse


def test_robust_fit_resists_focused_outliers():
    """Where outliers crowd they outnumber the inliers, so that locally they look right."""
    sample = make_gp_sample(seed=3)
    X, y, mask = FocusedOutliers().contaminate(sample.X, sample.y, np.random.default_rng(0))
    model = RobustGPRegressor().fit(X, y)
    assert np.mean((model.outlier_proba_ > 0.5) != mask) < 0.03
    assert np.mean(np.abs(model.predict(sample.X) - sample.f)) < 0.05


@pytest.mark.parametrize(
    ("rate", "outliers"),
    [(0.3, UniformOutliers(0.0, 10.0)), (0.4, NormalOutliers(0.0, 25.0)), (0.6, UniformOutliers(0.0, 10.0))],
)
def test_robust_fit_learns_contamination(rate, outliers):
    data = make_synthetic(rate=rate, outliers=outliers, seed=3)
    model = RobustGPRegressor().fit(data.X, data.y)
    np.testing.assert_allclose(model.contamination_rate_, data.outlier_mask.mean(axis=0), atol=0.15)
    np.testing.assert_allclose(model.contamination_shift_, outliers.mean, atol=1.8)
    np.testing.assert_allclose(model.contamination_spread_, np.sqrt(outliers.variance), rtol=0.35)
    error = np.sqrt(np.mean((model.predict(data.X_test) - data.f_test) ** 2))
    assert error < 0.5
    assert model.component_proba_.shape == (100, 4, 2)
    np.testing.assert_allclose(model.component_proba_.sum(axis=-1), 1.0)
    assert "too high" in model.summary() or outliers.mean == 0.0
    assert model.summary().count("That is most of them") == (model.contamination_rate_ > 0.5).sum()


def test_summary_suggests_the_other_regime_where_it_may_matter():
    data = make_synthetic(100, 1, rate=0.4, seed=3)
    assert 'compare with faults="many"' in RobustGPRegressor().fit(data.X, data.y[:, 0]).summary()
    many = RobustGPRegressor(faults="many").fit(data.X, data.y[:, 0]).summary()
    assert "compare with" not in many
    rng = np.random.default_rng(1)
    X, noise = rng.uniform(-3.0, 3.0, (60, 2)), rng.standard_normal(60)
    assert "The noise is larger than the function" in RobustGPRegressor().fit(X, noise).summary()
    clean = RobustGPRegressor().fit(X, np.sin(X[:, 0]) + 0.1 * noise).summary()
    assert "compare with" not in clean


def test_faults_few_finds_no_outliers_in_noise():
    """Pure noise: the majority are called outliers in a third of such data under the other assumption."""
    rates = {"few": [], "many": []}
    for seed in range(5000, 5003):
        rng = np.random.default_rng(seed)
        X, noise = rng.uniform(-3.0, 3.0, (100, 2)), rng.standard_normal(100)
        for faults, found in rates.items():
            found.append(RobustGPRegressor(faults=faults).fit(X, noise).contamination_rate_)
    assert max(rates["few"]) < 0.1
    assert max(rates["many"]) > 0.5


def test_prior_overrides_faults():
    data = make_synthetic(60, 1, rate=0.3, seed=4)
    prior = ContaminationPrior(caution=0.5)
    fits = [RobustGPRegressor(faults=faults, prior=prior).fit(data.X, data.y) for faults in ("few", "many")]
    np.testing.assert_array_equal(fits[0].bound_, fits[1].bound_)
    with pytest.raises(ValueError, match="faults must be one of 'few', 'many'; got 'some'"):
        RobustGPRegressor(faults="some").fit(data.X, data.y)


@pytest.mark.parametrize("periods", [2.0, 7.5, 12.0])
def test_robust_fit_keeps_fine_structure(periods):
    """Length scales much shorter than the initial ones are found, although outliers hide them."""
    rng = np.random.default_rng(3)
    x = np.linspace(0.0, 1.0, 90)
    f = np.sin(2.0 * np.pi * periods * x)
    outlier = np.arange(90) % 15 == 5
    y = f + 0.08 * rng.normal(size=90) + outlier * rng.choice([-1.0, 1.0], 90) * rng.uniform(1.2, 5.0, 90)
    model = RobustGPRegressor().fit(x[:, None], y)
    assert np.count_nonzero((model.outlier_proba_ > 0.5) != outlier) <= 1
    assert np.sqrt(np.mean((model.predict(x[:, None]) - f) ** 2)) < 0.1


def test_function_prior_rejects_chance_agreement():
    data = make_synthetic(100, rate=0.8, outliers=UniformOutliers(-5.0, 15.0), seed=3011)
    model = RobustGPRegressor(faults="many").fit(data.X, data.y)
    prior = ContaminationPrior(caution=0.1, signal=1e-3)
    without_floor = RobustGPRegressor(prior=prior).fit(data.X, data.y)
    error, without = (rmse(data.f_test, each.predict(data.X_test)) for each in (model, without_floor))
    assert error < 0.5 < 2.0 * error < without


@pytest.mark.parametrize(("caution", "rate"), [(1.0, 0.0), (0.1, 0.0), (1e-9, 0.9)])
def test_caution_keeps_noise_from_passing_for_outliers(caution, rate):
    """A few always agree: without caution, nine tenths of mere noise would be outliers."""
    prior, found = ContaminationPrior(caution=caution), []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.uniform(-3.0, 3.0, (200, 2)), rng.standard_normal(200)
        found.append(RobustGPRegressor(prior=prior).fit(X, y).contamination_rate_)
    assert np.median(found) == pytest.approx(rate, abs=0.1)
    assert caution < 0.1 or max(found) < 0.1


def test_robust_fit_of_clean_data_matches_standard_gp():
    data = make_synthetic(seed=2)
    robust, ordinary = (
        np.sqrt(np.mean((m.fit(data.X, data.y).predict(data.X_test) - data.f_test) ** 2))
        for m in (RobustGPRegressor(), StandardGPRegressor(n_starts=2))
    )
    assert robust < 1.05 * ordinary
    model = RobustGPRegressor().fit(data.X, data.y[:, 0])
    assert model.contamination_rate_ < 0.03
    assert "None of 100 readings" in model.summary()


@pytest.mark.parametrize("seed", [3, 5, 6])
def test_robust_fit_takes_no_heteroscedastic_noise_for_contamination(seed):
    """Observations on the right scatter four times as much: as independent outliers they are half of all."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 10.0, 120)[:, None]
    y = np.sin(x[:, 0]) + np.where(x[:, 0] < 5.0, 0.15, 0.6) * rng.standard_normal(120)
    assert RobustGPRegressor().fit(x, y).contamination_rate_ < 0.03


def test_robust_fit_finds_a_clustered_majority_of_outliers():
    data = make_synthetic(100, rate=0.6, outliers=UniformOutliers(-5.0, 15.0), seed=1001)
    model = RobustGPRegressor().fit(data.X, data.y[:, 1])
    assert clustering(model.kernel_(data.X), model.outlier_proba_) > 4.0
    assert rmse(data.f_test[:, 1], model.predict(data.X_test)) < 0.5


def test_robust_fit_takes_no_equal_outliers_for_the_function():
    """A fifth too high by the same: a function of its own, which four fifths contradict."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (3000, 1))
    outlier = rng.random(3000) < 0.2
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=3000) + 5.0 * outlier
    model = RobustGPRegressor(inducing=30).fit(X, y)
    np.testing.assert_array_equal(model.outlier_proba_ > 0.5, outlier)


def test_robust_fit_takes_no_logistic_noise_for_contamination():
    """Many observations show it beyond doubt: two components describe it better, but one is hardly wider."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (3000, 1))
    y = np.sin(X[:, 0]) + 0.17 * rng.logistic(size=3000)
    model = RobustGPRegressor(inducing=30).fit(X, y)
    assert model.contamination_rate_ < 0.03


def test_contamination_attributes_describe_narrow_outliers():
    """All at one value: narrower than the prior lets the contamination be, and further off."""
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 10.0, 100)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=100)
    y[::9] += 50.0
    model = RobustGPRegressor().fit(x, y)
    assert model.contamination_shift_ == pytest.approx(50.0, abs=0.2)
    assert model.contamination_spread_ == pytest.approx(0.1, abs=0.05)
    assert "off by 49.9 on average" in model.summary()


def test_contamination_attributes_describe_a_huge_fill_value():
    x = np.linspace(0, 10, 60)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(60)
    y[7] = 9.96921e36
    model = RobustGPRegressor().fit(x, y)
    assert np.flatnonzero(model.outlier_proba_ > 0.5).tolist() == [7]
    assert model.contamination_shift_ == pytest.approx(9.96921e36, rel=1e-6)


@pytest.mark.parametrize(
    ("sign", "words"), [((1, 1), "mostly too high"), ((-1, -1), "mostly too low"), ((1, -1), "on both sides")]
)
def test_summary_names_the_side_of_most_outliers(sign, words):
    """However much their sizes differ."""
    x = np.linspace(0, 10, 90)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(90)
    y[10:60:10] += np.resize(sign, 5) * np.array([3.0, 5.0, 60.0, 4.0, 12.0])
    assert words in RobustGPRegressor().fit(x, y).summary()


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("slope", [0.0, 0.5, -3.0])
def test_robust_fit_finds_outliers_smaller_than_the_signal(seed, slope):
    """Ten standard deviations of the noise, a fraction of the function."""
    rng, t = np.random.default_rng(seed), np.arange(200.0)
    y = 5.0 * np.sin(2.0 * np.pi * t / 50.0) + slope * t + 0.2 * rng.standard_normal(200)
    bad = rng.random(200) < 0.1
    y[bad] += 2.0
    model = RobustGPRegressor().fit(t[:, None], y)
    flagged = model.outlier_proba_ > 0.5
    assert flagged[bad].all()
    assert flagged[~bad].mean() < 0.03
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.2, rel=0.2)


@pytest.mark.parametrize("seed", [0, 1])
def test_robust_fit_follows_days_beside_an_irrelevant_input(seed):
    rng, hours = np.random.default_rng(seed), np.arange(240.0)
    y = 12.0 + 6.0 * np.sin(2.0 * np.pi * hours / 24.0) + 0.3 * rng.standard_normal(240)
    bad = rng.random(240) < 0.08
    y[bad] += rng.choice([5.0, 8.0], bad.sum())
    model = RobustGPRegressor().fit(np.column_stack([hours, rng.integers(0, 2, 240)]), y)
    flagged = model.outlier_proba_ > 0.5
    assert flagged[bad].all()
    assert flagged[~bad].mean() < 0.02


@pytest.mark.parametrize("estimator", [RobustGPRegressor(), MixtureGPRegressor()], ids=["robust", "mixture"])
@pytest.mark.parametrize("noise", [0.2, 0.5, 1.0])
def test_robust_fit_takes_no_rounding_for_contamination(estimator, noise):
    """Equal observations have an unbounded density: without a floor, one value is taken for the function."""
    rng, t = np.random.default_rng(1), np.arange(200.0)
    f = 20.5 + np.sin(2.0 * np.pi * t / 100.0)
    model = clone(estimator).fit(t[:, None], np.round(f + noise * rng.standard_normal(200)))
    assert np.mean(model.outlier_proba_ > 0.5) < 0.02
    assert rmse(f, model.predict(t[:, None])) < 0.4
    assert np.sqrt(model.noise_variance_) > 0.39


def test_robust_fit_finds_outliers_beside_a_constant():
    y = np.full(80, 37.0)
    y[[20, 21, 22, 50]] = -999.0, -999.0, -999.0, 41.0
    model = RobustGPRegressor().fit(np.arange(80.0)[:, None], y)
    assert np.flatnonzero(model.outlier_proba_ > 0.5).tolist() == [20, 21, 22, 50]
    assert np.sqrt(model.noise_variance_) < 0.5


@pytest.mark.parametrize("y_new", [60.0, -60.0, 1e4])
def test_outlier_proba_of_a_new_observation_allows_for_unseen_outliers(y_new):
    """On the other side, or much further off: that is no miracle."""
    x = np.linspace(0.0, 10.0, 80)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(80)
    y[::8] += 3.0
    model = RobustGPRegressor().fit(x, y)
    assert model.outlier_proba(x[:1], [y_new])[0] > 0.999
    of_a_thousand = norm.logpdf(y_new, model.predict(x[:1])[0], 10.0 * np.hypot(3.0, 2.0)) + log(1e-3)
    density = model.log_predictive_density(x[:1], [y_new], allow_outliers=True)[0]
    if abs(y_new) < 100.0:
        assert density == pytest.approx(of_a_thousand, abs=1.0)
    assert np.isfinite(density)


def test_weights_are_the_expected_precision_of_components():
    data = make_synthetic(60, 10, rate=0.3, seed=1)
    model = RobustGPRegressor().fit(data.X, data.y[:, 0])
    narrow = model.noise_variance_ / model._outputs[0].scaling.scale ** 2
    likelihood = model._outputs[0].fit.likelihood
    kept = narrow / float(likelihood.contamination.component_variance)
    expected = 1.0 - model.outlier_proba_ + model.outlier_proba_ * kept
    np.testing.assert_allclose(model.weights_, np.minimum(expected, 1.0), rtol=1e-6)


def test_length_scale_prior_does_not_depend_on_notation():
    x = np.linspace(0.0, 6.0, 60)[:, None]
    y = np.sin(2.0 * x[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(60)
    one, other = (RobustGPRegressor(kernel=SquaredExponential(length)).fit(x, y) for length in (1.0, (1.0,)))
    assert one.bound_ == pytest.approx(other.bound_, abs=1e-6)
    np.testing.assert_allclose(one.predict(x), other.predict(x), rtol=1e-6)


@pytest.mark.parametrize("noise", [0.02, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_robust_fit_keeps_a_peak(seed, noise):
    f, y = peak(seed, noise)
    model = RobustGPRegressor().fit(GRID[:, None], y)
    assert not (model.outlier_proba_ > 0.5).any()
    ordinary = StandardGPRegressor(n_starts=2).fit(GRID[:, None], y)
    assert rmse(f, model.predict(GRID[:, None])) < 1.1 * rmse(f, ordinary.predict(GRID[:, None]))


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


@pytest.mark.parametrize("seed", [0, 3, 5, 10])
def test_robust_fit_finds_fill_values_in_heteroscedastic_noise(seed):
    """What a fill value leaves of the others must not send the steps of their noise anywhere."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 10.0, 60)
    y = 10.0 + np.sin(x) + 0.05 * np.exp(0.3 * x) * rng.standard_normal(60)
    fill = rng.random(60) < 0.05
    y[fill] = 9999.0
    flagged = RobustGPRegressor().fit(x[:, None], y).outlier_proba_ > 0.5
    assert flagged[fill].all()
    assert np.count_nonzero(flagged[~fill]) <= 6


@pytest.mark.parametrize("n", [8, 12, 20])
def test_robust_fit_does_not_overfit_few_observations(n):
    """The prior of the noise must not outweigh a dozen observations."""
    covered, found = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, new = np.linspace(0.0, 5.0, n), np.linspace(0.0, 5.0, 100)
        model = RobustGPRegressor().fit(x[:, None], 5.0 + np.sin(x) + 0.5 * rng.standard_normal(n))
        mean, std = model.predict(new[:, None], return_std=True, include_noise=True)
        again = 5.0 + np.sin(new) + 0.5 * rng.standard_normal(100)
        covered.append(np.mean(np.abs(again - mean) < 1.96 * std))
        found.append(np.sqrt(model.noise_variance_) / 0.5)
    assert np.mean(covered) > 0.7
    assert np.mean(found) > 0.65


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_robust_fit_takes_no_uniform_noise_for_outliers(seed, rate):
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 10.0, 300)
    y = np.sin(x) + rng.uniform(-1.0, 1.0, 300)
    bad = rng.random(300) < rate
    y[bad] += 8.0
    flagged = RobustGPRegressor().fit(x[:, None], y).outlier_proba_ > 0.5
    np.testing.assert_array_equal(flagged, bad)


def test_robust_fit_ignores_a_constant_column():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.0, 10.0, 100))
    f = 5.0 + 4.0 * np.sin(x)
    y = f + 0.1 * f * rng.normal(size=100)
    alone = RobustGPRegressor().fit(x[:, None], y)
    beside = RobustGPRegressor().fit(np.column_stack([x, np.ones((100, 3))]), y)
    assert alone.inlier_std_.max() > 2.0 * alone.inlier_std_.min()
    np.testing.assert_allclose(beside.inlier_std_, alone.inlier_std_, rtol=0.05)
    np.testing.assert_array_equal(beside.outlier_proba_ > 0.5, alone.outlier_proba_ > 0.5)


def test_robust_fit_refuses_a_function_without_noise():
    x = np.linspace(0, 5, 20)[:, None]
    refused = pytest.raises(ValueError, match=r"output 0 cannot be fitted.* in the units of y")
    with refused, pytest.warns(UserWarning, match="not free to follow it"):
        RobustGPRegressor(kernel=sk.RBF(1.0)).fit(x, 1e-14 * np.sin(x[:, 0]))


@pytest.mark.parametrize("kernel", [Matern52(), 2.0 * Matern52(), sk.ConstantKernel() * sk.RBF()], ids=repr)
@pytest.mark.parametrize("unit", [0.02, 1.0, 50.0])
def test_kernel_of_free_variance_does_not_depend_on_the_unit_of_y(kernel, unit):
    rng, x = np.random.default_rng(0), np.linspace(0, 10, 120)[:, None]
    y, bad = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(120), np.arange(120) % 10 == 3
    y[bad] += 3.0
    model = RobustGPRegressor(kernel=kernel).fit(x, unit * y)
    np.testing.assert_array_equal(model.outlier_proba_ > 0.5, bad)


def test_outlier_proba_finds_outliers_on_a_side_not_seen():
    """All outliers of the fit are too high; a monitor must tell one that is too low."""
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0, 10, 300))[:, None]
    y = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(300)
    y[rng.random(300) < 0.1] += 5.0
    model = RobustGPRegressor().fit(x, y)
    below = np.sin(4.0) - np.array([0.0, 0.2, 0.7, 1.0, 100.0])
    proba = model.outlier_proba(np.full((5, 1), 4.0), below)
    np.testing.assert_array_less(proba[:2], 0.05)
    np.testing.assert_array_less(0.95, proba[2:])


def test_robust_fit_does_not_depend_on_row_order_with_many_inputs():
    rng = np.random.default_rng(108)
    X = rng.uniform(0, 1, (100, 4))
    y = np.sin(6 * X[:, 0]) + (X[:, 1:] ** 2).sum(axis=1) + 0.2 * rng.standard_normal(100)
    outlier = rng.random(100) < 0.2
    y[outlier] += rng.normal(0, 3, outlier.sum())
    order = np.random.default_rng(9).permutation(100)
    one, other = RobustGPRegressor().fit(X, y), RobustGPRegressor().fit(X[order], y[order])
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-5)


def test_robust_estimator_refuses_bad_verbose_and_scalar_y(data):
    with pytest.raises(ValueError, match="verbose must be 0, 1 or 2, got 'much'"):
        RobustGPRegressor(verbose="much").fit(data.X, data.y[:, 0])
    model = RobustGPRegressor().fit(data.X, data.y[:, 0])
    with pytest.raises(ValueError, match=r"y must have shape .* got the single value 3\.0"):
        model.outlier_proba(data.X[:1], 3.0)


def explained(table):
    """Rows of a printed table as dictionaries."""
    header, *rows = (re.split(r"\s{2,}", line) for line in table.splitlines())
    return [dict(zip(header, row, strict=True)) for row in rows]


TERMS = ["elbo", "parameter prior", "occam", "variance function", "structure prior", "bounded noise"]


def assert_explains(table, model):
    """The winner comes first, all others in the order of their scores, and the columns add up."""
    rows = explained(table)
    scores = [float(row["score"]) for row in rows]
    assert scores[1:] == sorted(scores[1:], reverse=True)
    assert scores[0] >= max(scores) or rows[0]["hypothesis"].endswith(" *")
    assert float(rows[0]["noise"]) == pytest.approx(np.sqrt(model.noise_variance_), rel=0.01)
    for row, score in zip(rows, scores, strict=True):
        # Each of seven numbers is rounded to a tenth.
        assert sum(float(row[term]) for term in TERMS) == pytest.approx(score, abs=0.36)
    return rows


@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_explain_of_contaminated_data_names_outliers_first(unit):
    x, _, y = contaminated()
    model = RobustGPRegressor().fit(x, unit * y)
    table, legend = model.explain().split("\n\n")
    rows = assert_explains(table, model)
    assert rows[0]["hypothesis"].endswith(" outliers")
    assert float(rows[0]["outliers"].rstrip("%")) == pytest.approx(12.5, abs=1.0)
    assert float(rows[0]["structure prior"]) < 0.0
    clean = next(row for row in rows if row["hypothesis"].startswith("no outliers"))
    assert float(clean["structure prior"]) == 2.0
    assert float(clean["score"]) < float(rows[0]["score"]) - 10.0
    assert legend.startswith("The winner comes first")


def test_explain_of_clean_data_names_no_outliers_first():
    x, f, _ = contaminated()
    model = RobustGPRegressor().fit(x, f + 0.1 * np.random.default_rng(1).standard_normal(80))
    rows = assert_explains(model.explain().split("\n\n")[0], model)
    assert rows[0]["hypothesis"] == "no outliers"
    assert (rows[0]["outliers"], rows[0]["structure prior"]) == ("0.0%", "2.0")


def test_explain_of_two_outputs_has_a_table_for_each_and_one_legend():
    x, f, y = contaminated()
    clean = f + 0.1 * np.random.default_rng(1).standard_normal(80)
    both, alone = RobustGPRegressor().fit(x, np.c_[y, clean]), RobustGPRegressor().fit(x, y)
    first, second, legend = both.explain().split("\n\n")
    assert first == "Output 0\n" + alone.explain().split("\n\n")[0]
    assert second.startswith("Output 1\nhypothesis")
    assert explained(second.split("\n", 1)[1])[0]["hypothesis"] == "no outliers"
    assert legend.startswith("The winner comes first")


def test_explain_stars_a_winner_that_predicts_better_than_a_higher_score():
    x, rng = np.linspace(0.0, 10.0, 80), np.random.default_rng(0)
    peak = 5.0 * np.exp(-0.5 * ((x - rng.uniform(3, 7)) / 0.25) ** 2) + 0.1 * x
    model = RobustGPRegressor().fit(x[:, None], peak + 0.1 * rng.standard_normal(80))
    rows = assert_explains(model.explain().split("\n\n")[0], model)
    assert rows[0]["hypothesis"] == "no outliers *"
    assert float(rows[0]["score"]) < float(rows[1]["score"])
    assert not any(row["hypothesis"].endswith("*") for row in rows[1:])


def test_explain_refuses_an_estimator_that_is_not_fitted():
    with pytest.raises(NotFittedError):
        RobustGPRegressor().explain()
