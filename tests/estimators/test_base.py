"""One contract for every estimator: a new one is tested by adding it to the list."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from references.problems import contaminated
from scipy.integrate import trapezoid
from scipy.stats import norm
from scipy.stats import t as student_t
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import kernels as sk
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

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
from sturdygp.kernels import Linear, Matern52, SquaredExponential
from sturdygp.status import Status

ESTIMATORS = [
    AsorGPRegressor(),
    StandardGPRegressor(),
    OracleGPRegressor(),
    RCGPRegressor(),
    StudentTGPRegressor(inference="vb"),
    StudentTGPRegressor(inference="laplace"),
    StudentTGPRegressor(),
    MixtureGPRegressor(),
    RobustGPRegressor(),
]


IDS = [type(e).__name__ + getattr(e, "inference", "") for e in ESTIMATORS]


# Not robust, or only with a given mask.
TRUSTING = (StandardGPRegressor, OracleGPRegressor)


# These tell outliers from inliers.
FLAGGING = (AsorGPRegressor, MixtureGPRegressor, RobustGPRegressor)


@pytest.fixture(params=ESTIMATORS, ids=IDS)
def estimator(request):
    return clone(request.param)


@parametrize_with_checks(ESTIMATORS)
def test_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        # The checks fit random numbers; whether such a fit converges is not their subject.
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def outcome(model, X):
    mean, std = model.predict(X, return_std=True)
    return mean, std


def assert_same(a, b, X, scale=1.0, shift=0.0, rtol=2e-3):
    """Two fits predict the same up to the optimiser's tolerance."""
    (mean_a, std_a), (mean_b, std_b) = outcome(a, X), outcome(b, X)
    np.testing.assert_allclose(mean_b, scale * mean_a + shift, atol=rtol * abs(scale))
    np.testing.assert_allclose(std_b, abs(scale) * std_a, atol=rtol * abs(scale))


def only(estimator, kinds):
    if not isinstance(estimator, kinds):
        pytest.skip("not claimed")


def robust(estimator):
    if isinstance(estimator, TRUSTING):
        pytest.skip("not claimed")


def test_weights_are_within_bounds_and_small_for_outliers(estimator, data):
    model = estimator.fit(data.X, data.y)
    assert np.all((model.weights_ >= 0) & (model.weights_ <= 1 + 1e-12))
    robust(estimator)
    gross = data.outlier_mask & (np.abs(data.y - data.f) > 3)
    assert np.median(model.weights_[gross]) < 0.5 * np.median(model.weights_[~data.outlier_mask])


def test_predict_recovers_the_function(estimator, data):
    robust(estimator)
    model = estimator.fit(data.X, data.y)
    plain = StandardGPRegressor().fit(data.X, data.y)
    error, ordinary = (np.sqrt(np.mean((m.predict(data.X_test) - data.f_test) ** 2)) for m in (model, plain))
    assert error < 0.7 * ordinary


def test_outlier_proba_finds_the_outliers(estimator, data):
    only(estimator, FLAGGING)
    model = estimator.fit(data.X, data.y)
    gross = data.outlier_mask & (np.abs(data.y - data.f) > 3)
    assert model.outlier_proba_[gross].min() > 0.9
    assert np.median(model.outlier_proba_[~data.outlier_mask]) < 0.4


@pytest.mark.parametrize(("scale", "shift"), [(1e6, -3e6), (1e-6, 0.0), (-2.0, 100.0)])
def test_fit_does_not_depend_on_units_of_targets(estimator, data, scale, shift):
    y = data.y[:, 0]
    a = clone(estimator).fit(data.X, y)
    b = clone(estimator).fit(data.X, scale * y + shift)
    assert_same(a, b, data.X_test, scale, shift)
    np.testing.assert_allclose(a.weights_, b.weights_, atol=2e-3)
    assert b.noise_variance_ == pytest.approx(scale**2 * a.noise_variance_, rel=5e-3)
    assert b.kernel_.variance == pytest.approx(scale**2 * a.kernel_.variance, rel=5e-2)
    assert b.mean_ == pytest.approx(scale * a.mean_ + shift, rel=1e-2, abs=1e-2 * abs(scale))
    if not isinstance(estimator, RCGPRegressor):
        assert b.bound_ == pytest.approx(a.bound_ - 60 * np.log(abs(scale)), abs=1e-2)
    np.testing.assert_allclose(b.trace_[-1], b.bound_, rtol=1e-4)


