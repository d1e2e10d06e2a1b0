"""Learned contamination: its ELBO, gradients and moments against something independent."""

from copy import deepcopy
from dataclasses import astuple, replace
from math import exp, log
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import cauchy, multivariate_normal, norm
from sklearn.base import clone
from sklearn.gaussian_process import kernels as sk

from sturdygp import MixtureGPRegressor, RobustGPRegressor, StandardGPRegressor, load
from sturdygp.datasets import (
    FocusedOutliers,
    NormalOutliers,
    UniformOutliers,
    make_gp_sample,
    make_synthetic,
)
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp import Marginals, Sites
from sturdygp.gp.low_rank import LEVEL_PRECISION, RoughPrior
from sturdygp.inference.expectation_propagation import Propagation
from sturdygp.inference.problem import Problem, default_kernel, with_fine_part
from sturdygp.inference.variational import LatentState, expected_log_sites
from sturdygp.kernels import Constant, Matern32, SquaredExponential, as_kernel
from sturdygp.likelihoods.contamination import (
    Contamination,
    ContaminationModel,
    FittedContamination,
    MixtureState,
    Shape,
)
from sturdygp.likelihoods.contamination_prior import LARGEST_SHIFT, ContaminationPrior
from sturdygp.methods.fit import Score
from sturdygp.methods.robust import search
from sturdygp.methods.robust.heteroscedastic import parameter_covariance
from sturdygp.methods.robust.hypothesis import Hypothesis
from sturdygp.methods.robust.initialisation import second_part_initialisations
from sturdygp.methods.robust.neighbours import clustering
from sturdygp.methods.robust.prior import FunctionPrior, ThetaPrior, length_scale_prior
from sturdygp.methods.robust.screening import LEVELS, InitialState, Screening, distinct
from sturdygp.methods.robust.search import Search
from sturdygp.methods.robust.variance_function import NoiseParameters
from sturdygp.metrics import rmse
from sturdygp.optimise import Optimum
from sturdygp.status import Status

SHAPES = [Shape.normal(), Shape.flat(5)]
IDS = [shape.name for shape in SHAPES]
PARAMETERS = np.array([-1.0, 0.3, 0.6])


@pytest.fixture(params=SHAPES, ids=IDS)
def shape(request):
    return request.param


@pytest.fixture(
    params=[np.ones(1), np.exp(np.linspace(-2.0, 2.0, 25))], ids=["homoscedastic", "heteroscedastic"]
)
def model(request, shape):
    y = np.random.default_rng(0).normal(size=25)
    return ContaminationModel(y, shape, ContaminationPrior(noise_scale=0.3), request.param)


@pytest.fixture
def marginals():
    rng = np.random.default_rng(1)
    return Marginals(rng.normal(size=25), rng.uniform(0.1, 0.5, 25))


def elbo(model, parameters, latent, marginals):
    return expected_log_sites(model.sites(parameters, latent), marginals) + model.log_prior(
        parameters, latent
    )


def mixture_state(model, rng):
    return MixtureState(rng.dirichlet(np.ones(1 + model.shape.centres.size), model.y.size).T, np.float64(0.6))


@pytest.mark.parametrize("cells", [1, 4, 5, 8])
def test_shape_is_standardised(cells):
    shape = Shape.flat(cells)
    assert shape.centres.mean() == pytest.approx(0.0, abs=1e-15)
    assert np.mean(shape.centres**2) + shape.width**2 == pytest.approx(1.0)


def test_extra_gradient_equals_central_differences(model, marginals):
    latent = mixture_state(model, np.random.default_rng(2))
    step = 1e-5
    numeric = [
        (elbo(model, PARAMETERS + h, latent, marginals) - elbo(model, PARAMETERS - h, latent, marginals))
        / (2 * step)
        for h in step * np.eye(3)
    ]
    np.testing.assert_allclose(model.parameter_gradient(PARAMETERS, latent, marginals), numeric, rtol=1e-6)


def test_sites_equal_expected_log_joint(model, marginals):
    latent = mixture_state(model, np.random.default_rng(3))
    c, r = Contamination.of(PARAMETERS, model.shape), latent.responsibility
    share = np.append(0.6, np.full(model.shape.centres.size, 0.4 / model.shape.centres.size))
    shift, cells = np.append(0.0, c.component_shift), np.full((25, share.size - 1), c.component_variance)
    sd = np.sqrt(np.column_stack([np.broadcast_to(c.noise * model.relative_noise, 25), cells]))
    f = 0.37
    direct = (r.T * (np.log(share / r.T) + norm.logpdf(model.y[:, None], f + shift, sd))).sum(axis=1)
    sites = model.sites(PARAMETERS, latent)
    np.testing.assert_allclose(sites.log_scale - 0.5 * sites.precision * (sites.target - f) ** 2, direct)


