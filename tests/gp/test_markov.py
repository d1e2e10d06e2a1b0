"""The process over time against the exact posterior, higher precision and central differences."""

import json
import pickle
from functools import partial

import mpmath
import numpy as np
import pytest

from sturdygp.exceptions import ModelFileError, NotPositiveDefiniteError
from sturdygp.gp import Sites, markov
from sturdygp.gp.exact import ExactPrior
from sturdygp.gp.hyperparameter_uncertainty import UncertainPosterior
from sturdygp.gp.markov import MarkovPrior
from sturdygp.gp.timeline import MOST_STEPS, Steps, Timeline
from sturdygp.kernels import (
    Constant,
    DampedHarmonics,
    IntegratedNoise,
    Matern12,
    Matern32,
    Matern52,
    SquaredExponential,
)
from sturdygp.persistence.archive import ArrayStore, array_from_bytes
from sturdygp.persistence.kernels import encode_kernel
from sturdygp.persistence.posteriors import decode_posterior, encode_posterior
from sturdygp.persistence.record import Record

KERNELS = [
    Matern12(0.8, 1.7),
    Matern32(1.3, 0.6),
    Matern52((0.9,), 2.1),
    DampedHarmonics(9.0, 0.7, 1.2),
    Matern32(1.3, 0.6) + 0.4,
    Matern12(0.6, 0.3) + Matern32(8.0, 2.0),
    IntegratedNoise(4.0, 0.8, 2.0, 0.5, origin=-1.0, level_bounds=(0.1, 10.0), slope_bounds=(0.1, 10.0)),
    Matern32(3.0) * Matern12(9.0, 1.3),
    Matern12(1.0, 0.2) + DampedHarmonics(20.0, 1.9, 1.2, (1.0, 0.4), weights_bounds=(1e-3, 1e3)),
    Constant(2.0) * DampedHarmonics(8.0, 1.1, 0.9, envelope="matern32") + Matern52(0.5),
    IntegratedNoise(9.0, origin=-0.5) + Matern32(0.7) + DampedHarmonics(30.0, 3.0, 1.2),
]
FEW = [KERNELS[1], KERNELS[5], KERNELS[8]]


def relative(actual, expected):
    """Largest error, relative to the largest entry."""
    return np.max(np.abs(np.asarray(actual) - expected)) / np.max(np.abs(expected))