def test_fit_does_not_depend_on_order_of_rows_and_columns(estimator, data):
    y, order = data.y[:, 1], np.random.default_rng(0).permutation(60)
    a = clone(estimator).fit(data.X, y)
    b = clone(estimator).fit(data.X[order], y[order])
    assert_same(a, b, data.X_test)
    np.testing.assert_allclose(b.weights_, a.weights_[order], atol=2e-3)
    c = clone(estimator).fit(data.X[:, ::-1], y)
    np.testing.assert_allclose(c.predict(data.X_test[:, ::-1]), a.predict(data.X_test), atol=2e-3)


def test_fit_does_not_depend_on_units_of_inputs(estimator, data):
    a = clone(estimator).fit(data.X, data.y[:, 0])
    b = clone(estimator).fit(1e5 * data.X + 3e6, data.y[:, 0])
    np.testing.assert_allclose(b.predict(1e5 * data.X_test + 3e6), a.predict(data.X_test), atol=2e-3)


def test_fit_does_not_depend_on_the_unit_of_one_input(estimator, data):
    y, unit = data.y[:, 0], np.array([1.0, 1e4])
    a, b = clone(estimator).fit(data.X, y), clone(estimator).fit(unit * data.X, y)
    np.testing.assert_allclose(b.predict(unit * data.X_test), a.predict(data.X_test), atol=2e-3)


def test_fit_follows_others_beside_a_wrong_input(estimator):
    x, rng = np.arange(120.0)[:, None], np.random.default_rng(0)
    truth = 15.0 - 5.0 * np.cos(2.0 * np.pi * x[:, 0] / 48.0)
    y = truth + 0.3 * rng.standard_normal(120)
    stretched = x.copy()
    stretched[33] = -475_000.0
    model = clone(estimator).fit(stretched, y)
    error = np.delete(model.predict(x) - truth, 33)
    assert np.sqrt(np.mean(error**2)) < 0.2


def test_fit_bounds_the_influence_of_a_gross_outlier(estimator, data):
    robust(estimator)
    y = make_synthetic(60, 40, rate=0.0, seed=4).y[:, 0]
    moved, missing = y.copy(), y.copy()
    moved[17], missing[17] = 1e6, np.nan
    a, b = clone(estimator).fit(data.X, moved), clone(estimator).fit(data.X, missing)
    # Not equal: the outlier still counts as an observation in the noise variance.
    # RCGP, whose threshold is a quantile of all distances, feels that most (.083; the others at most .022).
    limit = 0.1 if isinstance(estimator, RCGPRegressor) else 0.03
    np.testing.assert_allclose(a.predict(data.X_test), b.predict(data.X_test), atol=limit)
    # A fill value of netCDF is the last. RCGP scores the prediction of that, too, and is left with rounding.
    for value in (1e5, 1e9, 9.96921e36)[: 1 if isinstance(estimator, RCGPRegressor) else 3]:
        moved[17] = value
        c = clone(estimator).fit(data.X, moved)
        np.testing.assert_allclose(a.predict(data.X_test), c.predict(data.X_test), atol=1e-3)
        assert c.weights_[17] < 1e-6


def test_fit_is_deterministic_and_pickles(estimator, data):
    estimator.set_params(n_starts=9, random_state=3)
    a = clone(estimator).fit(data.X[:30], data.y[:30, 0])
    b = clone(estimator).fit(data.X[:30], data.y[:30, 0])
    np.testing.assert_array_equal(a.predict(data.X_test), b.predict(data.X_test))
    c = pickle.loads(pickle.dumps(a))
    for x, z in zip(outcome(a, data.X_test), outcome(c, data.X_test), strict=True):
        np.testing.assert_array_equal(x, z)


def test_fit_of_missing_targets_equals_dropped_rows_for_each_output(estimator, data):
    y = data.y.copy()
    gone = np.random.default_rng(1).uniform(size=y.shape) < 0.3
    y[gone] = np.nan
    model = clone(estimator).fit(data.X, y)
    assert np.isnan(model.weights_[gone]).all()
    assert np.isfinite(model.weights_[~gone]).all()
    assert model.predict(data.X_test).shape == (40, 4)
    for j in range(4):
        keep = ~gone[:, j]
        single = clone(estimator).fit(data.X[keep], y[keep, j])
        np.testing.assert_allclose(model.predict(data.X_test)[:, j], single.predict(data.X_test), rtol=1e-10)
        np.testing.assert_allclose(model.weights_[keep, j], single.weights_, rtol=1e-10)