def test_update_raises_elbo_to_its_maximum(model, marginals):
    latent = mixture_state(model, np.random.default_rng(4))
    values = [elbo(model, PARAMETERS, latent, marginals)]
    for _ in range(60):
        latent = model.update(PARAMETERS, latent, marginals)
        values.append(elbo(model, PARAMETERS, latent, marginals))
    assert np.all(np.diff(values) > -1e-10)
    for weight in (latent.inlier_weight - 0.01, latent.inlier_weight + 0.01):
        assert elbo(model, PARAMETERS, MixtureState(latent.responsibility, weight), marginals) < values[-1]


@pytest.mark.parametrize("relative", [1.0, 5.0])
def test_tilted_moments_equal_quadrature(shape, relative):
    c = Contamination.of(PARAMETERS, shape)
    likelihood = FittedContamination(c, 0.7, relative_noise=np.array([relative]))
    variance_of_each = np.append(relative * c.noise, np.full(shape.centres.size, c.component_variance))
    y, mean, variance = 1.3, 0.2, 0.4
    tilted = likelihood.tilted(np.array([y]), Marginals(np.array([mean]), np.array([variance])))

    def joint(f, power):
        noise = likelihood.mixing_weight @ norm.pdf(y, f + likelihood.shift, np.sqrt(variance_of_each))
        return f**power * norm.pdf(f, mean, np.sqrt(variance)) * noise

    z, first, second = (quad(joint, -8, 8, args=(k,), epsabs=1e-12)[0] for k in range(3))
    assert tilted.log_z[0] == pytest.approx(log(z), rel=1e-9)
    assert tilted.moments.mean[0] == pytest.approx(first / z, rel=1e-8)
    assert tilted.moments.variance[0] == pytest.approx(second / z - (first / z) ** 2, rel=1e-7)


def test_contamination_round_trips_through_its_coordinates():
    c = Contamination(0.04, -1.5, 1.2, Shape.normal())
    again = Contamination.of(c.parameters, c.shape)
    assert (again.noise, again.shift, again.scale) == pytest.approx((0.04, -1.5, 1.2))
    assert c.parameters[0] == pytest.approx(log(0.04))
    assert exp(c.parameters[1]) == pytest.approx(1.2)


def test_best_extra_is_where_the_gradient_vanishes(model, marginals):
    latent, parameters = mixture_state(model, np.random.default_rng(5)), PARAMETERS
    values = []
    burden = 3.0
    for _ in range(30):
        values.append(elbo(model, parameters, latent, marginals) - 0.5 * burden * exp(parameters[0]))
        parameters = model.best_parameters(parameters, latent, marginals, burden)
    assert np.all(np.diff(values) > -1e-10)
    by_burden = np.array([0.5 * burden * exp(parameters[0]), 0.0, 0.0])
    np.testing.assert_allclose(model.parameter_gradient(parameters, latent, marginals), by_burden, atol=1e-6)


def test_best_extra_at_a_bound_is_the_best_within_it(model, marginals):
    """Far outliers that are nearly equal: their shift is larger, in units of their spread, than its bound."""
    outlier, cells = np.arange(25) < 15, model.shape.centres.size
    moved = replace(model, y=model.y + 400.0 * outlier)
    latent = MixtureState(np.vstack([~outlier, np.tile(outlier / cells, (cells, 1))]), np.float64(0.4))
    parameters = PARAMETERS
    for _ in range(50):
        parameters = moved.best_parameters(parameters, latent, marginals, np.array(0.0))
    assert parameters[2] == moved.prior.box[2, 1]
    by_noise, by_scale, by_offset = moved.parameter_gradient(parameters, latent, marginals)
    np.testing.assert_allclose([by_noise, by_scale], 0.0, atol=1e-6)
    assert by_offset > 0.0


