"""Rows that were copied do not count; observations that agree by chance do."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import sturdygp
from sturdygp import (
    AsorGPRegressor,
    MixtureGPRegressor,
    ModelFileError,
    OracleGPRegressor,
    RCGPRegressor,
    RepeatedRowsWarning,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
)
from sturdygp.methods.ties import Repeats

ESTIMATORS = [
    AsorGPRegressor(),
    MixtureGPRegressor(n_starts=1),
    OracleGPRegressor(),
    RCGPRegressor(),
    RobustGPRegressor(),
    StandardGPRegressor(inducing=12),
    StudentTGPRegressor(inference="vb"),
]
N = 50
# Rows of a table that are there again, and which of them come in which order.
AGAIN = {
    "doubled": np.tile(np.arange(N), 2),
    "tripled": np.tile(np.arange(N), 3),
    "half": np.concatenate([np.arange(N), np.arange(0, N, 2)]),
    "block": np.concatenate([np.arange(N), np.arange(10, 25)]),
}


def readings(seed=0, step=0.0, n=N):
    """Readings of a function at inputs of their own, one in seven of them faulty."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, (n, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)
    y[::7] += 3.0
    return X, np.round(y / step) * step if step else y


def response(dose):
    return 10.0 / (1.0 + np.exp(6.0 - dose))


def replicates(doses, count, *, step=0.1, noise=0.1, faults=0.0, seed=0):
    """A designed experiment: several readings at each of some doses."""
    rng = np.random.default_rng(seed)
    dose = np.repeat(np.linspace(0.0, 12.0, doses), count)
    y = response(dose) + noise * rng.standard_normal(dose.size)
    faulty = rng.random(dose.size) < faults
    y[faulty] += rng.uniform(1.0, 9.0, faulty.sum())
    return dose[:, None], np.round(y / step) * step if step else y


# ---------------------------------------------------------------------------------- what is a copy