def test_fit_of_several_outputs_has_the_right_shapes_and_values(estimator, data):
    model = clone(estimator).fit(data.X, data.y[:, :3])
    X = data.X_test[:7]
    mean, std = model.predict(X, return_std=True)
    _, cov = model.predict(X, return_cov=True)
    assert mean.shape == std.shape == (7, 3)
    assert cov.shape == (7, 7, 3)
    np.testing.assert_allclose(np.sqrt(np.einsum("iik->ik", cov)), std, rtol=1e-6)
    assert model.sample_y(X, 5).shape == (7, 3, 5)
    assert model.log_predictive_density(X, data.f_test[:7, :3]).shape == (7, 3)
    assert model.weights_.shape == (60, 3)
    if isinstance(estimator, FLAGGING):
        assert model.outlier_proba(X, data.f_test[:7, :3]).shape == (7, 3)
        assert model.outlier_proba_.shape == (60, 3)
    assert len(model.kernel_) == len(model.status_) == len(model.trace_) == 3
    for name in ("mean_", "noise_variance_", "bound_", "n_iter_", "n_factorizations_"):
        assert getattr(model, name).shape == (3,), name
    single = clone(estimator).fit(data.X, data.y[:, 1])
    np.testing.assert_allclose(mean[:, 1], single.predict(X), rtol=1e-12, atol=1e-12)
    assert single.sample_y(X, 5).shape == (7, 5)
    column = clone(estimator).fit(data.X, data.y[:, [1]])
    assert column.predict(X).shape == (7, 1)


def test_n_jobs_gives_the_same_answer(estimator, data):
    a = clone(estimator).fit(data.X, data.y)
    b = clone(estimator).set_params(n_jobs=2).fit(data.X, data.y)
    np.testing.assert_allclose(a.predict(data.X_test), b.predict(data.X_test), atol=1e-6)


def test_include_noise_and_densities_are_those_of_an_inlier(estimator, data):
    model = clone(estimator).fit(data.X, data.y[:, 0])
    X, y = data.X_test[:6], data.f_test[:6, 0]
    mean, std = model.predict(X, return_std=True)
    _, noisy = model.predict(X, return_std=True, include_noise=True)
    if isinstance(estimator, StudentTGPRegressor):
        # The normal density with the same 95 % interval, and the Student-t itself, by quadrature.
        noise = model.noise_variance_ * (student_t.ppf(0.975, 4) / norm.ppf(0.975)) ** 2
        f = mean + std * np.linspace(-9, 9, 2001)[:, None]
        density = norm.pdf(f, mean, std) * student_t.pdf(y - f, 4, scale=np.sqrt(model.noise_variance_))
        expected = np.log(trapezoid(density, f, axis=0))
    else:
        noise = model.noise_variance_
        expected = -0.5 * np.log(2 * np.pi * noisy**2) - 0.5 * ((y - mean) / noisy) ** 2
    np.testing.assert_allclose(noisy**2, std**2 + noise)
    np.testing.assert_allclose(model.log_predictive_density(X, y), expected, rtol=1e-6)
    draws = model.sample_y(X, 4000, random_state=1, include_noise=True)
    np.testing.assert_allclose(draws.std(axis=1), noisy, rtol=0.1)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.1)


def test_outlier_proba_judges_new_observations(estimator, data):
    only(estimator, FLAGGING)
    model = clone(estimator).fit(data.X, data.y[:, 0])
    X, y = data.X_test[:5], data.f_test[:5, 0].copy()
    y[1] += 50.0
    y[3] = np.nan
    proba = model.outlier_proba(X, y)
    assert proba[1] > 0.99
    assert np.isnan(proba[3])
    assert proba[[0, 2, 4]].max() < 0.6
    with pytest.raises(ValueError, match="y has 2 outputs but the model was fitted to 1"):
        model.outlier_proba(X, np.zeros((5, 2)))


