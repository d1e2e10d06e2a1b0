"""Every method on a process over time, and which engine is used when."""

import numpy as np
import pytest
from sklearn.base import clone

import sturdygp
from sturdygp import (
    AsorGPRegressor,
    MixtureGPRegressor,
    OracleGPRegressor,
    RCGPRegressor,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
)
from sturdygp.estimators.inducing import MARKOV_ROWS, engine_for
from sturdygp.kernels import DampedHarmonics, Matern32, Matern52, SquaredExponential

ESTIMATORS = [
    StandardGPRegressor(),
    OracleGPRegressor(),
    AsorGPRegressor(),
    MixtureGPRegressor(),
    StudentTGPRegressor(),
    StudentTGPRegressor(inference="vb"),
    RCGPRegressor(recentre=0),
    RobustGPRegressor(),
]


def series(n=160, seed=0):
    """Irregular times in no order, one of them twice, and outliers."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.0, 12.0, n)
    t[5] = t[9]
    y = np.sin(t) + 0.1 * rng.standard_normal(n)
    outlier = np.arange(n) % 17 == 3
    y[outlier] += 4.0
    return t[:, None], y, outlier


@pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda e: type(e).__name__ + getattr(e, "inference", "")
)
def test_markov_engine_gives_the_exact_fit(estimator):
    t, y, outlier = series()
    given = (outlier,) if isinstance(estimator, OracleGPRegressor) else ()
    kernel, Z = Matern52(1.0), np.linspace(-1.0, 13.0, 23)[:, None]
    exact, markov = (
        clone(estimator).set_params(kernel=kernel, engine=engine, tol=1e-7).fit(t, y, *given)
        for engine in ("exact", "markov")
    )
    np.testing.assert_allclose(markov.kernel_.theta, exact.kernel_.theta, atol=1e-4)
    assert markov.noise_variance_ == pytest.approx(exact.noise_variance_, rel=1e-4)
    assert markov.bound_ == pytest.approx(exact.bound_, abs=1e-4)
    for ours, theirs in zip(
        markov.predict(Z, return_std=True), exact.predict(Z, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
    if hasattr(exact, "outlier_proba_"):
        np.testing.assert_allclose(markov.outlier_proba_, exact.outlier_proba_, atol=1e-3)


def test_markov_model_comes_back_from_a_file(tmp_path):
    t, y, _ = series()
    kernel = Matern32(2.0) + DampedHarmonics(length_scale=20.0, period=6.28, weights=(1.0, 0.3))
    model = RobustGPRegressor(kernel=kernel, engine="markov").fit(t, y)
    model.save(tmp_path / "model.sgp")
    again = sturdygp.load(tmp_path / "model.sgp")
    Z = np.linspace(0.0, 13.0, 40)[:, None]
    for ours, theirs in zip(
        again.predict(Z, return_std=True), model.predict(Z, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)
    assert again.summary() == model.summary()


def test_markov_engine_has_a_kernel_of_its_own_and_resumes():
    t, y, outlier = series(400)
    model = RobustGPRegressor(engine="markov", warm_start=True).fit(t, y)
    assert "Matern52" in repr(model.kernel_)
    assert np.all((model.outlier_proba_ > 0.5)[outlier])
    first = model.n_factorizations_
    assert model.fit(t, y).n_factorizations_ < first


def test_engine_for_takes_markov_where_the_kernel_allows():
    short, long = np.zeros((MARKOV_ROWS - 1, 1)), np.zeros((MARKOV_ROWS, 1))
    assert engine_for("auto", None, Matern32(1.0), long) == "markov"
    assert engine_for("auto", None, Matern32(1.0), short) == "exact"
    assert engine_for("auto", None, SquaredExponential(1.0), long) == "exact"
    assert engine_for("auto", None, None, long) == "exact"
    assert engine_for("auto", None, Matern32(1.0), np.zeros((MARKOV_ROWS, 2))) == "exact"
    assert engine_for("auto", 10, Matern32(1.0), long) == "inducing"


@pytest.mark.parametrize(
    ("parameters", "columns", "message"),
    [
        ({"engine": "fast"}, 1, "engine must be one of 'auto', 'exact', 'inducing', 'markov'; got 'fast'"),
        ({"engine": "markov"}, 2, "is for one input, such as time; X has 2 columns"),
        ({"engine": "markov", "kernel": SquaredExponential(1.0)}, 1, "Matern52"),
        ({"engine": "markov", "inducing": 5}, 1, 'inducing inputs need engine="inducing" or "auto"'),
        ({"engine": "exact", "inducing": 5}, 1, 'inducing inputs need engine="inducing" or "auto"'),
    ],
)
def test_engine_refuses_what_cannot_be(parameters, columns, message):
    X = np.random.default_rng(0).uniform(size=(20, columns))
    with pytest.raises(ValueError, match=message):
        RobustGPRegressor(**parameters).fit(X, X[:, 0])


def test_methods_that_need_the_matrix_refuse_the_markov_engine():
    t, y, _ = series(60)
    for model in (StudentTGPRegressor(inference="laplace"), AsorGPRegressor(solver="gem")):
        with pytest.raises(ValueError, match="needs the exact process"):
            model.set_params(kernel=Matern32(1.0), engine="markov").fit(t, y)
