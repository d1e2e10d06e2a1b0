"""Every estimator takes copied rows for one observation."""

import warnings

import numpy as np
import pytest
from references.repeated import AGAIN, N, readings, replicates
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

ESTIMATORS = [
    AsorGPRegressor(),
    MixtureGPRegressor(n_starts=1),
    OracleGPRegressor(),
    RCGPRegressor(),
    RobustGPRegressor(),
    StandardGPRegressor(inducing=12),
    StudentTGPRegressor(inference="vb"),
]


def by_row(model):
    """Everything that a model has for each row."""
    names = ("weights_", "outlier_proba_", "inlier_std_", "component_proba_")
    mean, std = model.leave_one_out(include_noise=True)
    return {name: getattr(model, name) for name in names if hasattr(model, name)} | {"mean": mean, "std": std}


@pytest.fixture(params=ESTIMATORS, ids=lambda e: type(e).__name__)
def estimator(request):
    return clone(request.param)


@pytest.mark.parametrize("how", AGAIN)
def test_fit_of_copied_rows_is_that_of_the_rows_once(estimator, how):
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


def test_summary_counts_rows_and_names_copies():
    rows, (X, y) = AGAIN["doubled"], readings()
    once = RobustGPRegressor().fit(X, y)
    with pytest.warns(RepeatedRowsWarning, match="Remove repeated rows from the data if they were copied$"):
        model = RobustGPRegressor().fit(X[rows], y[rows])
    assert once.summary().startswith("8 of 50 readings are probably faulty")
    assert model.summary().startswith("16 of 100 readings are probably faulty")
    why = "more rows repeat others exactly than chance explains."
    assert model.summary().endswith(f" 50 rows are taken for copies and do not count: {why}")
    assert "copies" not in once.summary()


def test_fit_of_replicates_merges_and_mentions_none():
    """Neither merged nor mentioned: each of them tells something."""
    X, y = replicates(12, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RobustGPRegressor().fit(X, y)
    assert model.n_repeats_ == 0
    assert 0.05 < np.sqrt(model.noise_variance_) < 0.2


def test_fit_of_several_outputs_finds_copies_for_each():
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


def test_oracle_mask_is_that_of_each_row():
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
def test_load_refuses_other_numbers_of_observations(doubled, wrong, tmp_path):
    model = StandardGPRegressor().fit(*doubled)
    object.__setattr__(model._outputs[0], "observation", wrong)
    model.save(tmp_path / "model.sgp")
    with pytest.raises(ModelFileError, match="observation should be the numbers of 50 observations"):
        sturdygp.load(tmp_path / "model.sgp")


@pytest.mark.filterwarnings("ignore::sturdygp.RepeatedRowsWarning")
def test_checkpoint_continues_with_copies(doubled, tmp_path):
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


def test_fit_of_a_dask_array_finds_no_copies(doubled):
    """Nobody looks for copies there."""
    da = pytest.importorskip("dask.array")
    X, y = (da.from_array(values, chunks=30) for values in doubled)
    model = StandardGPRegressor(inducing=10).fit(X.rechunk((30, 1)), y)
    assert model.n_repeats_ == 0