def test_estimator_works_in_pipelines_searches_and_frames(estimator, data):
    frame = pd.DataFrame(data.X, columns=["a", "b"])
    pipe = make_pipeline(StandardScaler(), clone(estimator)).fit(frame, pd.Series(data.y[:, 0]))
    assert np.isfinite(pipe.score(frame, data.f[:, 0]))
    clean = data.f[:, 0] + 0.1 * np.random.default_rng(0).normal(size=60)
    scores = cross_val_score(clone(estimator), data.X, clean, cv=3)
    assert scores.min() > 0.5
    search = GridSearchCV(clone(estimator), {"init_noise_variance": [0.1, 0.5]}, cv=2)
    assert search.fit(frame, clean).best_estimator_.feature_names_in_.tolist() == ["a", "b"]


def test_kernel_may_be_any_and_is_in_the_units_of_y(estimator, data):
    y = 100.0 * data.y[:, 0]
    ours = clone(estimator).set_params(kernel=Matern52((1.0, 1.0), 1e4, variance_bounds=(1.0, 1e8)))
    ours.fit(data.X, y)
    # Leave-one-out hardly sees the variance of so smooth a function, so RCGP's may be large.
    assert 1e2 < ours.kernel_.variance < (2e7 if isinstance(estimator, RCGPRegressor) else 1e6)
    theirs = clone(estimator).set_params(
        kernel=sk.ConstantKernel(1e4, (1.0, 1e8)) * sk.Matern((1.0, 1.0), nu=2.5)
    )
    theirs.fit(data.X, y)
    np.testing.assert_allclose(theirs.predict(data.X_test), ours.predict(data.X_test), atol=1.0)
    fixed = SquaredExponential(1.5, 1e4, length_scale_bounds="fixed", variance_bounds="fixed")
    held = clone(estimator).set_params(kernel=fixed).fit(data.X, y)
    assert held.kernel_.variance == pytest.approx(1e4)
    assert held.kernel_.length_scale == 1.5


def test_fit_works_for_constant_and_tiny_data(estimator):
    X = np.linspace(0, 1, 12)[:, None]
    # The standard deviation of the second is a rounding error, not zero.
    for value in (3.0, 0.1):
        model = clone(estimator).fit(X, np.full(12, value))
        mean, std = model.predict([[0.5]], return_std=True)
        np.testing.assert_allclose(mean, value, atol=1e-3)
        assert 1e-6 < std[0] < 1.0
    two = clone(estimator).fit(X[:2], [0.0, 1.0])
    assert np.isfinite(two.predict(X)).all()
    one = clone(estimator).fit(X[:1], [2.0])
    np.testing.assert_allclose(one.predict(X[:1]), 2.0, atol=1e-6)
    same = clone(estimator).fit(np.zeros((5, 2)), [1.0, 1.1, 0.9, 1.0, 1.05])
    assert same.predict(np.zeros((1, 2)))[0] == pytest.approx(1.0, abs=0.1)


def test_log_predictive_density_integrates_to_one(estimator, data):
    only(estimator, FLAGGING)
    model = estimator.fit(data.X, data.y[:, 0])
    x, grid = data.X_test[:1], np.linspace(-400.0, 400.0, 40_001)
    log_density = model.log_predictive_density(np.repeat(x, grid.size, axis=0), grid, allow_outliers=True)
    # The slab of ASOR has tails that fall slowly.
    assert trapezoid(np.exp(log_density), grid) == pytest.approx(1.0, abs=0.01)
    assert np.isnan(model.log_predictive_density(x, [np.nan], allow_outliers=True)).all()


