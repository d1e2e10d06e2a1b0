"""Inducing points, against the exact process and central differences."""

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone

from sturdygp import (
    AsorGPRegressor,
    MixtureGPRegressor,
    OracleGPRegressor,
    RCGPRegressor,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
)
from sturdygp.datasets import make_synthetic
from sturdygp.estimators.inducing import inducing_inputs
from sturdygp.gp import Sites, condition
from sturdygp.gp import posterior as seam
from sturdygp.gp.inducing_selection import chosen_inputs
from sturdygp.gp.sparse import SparsePrior
from sturdygp.inference.expectation_propagation import NaturalSites, Propagation
from sturdygp.kernels import Constant, Linear, Matern32, Periodic, RationalQuadratic, SquaredExponential
from sturdygp.likelihoods.student_t import TLikelihood

KERNELS = [
    SquaredExponential((0.5, 0.8), 1.7),
    Matern32(0.6, 0.9) + Linear((0.4, 0.2)) * Constant(1.3),
    RationalQuadratic((0.7, 0.5), 1.2, alpha=0.8) * Periodic(1.1, 2.0, 0.7),
]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (40, 2))
    sites = Sites(5.0 + rng.normal(size=40), rng.uniform(0.2, 8.0, 40), rng.normal(size=40))
    return X, sites


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_all_inputs_inducing_is_exact(problem, kernel):
    X, sites = problem
    Z = np.random.default_rng(1).uniform(-1.0, 1.0, (7, 2))
    exact, sparse = condition(kernel, X, sites), SparsePrior.at(kernel, X, X).condition(sites)
    assert sparse.mean == pytest.approx(exact.mean, rel=1e-6)
    assert sparse.log_evidence == pytest.approx(exact.log_evidence, abs=1e-5)
    for name in ("kernel", "target", "precision"):
        ours, theirs = getattr(sparse.gradient(), name), getattr(exact.gradient(), name)
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    for ours, theirs in (
        (sparse.marginals(), exact.marginals()),
        (sparse.leave_one_out(), exact.leave_one_out()),
        (sparse.leave_one_out(0.5), exact.leave_one_out(0.5)),
        (sparse.predict(Z), exact.predict(Z)),
    ):
        np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-6)
        np.testing.assert_allclose(ours.variance, theirs.variance, atol=1e-6)
    np.testing.assert_allclose(sparse.predict_mean(Z), exact.predict_mean(Z), atol=1e-6)
    np.testing.assert_allclose(sparse.covariance(Z), exact.covariance(Z), atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_gradient_equals_central_differences(problem, kernel):
    X, sites = problem
    Z, step = X[::4], 1e-5

    def bound(theta):
        return SparsePrior.at(kernel.with_theta(theta), X, Z).condition(sites).log_evidence

    numeric = [
        (bound(kernel.theta + h) - bound(kernel.theta - h)) / (2 * step)
        for h in step * np.eye(kernel.theta.size)
    ]
    gradient = SparsePrior.at(kernel, X, Z).condition(sites).gradient().kernel
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_leave_one_out_equals_brute_force(problem, kernel):
    """Also where the inducing inputs leave out more variance than a site has."""
    X, sites = problem
    prior = SparsePrior.at(kernel, X, X[:6])
    posterior = prior.condition(sites)
    assert (posterior.left_out * sites.precision).max() > 1.0
    for share in (1.0, 0.5):
        found = posterior.leave_one_out(share)
        for i in range(0, 40, 7):
            precision = sites.precision.copy()
            precision[i] *= 1.0 - share
            without = prior.condition(Sites(sites.target, precision, sites.log_scale), posterior.mean)
            assert found.mean[i] == pytest.approx(without.marginals().mean[i], rel=1e-8)
            assert found.variance[i] == pytest.approx(without.marginals().variance[i], rel=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_leave_one_out_gradient_equals_central_differences_and_the_exact_one(problem, kernel):
    X, sites = problem
    rng = np.random.default_rng(6)
    by_mean, by_variance = rng.normal(size=(2, 40))

    def score(theta=kernel.theta, target=sites.target, noise=1.0 / sites.precision, Z=X[::5]):
        prior = SparsePrior.at(kernel.with_theta(theta), X, Z)
        found = prior.condition(Sites(target, 1.0 / noise, sites.log_scale), 4.8).leave_one_out()
        return by_mean @ found.mean + by_variance @ found.variance

    posterior = SparsePrior.at(kernel, X, X[::5]).condition(sites, 4.8)
    gradient = posterior.leave_one_out_gradient(by_mean, by_variance)
    for name, at in (("theta", kernel.theta), ("target", sites.target), ("noise", 1.0 / sites.precision)):
        steps = 1e-5 * np.eye(at.size)[:6]
        numeric = [(score(**{name: at + h}) - score(**{name: at - h})) / 2e-5 for h in steps]
        ours = {"theta": gradient.kernel, "target": gradient.target, "noise": gradient.noise}[name]
        np.testing.assert_allclose(ours[:6], numeric, rtol=1e-5, atol=1e-6)
    exact = condition(kernel, X, sites, 4.8).leave_one_out_gradient(by_mean, by_variance)
    all_inducing = SparsePrior.at(kernel, X, X).condition(sites, 4.8)
    all_inducing = all_inducing.leave_one_out_gradient(by_mean, by_variance)
    for name in ("kernel", "target", "noise"):
        np.testing.assert_allclose(getattr(all_inducing, name), getattr(exact, name), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_gradient_by_inducing_inputs_equals_central_differences(problem, kernel):
    X, sites = problem
    Z, step = X[::8] + 0.05, 1e-5

    def bound(moved):
        return SparsePrior.at(kernel, X, Z + moved.reshape(Z.shape)).condition(sites).log_evidence

    numeric = [(bound(h) - bound(-h)) / (2 * step) for h in step * np.eye(Z.size)]
    gradient = SparsePrior.at(kernel, X, Z).condition(sites).inducing_gradient()
    np.testing.assert_allclose(gradient.ravel(), numeric, rtol=1e-4, atol=1e-5)


def test_bound_rises_with_inducing_inputs_to_the_evidence(problem):
    X, sites = problem
    kernel = KERNELS[0]
    bounds = [SparsePrior.at(kernel, X, X[:m]).condition(sites).log_evidence for m in (1, 5, 10, 20, 30, 40)]
    assert np.all(np.diff(bounds) > 0.0)
    assert bounds[-1] <= condition(kernel, X, sites).log_evidence + 1e-5


def test_chunks_do_not_matter(problem, monkeypatch):
    X, sites = problem
    whole = SparsePrior.at(KERNELS[0], X, X[::4]).condition(sites)
    expected = whole.log_evidence, whole.gradient().kernel, whole.marginals().variance
    monkeypatch.setattr(seam, "CHUNK_ENTRIES", 30)
    chunked = SparsePrior.at(KERNELS[0], X, X[::4]).condition(sites)
    assert chunked.log_evidence == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(chunked.gradient().kernel, expected[1], rtol=1e-9)
    np.testing.assert_allclose(chunked.marginals().variance, expected[2], rtol=1e-9)


def test_rows_are_looked_at_once_for_values_and_once_for_derivatives(problem, monkeypatch):
    X, sites = problem
    looks, gather = [], SparsePrior.gather
    monkeypatch.setattr(SparsePrior, "gather", lambda *given: looks.append(given[1]) or gather(*given))
    prior = SparsePrior.at(KERNELS[0], X, X[::5])
    first, second = prior.condition(sites), prior.condition(sites)
    looks.clear()
    values = first.log_evidence, first.marginals().variance, first.leave_one_out().mean
    assert len(looks) == 1
    gradient = second.gradient().kernel
    again = second.log_evidence, second.marginals().variance, second.leave_one_out().mean
    assert len(looks) == 2
    for one, other in zip(values, again, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(first.gradient().kernel, gradient)


def test_a_given_mean_and_silent_or_negative_sites(problem):
    X, sites = problem
    kernel = KERNELS[0]
    precision = sites.precision.copy()
    precision[:5], precision[5:8] = 0.0, -0.05
    mixed = Sites(sites.target, precision, sites.log_scale)
    exact = condition(kernel, X, mixed, 4.0)
    sparse = SparsePrior.at(kernel, X, X).condition(mixed, 4.0)
    assert sparse.mean == 4.0
    assert sparse.log_evidence == pytest.approx(exact.log_evidence, abs=1e-5)
    np.testing.assert_allclose(sparse.marginals().variance, exact.marginals().variance, atol=1e-6)


# --- estimators -----------------------------------------------------------------------------------

ESTIMATORS = [
    StandardGPRegressor(),
    AsorGPRegressor(),
    MixtureGPRegressor(),
    StudentTGPRegressor(),
    StudentTGPRegressor(inference="vb"),
    RobustGPRegressor(),
    RCGPRegressor(),
    OracleGPRegressor(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_estimators_are_exact_when_all_inputs_are_inducing(estimator):
    data = make_synthetic(50, 20, rate=0.3, seed=3)
    exact = clone(estimator).fit(data.X, data.y[:, 0])
    sparse = clone(estimator).set_params(inducing=data.X).fit(data.X, data.y[:, 0])
    assert sparse.bound_ == pytest.approx(exact.bound_, abs=1e-5)
    mean, std = sparse.predict(data.X_test, return_std=True)
    exact_mean, exact_std = exact.predict(data.X_test, return_std=True)
    # Both stop where the gradient of the bound is within tol of zero, not at the same point.
    np.testing.assert_allclose(mean, exact_mean, atol=1e-3)
    # What the flagship allows for its kernel's parameters goes by the curvature that was learned on the way.
    np.testing.assert_allclose(std, exact_std, rtol=0.01, atol=1e-3)
    assert sparse.sample_y(data.X_test, 3).shape == (20, 3)


@pytest.mark.parametrize("estimator", [AsorGPRegressor(), RobustGPRegressor()], ids=repr)
def test_few_inducing_inputs_are_nearly_as_good(estimator):
    data = make_synthetic(600, rate=0.4, seed=5)
    y, truth = data.y[:, 0], data.f_test[:, 0]
    exact = clone(estimator).fit(data.X, y)
    sparse = clone(estimator).set_params(inducing=80).fit(data.X, y)
    error = [np.sqrt(np.mean((model.predict(data.X_test) - truth) ** 2)) for model in (exact, sparse)]
    assert error[1] < 1.03 * error[0]
    assert len(sparse._outputs[0].fit.posterior.sites) == 600


def test_inputs_are_chosen_far_from_each_other_in_any_order():
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(300, 2))
    chosen = chosen_inputs(SquaredExponential((0.3, 0.3)), X, 10)
    again = chosen_inputs(SquaredExponential((0.3, 0.3)), X[rng.permutation(300)], 10)
    np.testing.assert_array_equal(chosen, again)
    assert pdist(chosen).min() > 3 * pdist(X[:10]).min()
    # Repeated inputs tell nothing new.
    assert len(chosen_inputs(SquaredExponential((0.3, 0.3)), np.repeat(X[:4], 5, axis=0), 10)) == 4


@pytest.mark.parametrize(
    ("inducing", "message"),
    [
        ("many", 'inducing must be None, "auto", a number or an array'),
        (0, "inducing must be a positive integer"),
        (np.zeros((3, 1)), "inducing has 1 columns but X has 2"),
        ([[0.0, np.nan]], "inducing contains NaN"),
    ],
)
def test_bad_inducing_inputs_are_refused(inducing, message):
    with pytest.raises(ValueError, match=message):
        AsorGPRegressor(inducing=inducing).fit(np.eye(2), [0.0, 1.0])


def test_auto_is_exact_for_few_rows():
    assert inducing_inputs("auto", SquaredExponential(), np.zeros((10, 1))) is None


def test_methods_that_need_the_exact_process_say_so():
    X, y = np.eye(3), [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="laplace"):
        StudentTGPRegressor(inference="laplace", inducing=X).fit(X, y)
    with pytest.raises(ValueError, match="gem"):
        AsorGPRegressor(solver="gem", inducing=X).fit(X, y)


def test_propagation_through_inducing_inputs_has_the_gradient_of_its_evidence():
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


def test_inducing_inputs_are_moved_uphill():
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 10.0, (200, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=200)
    y[::9] += 4.0
    fixed = AsorGPRegressor(inducing=9).fit(X, y)
    moved = AsorGPRegressor(inducing=9, optimise_inducing=True).fit(X, y)
    assert moved.bound_ > fixed.bound_ + 1.0


def test_many_inputs_are_found_along_a_line():
    """A smooth function needs few of them there, but the function need not be smooth."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, (800, 1))
    y = np.sin(30.0 * X[:, 0]) + 0.1 * rng.normal(size=800)
    model = StandardGPRegressor(inducing=100).fit(X, y)
    assert len(model._outputs[0].fit.posterior.features.Z) == 100
    assert np.mean((model.predict(X) - np.sin(30.0 * X[:, 0])) ** 2) < 0.01


def test_a_model_can_be_copied_after_every_question():
    data = make_synthetic(60, 5, rate=0.1, seed=0)
    model = AsorGPRegressor(inducing=20).fit(data.X, data.y[:, 0])
    left_out = model.leave_one_out()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(data.X_test), model.predict(data.X_test))
    np.testing.assert_allclose(again.leave_one_out(), left_out)