def test_rough_prior_with_all_features_equals_the_process():
    rng, amplitude = np.random.default_rng(6), 1.7
    X, kernel = rng.uniform(size=(12, 2)), SquaredExponential((0.3, 0.4))
    sites = Sites(rng.normal(size=12), rng.uniform(0.5, 4.0, 12), rng.normal(size=12))
    rough = RoughPrior.of(kernel, X, 12)
    posterior = rough.condition(sites, np.float64(amplitude))
    features = rough.basis[:, 1:]
    K = amplitude * features @ features.T + 1.0 / LEVEL_PRECISION
    np.testing.assert_allclose(features @ features.T, kernel(X), atol=1e-3)
    A = K + np.diag(1.0 / sites.precision)
    mean = K @ np.linalg.solve(A, sites.target)
    np.testing.assert_allclose(posterior.marginals.mean, mean, atol=1e-8)
    variance = np.diag(K - K @ np.linalg.solve(A, K))
    np.testing.assert_allclose(posterior.marginals.variance, variance, atol=1e-8)
    # The sites are normal densities of their targets, up to a factor.
    factor = sites.log_scale + 0.5 * np.log(2 * np.pi / sites.precision)
    evidence = multivariate_normal(cov=A).logpdf(sites.target) + factor.sum()
    assert posterior.log_evidence == pytest.approx(evidence, abs=1e-6)


def test_screening_raises_elbo(shape):
    data = make_synthetic(60, rate=0.5, seed=4)
    y = (data.y[:, 0] - np.median(data.y[:, 0])) / 2.0
    model = ContaminationModel(y, shape, ContaminationPrior())
    screening = Screening.of(SquaredExponential((2.0, 2.0)), data.X, 1.5)
    start = InitialState.stacked([level.initial_state(model, 0.5) for level in LEVELS])
    values = [
        [screened.value for screened in screening.improved(model, start, iterations)]
        for iterations in range(12)
    ]
    assert np.all(np.diff(values, axis=0) > -1e-8)


def test_screening_of_stacked_states_equals_each_alone(shape):
    data = make_synthetic(30, rate=0.5, seed=4)
    model = ContaminationModel(data.y[:, 0], shape, ContaminationPrior())
    screening = Screening.of(SquaredExponential((2.0, 2.0)), data.X, 1.5)
    starts = [level.initial_state(model, 0.5) for level in LEVELS[:4]]
    together = screening.improved(model, InitialState.stacked(starts), 4)
    for start, screened in zip(starts, together, strict=True):
        (alone,) = screening.improved(model, InitialState.stacked([start]), 4)
        np.testing.assert_allclose(screened.inlier, alone.inlier, rtol=1e-9)
        assert screened.value == pytest.approx(alone.value, rel=1e-9)


def test_distinct_keeps_one_of_equal_judgements():
    data = make_synthetic(60, rate=0.3, seed=4)
    model = ContaminationModel(data.y[:, 0], SHAPES[0], ContaminationPrior())
    screening = Screening.of(SquaredExponential((2.0, 2.0)), data.X, 1.5)
    (screened,) = screening.improved(model, InitialState.stacked([LEVELS[0].initial_state(model, 0.5)]), 3)
    (other,) = screening.improved(model, InitialState.stacked([LEVELS[3].initial_state(model, 0.5)]), 0)
    kept = distinct([other, screened, screened])
    assert kept == sorted([screened, other], key=lambda each: -each.value)
    assert distinct([other, screened], margin=0.0) == kept[:1]


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


@pytest.fixture(scope="module")
def coarse_and_fine():
    """A smooth surface with a ripple in one input, and a tenth of the observations too high."""
    rng = np.random.default_rng(1)

    def truth(X):
        return 2.0 * np.sin(X[:, 0]) * np.cos(X[:, 1]) + X[:, 2] + 0.3 * np.sin(7.0 * X[:, 1])

    X, Z = rng.uniform(-2.0, 2.0, (200, 3)), rng.uniform(-2.0, 2.0, (200, 3))
    y = truth(X) + 0.05 * rng.normal(size=200)
    y[rng.choice(200, 20, replace=False)] += rng.uniform(1.0, 5.0, 20)
    return X, y, Z, truth(Z)


@pytest.fixture(scope="module")
def in_two_parts(coarse_and_fine):
    X, y, _, _ = coarse_and_fine
    return RobustGPRegressor().fit(X, y)