def problem(n=90, *, kind="positive", seed=0, grid=False):
    """Times in any order, some of them repeated, and sites of precisions over some decades."""
    rng = np.random.default_rng(seed)
    t = rng.integers(0, 4 * n, n) * 0.05 if grid else rng.uniform(0.0, 0.2 * n, n)
    t[5:8] = t[20]
    y = np.sin(t) + 0.1 * rng.normal(size=n) + 3.0
    precision = 10.0 ** rng.uniform(-2.0, 2.0, n)
    if kind != "positive":
        precision[rng.permutation(n)[: n // 3]] = 0.0
    if kind == "signed":
        precision[rng.permutation(n)[:6]] = -(10.0 ** rng.uniform(-6.0, -2.0, 6))
    return t[:, None], Sites(y, precision, rng.normal(size=n))


def both(kernel, X, sites, mean=None):
    return (prior.at(kernel, X).condition(sites, mean) for prior in (MarkovPrior, ExactPrior))


def assert_same(ours, exact, rtol=1e-8):
    """Everything that the seam promises."""
    assert ours.log_evidence == pytest.approx(exact.log_evidence, rel=rtol)
    assert ours.mean == pytest.approx(exact.mean, rel=rtol)
    a, b = ours.gradient(), exact.gradient()
    assert relative(a.kernel, b.kernel) < rtol
    assert a.mean == pytest.approx(b.mean, rel=rtol, abs=1e-8)
    assert relative(a.target, b.target) < rtol
    assert relative(a.precision, b.precision) < rtol
    for share in (1.0, 0.6):
        for m, e in (
            (ours.marginals(), exact.marginals()),
            (ours.leave_one_out(share), exact.leave_one_out(share)),
        ):
            assert relative(m.mean, e.mean) < rtol
            np.testing.assert_allclose(m.variance, e.variance, rtol=1e-6, atol=rtol * np.max(e.variance))


@pytest.mark.parametrize("kind", ["positive", "some zero", "signed"])
@pytest.mark.parametrize("mean", [None, 2.5])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_posterior_equals_the_exact_one(kernel, mean, kind):
    X, sites = problem(kind=kind)
    ours, exact = both(kernel, X, sites, mean)
    assert_same(ours, exact)
    np.testing.assert_allclose(MarkovPrior.at(kernel, X).variance, ExactPrior.at(kernel, X).variance)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_predictions_equal_the_exact_ones(kernel):
    X, sites = problem(n=300, kind="signed")
    ours, exact = both(kernel, X, sites)
    rng = np.random.default_rng(3)
    # Between, before and after the observations, at one of them and at one another.
    Z = np.concatenate([rng.uniform(-0.4, 70.0, 40), X[:3, 0], [-0.45, 12.0, 12.0, 500.0]])[:, None]
    found, expected = ours.predict(Z), exact.predict(Z)
    assert relative(found.mean, expected.mean) < 1e-8
    assert relative(found.variance, expected.variance) < 1e-8
    assert relative(ours.predict_mean(Z[::7]), expected.mean[::7]) < 1e-8
    assert relative(ours.mean_function(Z[:1]), expected.mean[:1]) < 1e-8
    assert relative(ours.predict(X).variance, ours.marginals().variance) < 1e-10
    covariance = exact.covariance(Z)
    assert relative(ours.covariance(Z), covariance) < 1e-8
    np.testing.assert_allclose(ours.covariance(Z).diagonal(), found.variance, rtol=1e-9, atol=1e-12)
    assert relative(ours.covariance(Z[9:11]), covariance[9:11, 9:11]) < 1e-8


@pytest.mark.parametrize("kernel", FEW, ids=repr)
def test_many_stretches_and_pieces_change_nothing(kernel, monkeypatch):
    """In stretches of a few nodes, transitions worked out a few at a time, each prediction for itself."""
    X, sites = problem(n=200, kind="signed")
    Z = np.linspace(-1.0, 41.0, 23)[:, None]
    exact = ExactPrior.at(kernel, X).condition(sites)
    monkeypatch.setattr(markov, "EVERY", 16)
    monkeypatch.setattr(markov, "TABLE_ENTRIES", 1)
    ours = MarkovPrior.at(kernel, X).condition(sites)
    assert_same(ours, exact)
    one_by_one = ours.predict(Z[::6])
    assert relative(ours.covariance(Z), exact.covariance(Z)) < 1e-8
    monkeypatch.setattr(markov, "FEW_RUNS", 0)
    at_once = ours.predict(Z[::6])
    np.testing.assert_allclose(one_by_one.mean, at_once.mean, rtol=1e-11)
    np.testing.assert_allclose(one_by_one.variance, at_once.variance, rtol=1e-9)


@pytest.mark.parametrize("kernel", FEW, ids=repr)
def test_equal_steps_and_all_different_ones_agree_with_the_exact_posterior(kernel):
    for grid in (True, False):
        X, sites = problem(n=700, grid=grid)
        assert (Timeline.of(X).steps.distinct is None) != grid
        ours, exact = both(kernel, X, sites)
        assert_same(ours, exact)


@pytest.mark.parametrize("kernel", FEW, ids=repr)
@pytest.mark.parametrize("mean", [None, 2.5])
def test_gradient_equals_central_differences(kernel, mean):
    X, sites = problem(n=25, kind="signed")
    sites = Sites(sites.target, np.where(sites.precision < 0.0, -0.01, sites.precision), sites.log_scale)

    def evidence(theta, target, precision):
        s = Sites(target, precision, sites.log_scale)
        return MarkovPrior.at(kernel.with_theta(theta), X).condition(s, mean).log_evidence

    g = MarkovPrior.at(kernel, X).condition(sites, mean).gradient()
    arguments = [kernel.theta, sites.target, sites.precision]
    for position, analytic in enumerate([g.kernel, g.target, g.precision]):
        for i, entry in enumerate(analytic):
            up, down = ([a.copy() for a in arguments] for _ in range(2))
            up[position][i] += 1e-5
            down[position][i] -= 1e-5
            numeric = (evidence(*up) - evidence(*down)) / 2e-5
            assert entry == pytest.approx(numeric, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kernel", [KERNELS[1], KERNELS[5], KERNELS[6]], ids=repr)
def test_gradient_of_leave_one_out_equals_the_exact_one(kernel):
    X, sites = problem()
    sites.precision[3] = -1e-3
    ours, exact = both(kernel, X, sites, 2.5)
    by_mean, by_variance = np.random.default_rng(5).normal(size=(2, len(X)))
    a, b = (p.leave_one_out_gradient(by_mean, by_variance) for p in (ours, exact))
    for name in ("kernel", "target", "noise"):
        assert relative(getattr(a, name), getattr(b, name)) < 1e-7


@pytest.mark.parametrize("kernel", FEW, ids=repr)
def test_a_site_without_precision_has_exactly_no_effect(kernel):
    X, sites = problem(n=60, grid=True)
    X = np.sort(X, axis=0)
    extra = X[[10, 30]]
    with_extra = Sites(
        np.append(sites.target, [1e9, -1e9]),
        np.append(sites.precision, [0.0, 0.0]),
        np.append(sites.log_scale, [0, 0]),
    )
    a = MarkovPrior.at(kernel, X).condition(sites, 2.5)
    b = MarkovPrior.at(kernel, np.vstack([X, extra])).condition(with_extra, 2.5)
    assert a.log_evidence == pytest.approx(b.log_evidence, rel=1e-15)
    np.testing.assert_allclose(b.gradient().kernel, a.gradient().kernel, rtol=1e-12)
    np.testing.assert_allclose(b.marginals().mean[:60], a.marginals().mean, rtol=1e-13)


def test_no_precision_at_all_leaves_the_prior():
    X, sites = problem(n=40)
    none = Sites(sites.target, np.zeros(40), sites.log_scale)
    ours, exact = both(Matern32(1.3, 0.6), X, none)
    assert ours.mean == exact.mean
    assert ours.log_evidence == pytest.approx(sites.log_scale.sum(), rel=1e-14)
    np.testing.assert_allclose(ours.marginals().variance, 0.6, rtol=1e-14)
    np.testing.assert_array_equal(ours.gradient().kernel, 0.0)


def test_one_observation_is_enough():
    X, sites = np.array([[3.0]]), Sites.gaussian(np.array([1.0]), 0.1)
    ours, exact = both(Matern32(1.3, 0.6), X, sites, 0.2)
    assert_same(ours, exact)
    np.testing.assert_allclose(ours.covariance(X + 1.0), exact.covariance(X + 1.0), rtol=1e-12)


def test_an_improper_posterior_is_refused():
    X, sites = problem(n=30)
    worse = Sites(sites.target, np.where(np.arange(30) == 7, -500.0, sites.precision), sites.log_scale)
    with pytest.raises(NotPositiveDefiniteError):
        MarkovPrior.at(Matern32(), X).condition(worse)


# -------------------------------------------------------------------------------- higher precision


def matern32(scale, variance):
    def k(d):
        r = mpmath.sqrt(3) * abs(d) / mpmath.mpf(scale)
        return mpmath.mpf(variance) * (1 + r) * mpmath.exp(-r)

    return k


def matern52(scale, variance):
    def k(d):
        r = mpmath.sqrt(5) * abs(d) / mpmath.mpf(scale)
        return mpmath.mpf(variance) * (1 + r + r * r / 3) * mpmath.exp(-r)

    return k


def rhythm(scale, period, variance):
    def k(d):
        turn = mpmath.cos(2 * mpmath.pi * d / mpmath.mpf(period))
        return mpmath.mpf(variance) * mpmath.exp(-abs(d) / mpmath.mpf(scale)) * turn

    return k


def in_high_precision(k, t, sites):
    """Evidence, marginals and leave-one-out variances with 50 digits."""
    with mpmath.workdps(50):
        t, z, w = ([mpmath.mpf(float(v)) for v in values] for values in (t, sites.target, sites.precision))
        n = len(t)
        K = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                K[i, j] = k(t[i] - t[j])
        S = K + mpmath.diag([1 / v for v in w])
        L = mpmath.cholesky(S)
        log_det = 2 * sum(mpmath.log(L[i, i]) for i in range(n)) + sum(mpmath.log(v) for v in w)
        R = S**-1
        alpha = R * mpmath.matrix(z)
        evidence = -(log_det + (mpmath.matrix(z).T * alpha)[0]) / 2
        KR, mean = K * R, K * alpha
        variance = [K[i, i] - sum(KR[i, j] * K[j, i] for j in range(n)) for i in range(n)]
        loo = [1 / R[i, i] - 1 / w[i] for i in range(n)]
        numbers = (np.array([float(v) for v in values]) for values in (mean, variance, loo))
        return float(evidence), *numbers


PRECISE = [
    (Matern32(1.0), matern32(1.0, 1.0)),
    (
        Matern52(1.0) + Matern32(7.0, 0.5) + DampedHarmonics(50.0, 2.0, 0.7),
        lambda d: matern52(1.0, 1.0)(d) + matern32(7.0, 0.5)(d) + rhythm(50.0, 2.0, 0.7)(d),
    ),
]


def times_of(spacing, n):
    if spacing == "any":
        steps = 10.0 ** np.random.default_rng(1).permutation(np.linspace(-9.0, 6.0, n - 1))
        return np.concatenate([[0.0], np.cumsum(steps)])
    return spacing * np.arange(n)


@pytest.mark.parametrize(("kernel", "k"), PRECISE, ids=["one part", "three parts"])
@pytest.mark.parametrize("spacing", [1e-9, 1e-3, "any"])
@pytest.mark.parametrize("precision", [1e10, "any"])
def test_any_step_and_any_precision_keep_their_digits(kernel, k, spacing, precision):
    """Steps from 1e-9 to 1e6, precisions from 1e-14 to 1e10 of the inverse variance."""
    n = 24
    rng, t = np.random.default_rng(2), times_of(spacing, n)
    w = 10.0 ** rng.permutation(np.linspace(-14.0, 8.0, n)) if precision == "any" else np.full(n, precision)
    sites = Sites(np.sin(t) + rng.normal(size=n) / np.sqrt(w), w, np.zeros(n))
    p = MarkovPrior.at(kernel, t[:, None]).condition(sites, 0.0)
    evidence, mean, variance, loo = in_high_precision(k, t, sites)
    assert p.log_evidence == pytest.approx(evidence, rel=1e-11)
    assert relative(p.marginals().mean, mean) < 1e-8
    np.testing.assert_allclose(p.marginals().variance, variance, rtol=1e-8, atol=1e-15)
    np.testing.assert_allclose(p.leave_one_out().variance, loo, rtol=1e-8, atol=1e-15)
    assert np.isfinite(p.gradient().kernel).all()


def filtered_in_long_double(kernel, dt, z, w):
    """Textbook filter of Matérn 3/2, with three more digits than a double has."""
    long = np.longdouble
    u = np.sqrt(long(3)) * long(dt) / long(kernel.length_scale)
    decay = np.exp(-u)
    A = decay * np.array([[1 + u, u], [-u, 1 - u]], dtype=long)
    Q = np.eye(2, dtype=long) - A @ A.T
    m, P = np.zeros(2, dtype=long), np.eye(2, dtype=long)
    total = long(0)
    for value in z.astype(long):
        c, s = P[:, 0], P[0, 0]
        spread = s + 1 / long(w)
        e = value - m[0]
        total -= (np.log(spread * long(w)) + e * e / spread) / 2
        gain = c / spread
        m = m + gain * e
        P = P - np.outer(gain, c)
        P[0, :] = P[:, 0] = c / (long(w) * spread)
        m, P = A @ m, A @ P @ A.T + Q
    return float(total)


@pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="a long double is no longer than a double here"
)
def test_little_noise_over_many_steps_stays_accurate():
    n, w, dt = 100_000, 1e10, 0.01
    rng, kernel = np.random.default_rng(0), Matern32(1.0)
    t = dt * np.arange(n)
    z = np.sin(t) + rng.normal(size=n) * 1e-5
    p = MarkovPrior.at(kernel, t[:, None]).condition(Sites(z, np.full(n, w), np.zeros(n)), 0.0)
    assert p.log_evidence == pytest.approx(filtered_in_long_double(kernel, dt, z, w), rel=1e-9)
    variance = p.marginals().variance
    assert np.all(variance > 0.0)
    # Far from both ends every observation is like every other.
    np.testing.assert_allclose(variance[30_000:70_000:1000], variance[50_000], rtol=1e-9)
    assert np.isfinite(p.gradient().kernel).all()


@pytest.mark.parametrize("dt", [1e-9, 1e-5, 1.0])
def test_little_noise_of_many_parts_stays_finite_and_positive(dt):
    kernel = Matern52(3.0) + Matern32(300.0, 2.0) + DampedHarmonics(1e4, 24.0) + Constant(5.0)
    n = 20_000
    t = dt * np.arange(n)
    z = np.sin(t) + 1e-5 * np.random.default_rng(0).normal(size=n)
    p = MarkovPrior.at(kernel, t[:, None]).condition(Sites(z, np.full(n, 1e10), np.zeros(n)))
    marginals, loo = p.marginals(), p.leave_one_out()
    assert np.isfinite(p.log_evidence)
    assert np.isfinite(p.gradient().kernel).all()
    assert np.all((marginals.variance > 0.0) & (marginals.variance < 1.0001e-10))
    assert np.all(loo.variance > marginals.variance)


# --------------------------------------------------------------------------------------- the rest


@pytest.mark.parametrize("kernel", [KERNELS[1], KERNELS[5], KERNELS[6]], ids=repr)
def test_samples_have_the_posterior_moments(kernel):
    """Also where some precisions are negative, and where times are the same."""
    X, sites = problem(n=60, kind="signed")
    p = MarkovPrior.at(kernel, X).condition(sites)
    Z = np.array([[2.0], [1.0], [1.0], [-0.5], [15.0], X[3]], dtype=object).astype(float)
    draws = p.sample(Z, 20_000, np.random.default_rng(7))
    C = ExactPrior.at(kernel, X).condition(sites).covariance(Z)
    sd = np.sqrt(C.diagonal())
    assert np.all(np.abs(draws.mean(axis=1) - p.predict_mean(Z)) < 5 * sd / np.sqrt(20_000))
    np.testing.assert_allclose(np.cov(draws) / np.outer(sd, sd), C / np.outer(sd, sd), atol=0.04)
    np.testing.assert_allclose(draws[1], draws[2], rtol=1e-6)


def test_samples_of_a_long_series_join_where_stretches_do(monkeypatch):
    X, sites = problem(n=150)
    kernel, Z = KERNELS[5], np.linspace(-1.0, 31.0, 40)[:, None]
    whole = MarkovPrior.at(kernel, X).condition(sites).sample(Z, 3, np.random.default_rng(0))
    monkeypatch.setattr(markov, "TABLE_ENTRIES", 1)
    p = MarkovPrior.at(kernel, X).condition(sites)
    np.testing.assert_allclose(p.sample(Z, 3, np.random.default_rng(0)), whole, rtol=1e-6)


def test_compact_posterior_predicts_the_same_and_pickles_small():
    X, sites = problem(n=2000)
    p = MarkovPrior.at(KERNELS[1], X).condition(sites)
    p.gradient()
    small = pickle.loads(pickle.dumps(p.compact()))
    Z = np.linspace(0.0, 300.0, 7)[:, None]
    np.testing.assert_array_equal(small.predict(Z).variance, p.predict(Z).variance)
    np.testing.assert_array_equal(small.leave_one_out().mean, p.leave_one_out().mean)
    assert len(pickle.dumps(p)) < 200 * len(X)


def test_a_timeline_serves_many_kernels():
    X, sites = problem()
    timeline = Timeline.of(X)
    for kernel in FEW:
        a, b = (MarkovPrior.at(kernel, inputs).condition(sites) for inputs in (timeline, X))
        assert a.log_evidence == b.log_evidence
        assert a.inputs is X


def test_anticipated_mean_is_that_of_the_new_sites():
    X, sites = problem()
    other = Sites(sites.target + 0.1, 2.0 * sites.precision, sites.log_scale)
    prior, exact = MarkovPrior.at(KERNELS[1], X), ExactPrior.at(KERNELS[1], X)
    near = prior.condition(sites)
    anticipated = prior.anticipate(other, near, None)
    expected = prior.condition(other, near.mean).marginals().mean
    np.testing.assert_allclose(anticipated.mean, expected, rtol=1e-12)
    assert prior.anticipate(other, near, anticipated.solution) is None
    with pytest.raises(TypeError, match="anticipated from its like"):
        prior.anticipate(other, exact.condition(sites), None)


def test_uncertain_parameters_are_those_of_the_exact_posterior():
    X, sites = problem(n=40)
    kernel, Z = Matern32(1.3, 0.6), np.linspace(-1.0, 9.0, 7)[:, None]
    covariance = np.array([[0.04, 0.01], [0.01, 0.09]])
    a, b = (
        UncertainPosterior.around(prior.at(kernel, X).condition(sites), X, partial(prior.at, X=X), covariance)
        for prior in (MarkovPrior, ExactPrior)
    )
    np.testing.assert_allclose(a.predict(Z).variance, b.predict(Z).variance, rtol=1e-9)
    np.testing.assert_allclose(a.compact().covariance(Z), b.covariance(Z), rtol=1e-8, atol=1e-10)


def test_steps_are_told_apart_exactly():
    t = np.cumsum(np.random.default_rng(0).choice([0.0, 0.25, 1.0, 1.0 + 2**-40], 500))
    steps = Steps.of(t)
    np.testing.assert_array_equal(np.sort(steps.distinct), np.unique(np.diff(t, prepend=t[0])))
    np.testing.assert_array_equal(steps.distinct[steps.which[1:]], np.diff(t))
    assert steps.which[0] == -1
    after = Steps.of(t, before=t[0] - 0.25)
    assert after.distinct[after.which[0]] == 0.25
    many = np.cumsum(np.arange(2.0 * MOST_STEPS))
    assert Steps.of(many).distinct is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MarkovPrior.at(Matern32(), np.zeros((3, 2))), "one input, but X has 2 columns"),
        (lambda: MarkovPrior.at(Matern32(), np.zeros(3)), "use x[:, None]"),
        (lambda: MarkovPrior.at(Matern32(), np.array([[np.nan]])), "NaN or infinity"),
        (lambda: MarkovPrior.at(SquaredExponential(), np.zeros((3, 1))), "use Matern52"),
        (lambda: MarkovPrior.at(IntegratedNoise(origin=1.0), np.zeros((3, 1))), "set origin"),
        (
            lambda: MarkovPrior.at(Matern32(), np.zeros((3, 1))).condition(Sites.gaussian(np.ones(2), 1.0)),
            "3 rows but there are 2",
        ),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(ValueError) as error:
        make()
    assert message in str(error.value)


def test_prediction_with_the_wrong_number_of_columns_is_refused():
    X, sites = problem(n=30)
    p = MarkovPrior.at(Matern32(), X).condition(sites)
    for ask in (p.predict, p.covariance, p.predict_mean):
        with pytest.raises(ValueError, match="Z has 2 columns but the training inputs have 1"):
            ask(np.zeros((2, 2)))


def read(document, store):
    arrays = [array_from_bytes(content) for content in store.contents]
    return decode_posterior(Record("posterior", json.loads(json.dumps(document)), arrays), 1)


@pytest.mark.parametrize("kernel", [KERNELS[5], KERNELS[6], KERNELS[3]], ids=repr)
def test_a_saved_posterior_comes_back(kernel):
    """The filter runs again, with the mean known: rounding may differ."""
    X, sites = problem(n=300)
    Z = np.linspace(-0.4, 70.0, 11)[:, None]
    best = MarkovPrior.at(kernel, X).condition(sites)
    covariance = 0.01 * np.eye(kernel.theta.size)
    uncertain = UncertainPosterior.around(best, X, partial(MarkovPrior.at, X=X), covariance)
    for p in (best, uncertain):
        again = read(encode_posterior(p, store := ArrayStore()), store)
        assert again.log_evidence == pytest.approx(p.log_evidence, rel=1e-12)
        for name in ("mean", "variance"):
            for ours, theirs in ((again.predict(Z), p.predict(Z)), (again.marginals(), p.marginals())):
                np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-10)


def test_a_saved_posterior_with_a_kernel_without_state_space_form_is_refused():
    X, sites = problem(n=30)
    document = encode_posterior(MarkovPrior.at(Matern32(), X).condition(sites), store := ArrayStore())
    with pytest.raises(ModelFileError, match="state-space form"):
        read({**document, "kernel": encode_kernel(SquaredExponential())}, store)