def assert_restored(repeats, rows, n):
    """The first of some copies is kept, and every row stands for the row that it is a copy of."""
    assert repeats.count == rows.size - n
    np.testing.assert_array_equal(np.flatnonzero(repeats.kept), np.unique(rows, return_index=True)[1])
    np.testing.assert_array_equal(rows[repeats.kept][repeats.observation], rows)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("step", [0.0, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("rows", AGAIN.values(), ids=AGAIN)
def test_copies_are_found_whatever_the_rounding(rows, step, seed):
    X, y = readings(seed, step)
    assert_restored(Repeats.of(X[rows], y[rows]), rows, N)


@pytest.mark.parametrize("rows", AGAIN.values(), ids=AGAIN)
def test_copies_are_found_in_any_order(rows):
    X, y = readings(step=0.1)
    shuffled = np.random.default_rng(1).permutation(rows)
    repeats = Repeats.of(X[shuffled], y[shuffled])
    assert repeats.count == rows.size - N
    np.testing.assert_array_equal(shuffled[repeats.kept][repeats.observation], shuffled)


@pytest.mark.parametrize("faults", [0.0, 0.15])
@pytest.mark.parametrize("noise", [0.05, 0.1, 0.3])
@pytest.mark.parametrize(("doses", "count"), [(12, 4), (12, 2), (40, 4), (100, 2), (24, 30), (6, 3)])
def test_replicates_that_agree_by_rounding_are_not_copies(doses, count, noise, faults):
    agree = 0
    for seed in range(10):
        X, y = replicates(doses, count, noise=noise, faults=faults, seed=seed)
        agree += y.size - np.unique(np.column_stack([X, y]), axis=0).shape[0]
        assert Repeats.of(X, y).count == 0
    assert agree > 0


@pytest.mark.parametrize("noise", [0.05, 0.1, 0.3])
def test_replicates_on_a_logarithmic_scale_are_not_copies(noise):
    """Steps are uneven there, so that their least difference is smaller than most."""
    for seed in range(10):
        X, y = replicates(12, 4, noise=noise, seed=seed)
        assert Repeats.of(X, np.log(5.0 + y)).count == 0


def test_integer_inputs_that_meet_by_chance_are_no_copies():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 8, (120, 2)).astype(float)
        assert Repeats.of(X, np.round(np.sin(X[:, 0]) + 0.1 * rng.standard_normal(120), 1)).count == 0


@pytest.mark.parametrize("count", [3, 4])
def test_replicates_without_noise_outvote_a_fault(count):
    """Of exact values and faults at the same inputs the former are the majority, and stay it."""
    for seed in range(10):
        X, y = replicates(40, count, step=0.0, noise=0.0, faults=0.15, seed=seed)
        assert Repeats.of(X, y).count == 0


def test_fill_values_beside_exact_replicates_are_no_copies():
    """They agree with each other at many inputs, and exact values with themselves."""
    for seed in range(10):
        X, y = replicates(40, 5, step=0.0, noise=0.0, seed=seed)
        y[np.random.default_rng(seed).random(200) < 0.3] = -999.0
        assert Repeats.of(X, y).count == 0


def test_values_that_are_found_everywhere_are_no_copies():
    """Zeros at night, three days of them at the same hours; a detection limit; a constant."""
    hour = np.repeat(np.arange(0.0, 24.0, 1.0 / 6.0), 3)
    sun = np.sin((hour - 9.0) * np.pi / 6.0)
    noise = 0.3 * np.random.default_rng(0).standard_normal(hour.size)
    y = np.where((sun > 0.2) & (hour > 9.0) & (hour < 15.0), 10.0 * sun + noise, 0.0)
    assert np.mean(y == 0.0) > 0.7
    assert Repeats.of(hour[:, None], y).count == 0
    X, y = replicates(40, 4, step=0.0, noise=0.3)
    assert Repeats.of(X, np.maximum(y, 0.5)).count == 0
    assert Repeats.of(X, np.full(160, 37.0)).count == 0


def test_a_value_that_stays_is_no_copy_of_itself():
    """A sensor that is stuck: the times differ."""
    y = np.where(np.arange(80) < 40, -0.01, np.sin(np.arange(80.0)))
    assert Repeats.of(np.arange(80.0)[:, None], y).count == 0


@pytest.mark.parametrize("step", [0.0, 0.1])
@pytest.mark.parametrize("times", [2, 3])
def test_replicates_that_were_copied_as_a_whole_are_restored(times, step):
    """Those that agree by chance stay as many as they were."""
    X, y = replicates(12, 4, step=step)
    rows = np.tile(np.arange(48), times)
    repeats = Repeats.of(X[rows], y[rows])
    np.testing.assert_array_equal(np.flatnonzero(repeats.kept), np.arange(48))
    np.testing.assert_array_equal(X[repeats.observation], X[rows])
    np.testing.assert_array_equal(y[repeats.observation], y[rows])


@pytest.mark.parametrize("faults", [0.0, 0.15])
def test_copies_of_some_replicates_are_found_among_exact_targets(faults):
    X, y = replicates(40, 4, step=0.0, faults=faults)
    rows = np.concatenate([np.arange(160), np.random.default_rng(0).permutation(160)[:60]])
    assert_restored(Repeats.of(X[rows], y[rows]), rows, 160)


def test_copies_with_common_values_are_found_among_others():
    """What is no evidence by itself is a copy where others are."""
    X, y = readings(n=60)
    y[:20] = 0.0
    rows = np.concatenate([np.arange(60), np.arange(10, 50)])
    assert_restored(Repeats.of(X[rows], y[rows]), rows, 60)


def test_one_coincidence_is_none():
    X, y = readings(step=0.1)
    assert Repeats.of(X[[*range(N), 4]], y[[*range(N), 4]]).count == 0


def test_rows_that_differ_in_what_is_known_of_them_are_no_copies():
    X, y = readings()
    rows = AGAIN["doubled"]
    known = np.arange(rows.size) >= N
    assert Repeats.of(X[rows], y[rows], known.astype(float)).count == 0


# --------------------------------------------------------------------------- what estimators make of it


def by_row(model):
    """Everything that a model has for each row."""
    names = ("weights_", "outlier_proba_", "nominal_std_", "branch_proba_")
    mean, std = model.leave_one_out(include_noise=True)
    return {name: getattr(model, name) for name in names if hasattr(model, name)} | {"mean": mean, "std": std}


@pytest.fixture(params=ESTIMATORS, ids=lambda e: type(e).__name__)
def estimator(request):
    return clone(request.param)


@pytest.mark.parametrize("how", AGAIN)
def test_copies_change_nothing(estimator, how):
    """The fit is that of the rows once, and what is known of a row holds for its copies."""
    rows, (X, y) = AGAIN[how], readings()
    once = clone(estimator).fit(X, y)
    with pytest.warns(RepeatedRowsWarning, match=f"^{rows.size - N} rows are taken for copies"):
        model = estimator.fit(X[rows], y[rows])
    assert (once.n_repeats_, model.n_repeats_) == (0, rows.size - N)
    new = np.linspace(-1.0, 7.0, 30)[:, None]
    for a, b in zip(model.predict(new, return_std=True), once.predict(new, return_std=True), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (model.bound_, model.noise_variance_) == (once.bound_, once.noise_variance_)
    np.testing.assert_array_equal(model.trace_, once.trace_)
    expected = by_row(once)
    for name, values in by_row(model).items():
        np.testing.assert_array_equal(values, expected[name][rows], err_msg=name)
    assert model.fitted_to(X[rows], y[rows])
    assert model.has_targets(y[rows])
    assert not model.fitted_to(X[rows][::-1], y[rows])


def test_summary_counts_rows_and_tells_of_copies():
    rows, (X, y) = AGAIN["doubled"], readings()
    once = RobustGPRegressor().fit(X, y)
    with pytest.warns(RepeatedRowsWarning, match="Remove repeated rows from the data if they were copied$"):
        model = RobustGPRegressor().fit(X[rows], y[rows])
    assert once.summary().startswith("8 of 50 readings are probably faulty")
    assert model.summary().startswith("16 of 100 readings are probably faulty")
    why = "more rows repeat others exactly than chance explains."
    assert model.summary().endswith(f" 50 rows are taken for copies and do not count: {why}")
    assert "copies" not in once.summary()


def test_replicates_are_fitted_as_they_are():
    """Neither merged nor mentioned: each of them tells something."""
    X, y = replicates(12, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RobustGPRegressor().fit(X, y)
    assert model.n_repeats_ == 0
    assert 0.05 < np.sqrt(model.noise_variance_) < 0.2


def test_each_output_has_copies_of_its_own():
    """A row whose target is missing in one output is a copy in the other."""
    rows, (X, y) = AGAIN["doubled"], readings()
    both = np.column_stack([y, np.cos(X[:, 0]) + 0.1 * np.random.default_rng(2).standard_normal(N)])
    table = both[rows]
    table[N:, 1] = np.nan
    table[3, 0] = np.nan
    with pytest.warns(RepeatedRowsWarning, match="^output 0: 49 rows are"):
        model = AsorGPRegressor().fit(X[rows], table)
    once = AsorGPRegressor().fit(X, both)
    np.testing.assert_array_equal(model.n_repeats_, [49, 0])
    np.testing.assert_allclose(model.predict(X), once.predict(X), rtol=1e-5)
    np.testing.assert_array_equal(np.isnan(model.weights_), np.isnan(table))
    np.testing.assert_allclose(model.weights_[N:, 0], once.weights_[:, 0], rtol=1e-3)


def test_oracle_is_told_of_each_row():
    """Copies are told the same; what differs in that is no copy, and its mask stays with it."""
    rows, (X, y) = AGAIN["half"], readings()
    mask = np.arange(N) % 7 == 0
    once = OracleGPRegressor().fit(X, y, outlier_mask=mask, outlier_variance=1.0, outlier_mean=3.0)
    with pytest.warns(RepeatedRowsWarning):
        model = OracleGPRegressor().fit(
            X[rows], y[rows], outlier_mask=mask[rows], outlier_variance=1.0, outlier_mean=3.0
        )
    np.testing.assert_array_equal(model.predict(X), once.predict(X))
    np.testing.assert_array_equal(model.weights_, once.weights_[rows])
    other = mask[rows].copy()
    other[N:] = ~other[N:]
    differs = OracleGPRegressor().fit(X[rows], y[rows], outlier_mask=other)
    assert differs.n_repeats_ == 0
    np.testing.assert_array_equal(differs.weights_ == 0.0, other)


# ------------------------------------------------------------------- files, and fits that go on


@pytest.fixture
def doubled():
    rows, (X, y) = AGAIN["doubled"], readings()
    return X[rows], y[rows]


@pytest.mark.filterwarnings("ignore::sturdygp.RepeatedRowsWarning")
def test_saved_model_keeps_its_copies(doubled, tmp_path):
    X, y = doubled
    model = RobustGPRegressor().fit(X, y)
    model.save(tmp_path / "model.sgp")
    again = sturdygp.load(tmp_path / "model.sgp")
    assert again.summary() == model.summary()
    assert again.n_repeats_ == N
    assert again.fitted_to(X, y)
    for name, values in by_row(model).items():
        np.testing.assert_array_equal(by_row(again)[name], values, err_msg=name)


@pytest.mark.filterwarnings("ignore::sturdygp.RepeatedRowsWarning")
@pytest.mark.parametrize(
    "wrong", [np.zeros(2 * N, dtype=np.int64), np.arange(2 * N), np.arange(2 * N) % N - 1]
)
def test_a_file_with_other_observations_is_refused(doubled, wrong, tmp_path):
    model = StandardGPRegressor().fit(*doubled)
    object.__setattr__(model._outputs[0], "observation", wrong)
    model.save(tmp_path / "model.sgp")
    with pytest.raises(ModelFileError, match="observation should be the numbers of 50 observations"):
        sturdygp.load(tmp_path / "model.sgp")


@pytest.mark.filterwarnings("ignore::sturdygp.RepeatedRowsWarning")
def test_interrupted_fit_goes_on_with_copies(doubled, tmp_path):
    """From its checkpoint, and from the last fit; whether rows are there once or twice is the same fit."""
    X, y = doubled
    file = tmp_path / "fit.ckpt"
    expected = AsorGPRegressor(tol=1e-7).fit(X, y)
    cut = AsorGPRegressor(tol=1e-7, checkpoint=file, callback=lambda progress: progress.iteration == 3)
    assert cut.fit(X, y).status_ is sturdygp.status.Status.STOPPED
    resumed = AsorGPRegressor(tol=1e-7, checkpoint=file).fit(X[:N], y[:N])
    np.testing.assert_allclose(resumed.bound_, expected.bound_, rtol=1e-8)
    warm = AsorGPRegressor(tol=1e-7, warm_start=True).fit(X[:N], y[:N])
    assert warm.fit(X, y).n_iter_ < expected.n_iter_
    assert warm.weights_.shape == (2 * N,)


def test_rows_of_a_dask_array_are_taken_as_they_are(doubled):
    """Nobody looks for copies there."""
    da = pytest.importorskip("dask.array")
    X, y = (da.from_array(values, chunks=30) for values in doubled)
    model = StandardGPRegressor(inducing=10).fit(X.rechunk((30, 1)), y)
    assert model.n_repeats_ == 0