def test_second_kernel_part_follows_fine_structure(coarse_and_fine, in_two_parts):
    X, y, Z, f = coarse_and_fine
    one = RobustGPRegressor(kernel=default_kernel(X)).fit(X, y)
    assert isinstance(one.kernel_, SquaredExponential)
    coarse, fine = in_two_parts.kernel_.parts
    assert coarse.variance > 10.0 * fine.variance
    assert fine.length_scale[1] < 0.5 < coarse.length_scale[1]
    errors = [rmse(f, model.predict(Z)) for model in (in_two_parts, one)]
    assert errors[0] < 0.05
    assert errors[1] > 0.2
    penalty = (in_two_parts.kernel_.theta.size - one.kernel_.theta.size) * log(len(y))
    assert in_two_parts.bound_ > one.bound_ + penalty
    assert in_two_parts.contamination_rate_ == pytest.approx(0.1, abs=0.02)
    assert np.all(np.diff(in_two_parts.trace_) >= -1e-8)


@pytest.mark.parametrize(("doubt", "parts"), [(None, 2), (0.0, 1)])
def test_second_kernel_part_is_found_although_it_lowers_elbo_at_first(doubt, parts, monkeypatch):
    if doubt is not None:
        monkeypatch.setattr(search, "DOUBT", (doubt, doubt))
    rng = np.random.default_rng(1)
    X = rng.uniform(-2.0, 2.0, (200, 3))
    y = 2.0 * np.sin(X[:, 0]) * np.cos(X[:, 1]) + X[:, 2] + 0.3 * np.sin(10.0 * X[:, 1])
    model = RobustGPRegressor().fit(X, y + 0.05 * rng.normal(size=200))
    assert len(model.kernel_.parameter_names) == 4 * parts
    assert (model.noise_variance_ < 2.0 * 0.05**2) == (parts == 2)


def test_second_kernel_part_survives_warm_start_and_file(coarse_and_fine, in_two_parts, tmp_path):
    X, y, Z, _ = coarse_and_fine
    mean, std = in_two_parts.predict(Z, return_std=True)
    in_two_parts.save(tmp_path / "two.sturdygp")
    np.testing.assert_array_equal(load(tmp_path / "two.sturdygp").predict(Z), mean)
    warm = deepcopy(in_two_parts).set_params(warm_start=True).fit(X, y)
    assert warm.n_iter_ < 5
    assert warm.kernel_.parameter_names == in_two_parts.kernel_.parameter_names
    np.testing.assert_allclose(warm.predict(Z), mean, atol=1e-2 * std.max())


def test_second_kernel_part_is_not_added_to_smooth_data_or_inducing_inputs(coarse_and_fine):
    X, y, _, _ = coarse_and_fine
    smooth = make_synthetic(80, rate=0.2, seed=1)
    assert isinstance(RobustGPRegressor().fit(smooth.X, smooth.y[:, 0]).kernel_, SquaredExponential)
    assert isinstance(RobustGPRegressor(inducing=40).fit(X, y).kernel_, SquaredExponential)


def test_with_fine_part_begins_short_within_bounds():
    X = np.column_stack([np.linspace(0.0, 10.0, 30), np.full(30, 2.0)])
    kernel = default_kernel(X)
    both = with_fine_part(kernel, X)
    assert both.parts[0] is kernel
    assert both.parts[1].length_scale_bounds == kernel.length_scale_bounds
    assert both.parts[1].length_scale[0] == pytest.approx(0.3 * X[:, 0].std())
    # An input that does not vary has no scale; its shortest does no harm.
    assert both.parts[1].length_scale[1] == kernel.length_scale_bounds[1][0]


@pytest.mark.parametrize("inputs", [1, 4])
def test_second_part_initialisations_take_half_of_the_noise(inputs):
    X = np.random.default_rng(0).normal(size=(30, inputs))
    kernel = default_kernel(X)
    both = with_fine_part(kernel, X)
    x = np.concatenate([kernel.theta, [log(0.04), 0.0, 0.0]])
    found = Optimum(x, 0.0, np.zeros_like(x), LatentState(None), Status.CONVERGED, 1, 1, (0.0,))
    starts = second_part_initialisations(both, found)
    for start, longer in zip(starts, (1.0, 2.0), strict=False):
        coarse, fine = start.kernel.parts
        assert coarse.theta == pytest.approx(kernel.theta)
        assert (fine.variance, exp(start.parameters[0])) == pytest.approx((0.02, 0.02))
        assert fine.length_scale == pytest.approx(longer * np.array(both.parts[1].length_scale))
    # One input has one length.
    assert len(starts) == min(inputs, 2)