def test_fit_that_did_not_converge_warns(estimator, data):
    estimator.set_params(max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = estimator.fit(data.X, data.y[:, 0])
    assert model.status_ is Status.MAX_ITER
    assert model.n_iter_ == 1
    with pytest.warns(ConvergenceWarning, match="output 0, 1: stopped at max_iter"):
        clone(estimator).fit(data.X, data.y[:, :2])


def test_verbose_prints_progress(estimator, data, capsys):
    estimator.set_params(verbose=2).fit(data.X, data.y[:, 0])
    printed = capsys.readouterr().out
    assert "output 0: iteration 1, bound" in printed
    assert "output 0: converged, " in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scale_targets": "minmax"}, "scale_targets must be one of"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"max_iter": 2.5}, "max_iter must be a positive integer"),
        ({"tol": -1.0}, "tol must be a positive number"),
        ({"n_starts": True}, "n_starts must be a positive integer"),
        ({"init_noise_variance": "small"}, "init_noise_variance must be a positive number"),
        ({"kernel": "rbf"}, "expected a sturdygp kernel"),
        ({"kernel": SquaredExponential((1.0, 1.0, 1.0))}, "3 entries but X has 2 columns"),
        ({"kernel": sk.RBF() + SquaredExponential()}, "write it on the left"),
        ({"kernel": sk.RBF(), "inducing": 5, "optimise_inducing": True}, "optimise_inducing must be False"),
        ({"callback": 3}, "callback must be a function"),
    ],
)
def test_fit_refuses_bad_arguments(estimator, data, arguments, message):
    with pytest.raises(ValueError) as error:
        estimator.set_params(**arguments).fit(data.X, data.y[:, 0])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [np.nan]], [1.0, 2.0], "NaN"),
        ([[1.0], [np.inf]], [1.0, 2.0], "infinity"),
        ([[1.0], [2.0]], [1.0, np.inf], "infinity"),
        ([[1.0], [2.0]], [1.0, 2.0, 3.0], "inconsistent numbers of samples"),
        ([[1.0], [2.0]], [np.nan, np.nan], "output 0 of y has no observed entry"),
        ([[1.0], [2.0]], np.zeros((2, 1, 1)), "y must have shape"),
        ([1.0, 2.0], [1.0, 2.0], "Expected 2D array"),
        (np.empty((0, 1)), [], "0 sample"),
    ],
)
def test_fit_refuses_bad_data(estimator, X, y, message):
    with pytest.raises(ValueError) as error:
        estimator.fit(X, y)
    assert message in str(error.value)


@pytest.mark.parametrize("checkpoint", [3, "no/such/folder/fit.ckpt"])
def test_fit_refuses_a_checkpoint_that_cannot_be_written(estimator, data, checkpoint):
    with pytest.raises(ValueError, match="checkpoint"):
        estimator.set_params(checkpoint=checkpoint).fit(data.X, data.y[:, 0])


def test_fit_refuses_a_kernel_that_cannot_be_evaluated(estimator):
    x = np.linspace(0, 5, 40)[:, None]
    refused = pytest.raises(ValueError, match=r"output 0 cannot be fitted.* in the units of y")
    with refused, pytest.warns(UserWarning, match="not free to follow it"):
        estimator.set_params(kernel=sk.RBF(1.0)).fit(x, 1e-16 * np.sin(x[:, 0]))


@pytest.mark.parametrize("unit", [700.0, 1e-3])
def test_scale_targets_none_accepts_any_unit_with_a_warning(estimator, unit):
    x, f, y = contaminated()
    near = clone(estimator).set_params(scale_targets=None).fit(x, y)
    with pytest.warns(UserWarning, match=r"output 0: scale_targets=None .* counted in units of"):
        far = estimator.set_params(scale_targets=None).fit(x, unit * y)
    error, usual = (
        np.sqrt(np.mean((m / s - f) ** 2)) for m, s in ((far.predict(x), unit), (near.predict(x), 1))
    )
    assert error < 1.2 * usual + 0.01
    if isinstance(estimator, FLAGGING):
        np.testing.assert_array_equal(far.outlier_proba_ > 0.5, near.outlier_proba_ > 0.5)


@pytest.mark.parametrize("value", [1e155, -1e300])
def test_fit_refuses_an_input_whose_square_overflows(estimator, data, value):
    X = data.X.copy()
    X[3, 1] = value
    with pytest.raises(ValueError, match=r"X must lie between .* got -?1e\+\d+ in column 1; correct"):
        estimator.fit(X, data.y[:, 0])
    frame = pd.DataFrame(X, columns=["depth", "age"])
    with pytest.raises(ValueError, match="in column 'age'"):
        estimator.fit(frame, data.y[:, 0])


def test_predict_refuses_inputs_whose_squares_overflow(data):
    model = StandardGPRegressor().fit(data.X, data.y[:, 0])
    with pytest.raises(ValueError, match="in column 0"):
        model.predict([[1e200, 0.0]])


def test_kernel_without_variance_leaves_a_constant(estimator):
    y = np.random.default_rng(0).standard_normal(30)
    model = estimator.set_params(kernel=Linear()).fit(np.zeros((30, 2)), y)
    mean, std = model.predict(np.zeros((2, 2)), return_std=True)
    np.testing.assert_allclose(mean, np.mean(y), atol=0.3)
    np.testing.assert_allclose(std, 0.0, atol=1e-6)