def test_theta_prior_is_cauchy_with_its_gradient():
    prior = ThetaPrior(np.array([0.3, 0.0, -1.0]), np.array([0.5, np.inf, 2.0]))
    theta = np.array([1.1, 7.0, -3.0])
    mode = np.array([0.3, 7.0, -1.0])
    expected = [
        cauchy.logpdf(x, c, w) - cauchy.logpdf(c, c, w) for x, c, w in ((1.1, 0.3, 0.5), (-3.0, -1.0, 2.0))
    ]
    assert prior.log_density(theta) - prior.log_density(mode) == pytest.approx(sum(expected))
    h = 1e-6
    differences = [
        (prior.log_density(theta + step) - prior.log_density(theta - step)) / (2 * h)
        for step in h * np.eye(3)
    ]
    np.testing.assert_allclose(prior.gradient(theta), differences, atol=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [
        SquaredExponential((0.7, 2.0), 0.3),
        Constant(0.2) * Matern32((1.0, 1.0)) + SquaredExponential(1.0, 0.1),
        as_kernel(sk.ConstantKernel(0.5) * sk.RBF((1.0, 1.0)) + sk.DotProduct()),
    ],
    ids=repr,
)
def test_function_prior_has_a_signal_to_noise_floor_with_its_gradient(kernel):
    X = np.random.default_rng(0).normal(size=(40, 2))
    prior = FunctionPrior.of(Problem(X, X[:, 0], kernel, np.random.default_rng(0)), 1.5)
    parameters = np.array([-0.4, 0.3, 0.8])
    found = prior.at(kernel, parameters)
    squared_ratio = kernel.diag(X).mean() / np.exp(parameters[0])
    lengths = length_scale_prior(kernel, X).log_density(kernel.theta)
    assert found.value == pytest.approx(lengths - 0.5 * 1.5**2 / squared_ratio)
    both, size, h = np.concatenate([kernel.theta, parameters]), kernel.theta.size, 1e-6
    values = [
        prior.at(kernel.with_theta((both + step)[:size]), (both + step)[size:]).value
        for step in (*(h * np.eye(both.size)), *(-h * np.eye(both.size)))
    ]
    differences = (np.array(values[: both.size]) - np.array(values[both.size :])) / (2.0 * h)
    np.testing.assert_allclose(np.concatenate([found.by_theta, found.by_parameters]), differences, atol=1e-8)


def test_screening_maximises_elbo_in_the_amplitude():
    """The ELBO is that of the features plus the floor; nothing but the factor moves in it."""
    data = make_synthetic(60, rate=0.3, seed=4)
    X, y = data.X, data.y[:, 0] / 4.0
    kernel = SquaredExponential((2.0, 2.0), 0.8)
    screening = Screening.of(kernel, X, 1.5)
    sites = Sites.gaussian(y, 0.1)
    floor = 1.5**2 / 0.8

    def elbo_at(factor: float) -> float:
        posterior = screening.prior.condition(sites, np.array(factor))
        return float(posterior.log_evidence) - 0.5 * floor * 0.1 / factor

    factor = 1.0
    for _ in range(500):
        posterior = screening.prior.condition(sites, np.array(factor))
        factor = float(posterior.amplitude) + screening.floor * 0.1 / screening.prior.rank
    assert elbo_at(factor) > max(elbo_at(0.98 * factor), elbo_at(1.02 * factor))


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


@pytest.mark.parametrize(
    ("kernel", "with_prior"),
    [
        (SquaredExponential((1.0, 1.0)), 2),
        (SquaredExponential(1.0), 0),
        (Constant() * Matern32((1.0, 1.0)), 2),
        (as_kernel(sk.ConstantKernel() * sk.RBF((1.0, 1.0))), 2),
    ],
)
def test_length_scale_prior_covers_single_inputs_in_every_kernel(kernel, with_prior):
    X = np.random.default_rng(0).normal(size=(20, 2))
    assert np.isfinite(length_scale_prior(kernel, X).width).sum() == with_prior
    # A further part of the kernel has none.
    both = kernel + SquaredExponential((0.1, 0.1))
    prior = length_scale_prior(both, X, fine=3)
    assert np.isfinite(prior.width).sum() == with_prior
    assert np.isinf(prior.width[-3:]).all()


def test_settled_agrees_with_propagation_and_with_its_own_cavities(monkeypatch):
    """The fallback agrees with propagation where both work; its verdicts are those of its own cavities."""
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 10.0, 60)[:, None]
    outlier = np.arange(60) % 7 == 3
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=60) + outlier * rng.normal(0.0, 3.0, 60)
    propagated = RobustGPRegressor().fit(x, y)
    monkeypatch.setattr(Propagation, "run", improper)
    fallback = RobustGPRegressor().fit(x, y)
    np.testing.assert_allclose(fallback.outlier_proba_, propagated.outlier_proba_, atol=0.15)
    for ours, theirs in zip(
        fallback.predict(x, return_std=True), propagated.predict(x, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=0.03)
    found = fallback._outputs[0]
    cavity = found.fit.posterior.best.leave_one_out()
    noise = found.fit.noise_at(x, cavity.mean)
    verdict = found.fit.likelihood.judge(found.scaling.forward(y), cavity.mean, cavity.variance, noise)
    np.testing.assert_allclose(verdict.outlier_proba, fallback.outlier_proba_, atol=0.01)


def improper(*_arguments, **_options):
    raise NotPositiveDefiniteError("no fixed point")


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


def test_clustering_is_a_standard_score_under_independence():
    """Mean 0 and variance 1 over all draws, whatever the nearness."""
    rng = np.random.default_rng(5)
    x = rng.uniform(size=(30, 2))
    near = SquaredExponential((0.3, 0.3))(x, x)
    scores = [clustering(near.copy(), rng.standard_normal(30)) for _ in range(4000)]
    assert abs(np.mean(scores)) < 0.06
    assert abs(np.std(scores) - 1.0) < 0.06


def test_clustering_is_zero_for_equal_values_or_distances():
    values = np.arange(5.0)
    assert clustering(np.eye(5), np.ones(5)) == 0.0
    assert clustering(np.ones((5, 5)), values) == 0.0
    assert clustering(-np.ones((5, 5)), values) == 0.0


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


def test_search_by_a_sample_does_not_depend_on_row_order():
    data = make_synthetic(450, rate=0.3, seed=1)
    order = np.random.default_rng(0).permutation(450)
    first = RobustGPRegressor().fit(data.X, data.y[:, 0])
    second = RobustGPRegressor().fit(data.X[order], data.y[order, 0])
    np.testing.assert_allclose(first.predict(data.X_test), second.predict(data.X_test), atol=1e-3)
    assert np.sqrt(np.mean((first.predict(data.X_test) - data.f_test[:, 0]) ** 2)) < 0.2


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


def test_contamination_prior_refuses_bad_values():
    with pytest.raises(ValueError, match="ratio must be positive"):
        ContaminationPrior(ratio=-1.0)
    with pytest.raises(ValueError, match="ContaminationPrior or None"):
        RobustGPRegressor(prior=3).fit(np.zeros((4, 1)), np.zeros(4))


def test_parameter_covariance_is_zero_at_a_bound():
    kernel = SquaredExponential((1.0, 2.0), 1.0)
    x = np.append(kernel.theta, [0.0, 1.0, LARGEST_SHIFT])
    root = np.random.default_rng(0).normal(size=(6, 6))
    curvature = root @ root.T + np.eye(6)
    optimum = Optimum(x, 0.0, np.zeros(6), LatentState(None), Status.CONVERGED, 1, 1, (0.0,), curvature)
    found = parameter_covariance(optimum, kernel, ContaminationPrior().box)
    np.testing.assert_allclose(found, np.linalg.inv(curvature[:5, :5])[:3, :3])
    held = replace(kernel, length_scale_bounds=(1.0, 10.0))
    found = parameter_covariance(optimum, held, ContaminationPrior().box)
    index = held.parameter_names.index("length_scale[0]")
    assert not found[index].any()
    assert not found[:, index].any()


def test_contamination_attributes_describe_a_huge_fill_value():
    x = np.linspace(0, 10, 60)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(60)
    y[7] = 9.96921e36
    model = RobustGPRegressor().fit(x, y)
    assert np.flatnonzero(model.outlier_proba_ > 0.5).tolist() == [7]
    assert model.contamination_shift_ == pytest.approx(9.96921e36, rel=1e-6)


@pytest.fixture
def hidden():
    """Sixty outliers among 200 observations, all on one side."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, 200))[:, None]
    y, bad = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(200), rng.choice(200, 60, replace=False)
    y[bad] += rng.uniform(1.0, 5.0, 60)
    return x, y, bad


@pytest.mark.parametrize("far", [(-999.0,) * 4, (1e6, 1e3, -200.0)])
@pytest.mark.parametrize("inducing", [None, 40])
def test_masking_of_far_outliers_uncovers_others(hidden, far, inducing, tmp_path):
    x, y, bad = hidden
    y[bad[: len(far)]] = far
    model = RobustGPRegressor(inducing=inducing).fit(x, y)
    np.testing.assert_array_equal(np.sort(np.flatnonzero(model.outlier_proba_ > 0.5)), np.sort(bad))
    assert rmse(np.sin(x[:, 0]), model.predict(x)) < 0.03
    assert model.contamination_rate_ == pytest.approx(0.3, abs=0.01)
    assert model.contamination_shift_ == pytest.approx(3.0, abs=0.3)
    assert np.all(model.weights_[bad[: len(far)]] == 0.0)
    # As if the far ones were missing.
    without = y.copy()
    without[bad[: len(far)]] = np.nan
    alone = RobustGPRegressor(inducing=inducing).fit(x, without)
    np.testing.assert_allclose(model.predict(x), alone.predict(x), atol=2e-3)
    assert np.all(np.isfinite(model.leave_one_out()))
    # But for the densities of the far ones: the ELBO is that of all observations.
    distance = y[bad[: len(far)]] - model.predict(x[bad[: len(far)]])
    theirs = norm.logpdf(distance, scale=np.sqrt(np.mean(distance**2))).sum()
    share = len(far) / 200
    expected = alone.bound_ + theirs + len(far) * log(share) + (200 - len(far)) * log(1.0 - share)
    assert model.bound_ == pytest.approx(expected, abs=0.1)
    assert model.trace_[-1] == pytest.approx(model.bound_, abs=1.0)
    model.save(tmp_path / "model.sgp")
    np.testing.assert_array_equal(load(tmp_path / "model.sgp").predict(x), model.predict(x))
    again = model.set_params(warm_start=True).fit(x, y)
    assert again.bound_ == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize(
    ("sign", "words"), [((1, 1), "mostly too high"), ((-1, -1), "mostly too low"), ((1, -1), "on both sides")]
)
def test_summary_names_the_side_of_most_outliers(sign, words):
    """However much their sizes differ."""
    x = np.linspace(0, 10, 90)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(90)
    y[10:60:10] += np.resize(sign, 5) * np.array([3.0, 5.0, 60.0, 4.0, 12.0])
    assert words in RobustGPRegressor().fit(x, y).summary()


def test_robust_fit_finds_a_moderately_far_outlier(hidden):
    x, y, bad = hidden
    y[bad[0]] = 50.0
    model = RobustGPRegressor().fit(x, y)
    np.testing.assert_array_equal(np.sort(np.flatnonzero(model.outlier_proba_ > 0.5)), np.sort(bad))
    assert rmse(np.sin(x[:, 0]), model.predict(x)) < 0.05


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


def test_masking_keeps_far_outliers_that_hide_nothing(hidden):
    x, _, _ = hidden
    y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(200)
    y[[20, 90, 150]] = -999.0
    model = RobustGPRegressor().fit(x, y)
    assert np.flatnonzero(model.outlier_proba_ > 0.5).tolist() == [20, 90, 150]
    assert model.contamination_shift_ == pytest.approx(-999.0, abs=5.0)
    assert 0.0 < model.weights_[20] < 1e-3


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


# ------------------------------------------------------------------------------ the score of a hypothesis


def test_score_total_is_the_sum_of_all_terms():
    assert Score(*2.0 ** np.arange(6)).total == 63.0


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
        score, start = each.score, each.start
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


def test_score_charges_the_second_kernel_part(coarse_and_fine, in_two_parts):
    """A log of the number of observations for each of its parameters: four, for three inputs."""
    _, y, _, _ = coarse_and_fine
    fit = in_two_parts._outputs[0].fit
    winner, before = fit.ledger[0], next(each for each in fit.ledger if each.score.occam == 0.0)
    assert winner.name.endswith("second length scale")
    assert winner.score.occam == pytest.approx(-4.0 * log(y.size))
    assert winner.score.elbo + winner.score.parameter_prior == pytest.approx(fit.bound, abs=1e-6)
    assert winner.score.total > before.score.total


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