def test_leave_one_out_where_a_kernel_knows_the_function(estimator):
    x, _, y = contaminated(40)
    model = estimator.set_params(kernel=Linear()).fit(x, y)
    mean, std = model.leave_one_out()
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    # The flagship allows for doubt in the mean, too.
    assert std[0] < 0.01
    assert np.all(std[1:] > std[0])


def test_outlier_proba_stays_within_bounds_for_any_observation(estimator):
    only(estimator, FLAGGING)
    x, _, y = contaminated()
    y[[3, 50]] = 1e298, -1e60
    model = estimator.fit(x, y)
    new = model.outlier_proba(x[:6], [1e298, -1e200, 1e100, 1e30, 0.0, np.nan])
    for proba in (model.outlier_proba_, new[:5]):
        assert np.all((proba >= 0.0) & (proba <= 1.0))
    np.testing.assert_array_equal(new[:4], 1.0)


def test_fit_reports_overflow_in_the_words_of_the_estimator(data):
    model = StandardGPRegressor(noise="fixed", init_noise_variance=1e-320)
    with pytest.raises(ValueError, match=r"output 0 cannot be fitted: numbers on the way") as error:
        model.fit(data.X, data.y[:, 0])
    assert "precision must be" not in str(error.value)


def test_estimator_leaves_the_global_random_state_alone(estimator, data):
    before = np.random.get_state()  # noqa: NPY002
    n_starts = 1 if isinstance(estimator, RobustGPRegressor) else 3
    first, second = (
        clone(estimator).set_params(n_starts=n_starts).fit(data.X, data.y[:, 0]) for _ in range(2)
    )
    np.testing.assert_array_equal(first.predict(data.X), second.predict(data.X))
    draws = [first.sample_y(data.X[:3], random_state=None) for _ in range(2)]
    assert not np.array_equal(*draws)
    np.testing.assert_equal(np.random.get_state(), before)  # noqa: NPY002


@pytest.mark.parametrize(
    "estimator", [StandardGPRegressor(), OracleGPRegressor()], ids=["standard", "oracle"]
)
def test_noise_fixed_is_in_the_units_of_y(estimator, data):
    model = clone(estimator).set_params(noise="fixed", init_noise_variance=0.3).fit(data.X, 100 * data.y)
    np.testing.assert_allclose(model.noise_variance_, 0.3)


@pytest.mark.parametrize("scale", [1e160, 1e-160])
def test_fit_refuses_targets_whose_squares_overflow(estimator, data, scale):
    with pytest.raises(ValueError, match="y has a scale of"):
        estimator.fit(data.X, scale * data.y[:, 0])


def test_outlier_proba_accepts_the_largest_numbers(estimator, data):
    only(estimator, FLAGGING)
    model = estimator.fit(data.X, data.y[:, 0])
    np.testing.assert_allclose(model.outlier_proba(data.X[:2], [1e160, -1e308]), 1.0)


def test_log_predictive_density_of_others_ignores_a_missing_target(estimator, data):
    model = estimator.fit(data.X, data.y[:, 0])
    alone = model.log_predictive_density(data.X[:1], [1e3])
    both = model.log_predictive_density(data.X[:2], [1e3, np.nan])
    # A millionth of the prior variance is left: a sum in another order changes the ninth digit of that.
    assert both[0] == pytest.approx(alone[0], rel=1e-6)
    assert np.isnan(both[1])


def test_score_leaves_out_missing_targets(estimator, data):
    y = data.y[:, :2].copy()
    model = estimator.fit(data.X, y)
    assert model.score(data.X, y) == pytest.approx(r2_score(y, model.predict(data.X)))
    y[::3, 0] = np.nan
    given, predicted = ~np.isnan(y[:, 0]), model.predict(data.X)
    parts = r2_score(y[given, 0], predicted[given, 0]), r2_score(y[:, 1], predicted[:, 1])
    assert model.score(data.X, y) == pytest.approx(np.mean(parts))
    with pytest.raises(ValueError, match="nothing to score"):
        model.score(data.X, np.full_like(y, np.nan))


def test_predict_refuses_bad_calls(estimator, data):
    with pytest.raises(NotFittedError):
        estimator.predict(data.X)
    estimator.fit(data.X, data.y[:, 0])
    with pytest.raises(ValueError, match="not both"):
        estimator.predict(data.X, return_std=True, return_cov=True)
