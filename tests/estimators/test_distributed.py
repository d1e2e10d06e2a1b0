"""Dask collections: the same fits as in memory, with rows that stay where they are."""

import os
import pickle
import signal

import numpy as np
import pandas as pd
import pytest

from sturdygp import (
    AsorGPRegressor,
    MixtureGPRegressor,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
)
from sturdygp.datasets import UniformOutliers, make_synthetic
from sturdygp.estimators import distributed as waiting
from sturdygp.estimators.distributed import DaskRows
from sturdygp.gp import posterior, sparse
from sturdygp.gp.inputs import ColumnMoments

da = pytest.importorskip("dask.array")


dd = pytest.importorskip("dask.dataframe")


BLOCK = 130


ESTIMATORS = [
    StandardGPRegressor(inducing=25),
    AsorGPRegressor(inducing=25),
    MixtureGPRegressor(inducing=25, n_starts=1),
    StudentTGPRegressor(inducing=25),
    StudentTGPRegressor(inducing=25, inference="vb"),
    RobustGPRegressor(inducing=25),
]


@pytest.fixture(scope="module")
def data():
    return make_synthetic(450, 60, rate=0.3, outliers=UniformOutliers(0.0, 10.0), seed=0)


@pytest.fixture
def not_kept(monkeypatch):
    """In chunks like the blocks, what does not fit into memory is fitted by the same steps."""
    monkeypatch.setattr(sparse, "KEPT_ENTRIES", 0)
    monkeypatch.setattr(posterior, "CHUNK_ENTRIES", 25 * BLOCK)


def in_blocks(values, rows=BLOCK):
    return da.from_array(values, chunks=(rows, *values.shape[1:]))


@pytest.mark.usefixtures("not_kept")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_fit_to_blocks_equals_fit_to_one_array(estimator, data):
    y = data.y[:, 0].copy()
    y[430:] = np.nan
    expected = estimator.fit(data.X, y).predict(data.X_test, return_std=True)
    model = estimator.fit(in_blocks(data.X), in_blocks(y))
    # Rounding differs with memory layout; a long optimisation, and propagation after it, amplify it.
    close = 1e-6 if isinstance(estimator, RobustGPRegressor) else 1e-8
    for here, there in zip(expected, model.predict(data.X_test, return_std=True), strict=True):
        np.testing.assert_allclose(there, here, rtol=close, atol=close)


@pytest.mark.usefixtures("not_kept")
def test_fit_to_blocks_finds_heteroscedastic_noise():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 10.0, 300)
    y = np.sin(x) + 0.1 * np.exp(0.25 * x) * rng.standard_normal(300)
    expected = RobustGPRegressor(inducing=25).fit(x[:, None], y)
    model = RobustGPRegressor(inducing=25).fit(in_blocks(x[:, None]), in_blocks(y))
    assert expected.inlier_std_.max() > 3.0 * expected.inlier_std_.min()
    # Its steps end when one gains less than a twentieth of a nat.
    np.testing.assert_allclose(np.asarray(model.inlier_std_), expected.inlier_std_, rtol=1e-3)


@pytest.mark.usefixtures("not_kept")
def test_fit_to_blocks_finds_a_fill_value():
    rng = np.random.default_rng(1)
    x = np.linspace(0.0, 10.0, 260)
    y = 10.0 + np.sin(x) + 0.2 * rng.standard_normal(260)
    lost = rng.random(260) < 0.4
    y[lost] = 0.0
    model = RobustGPRegressor(inducing=25).fit(in_blocks(x[:, None]), in_blocks(y))
    np.testing.assert_array_equal(np.asarray(model.outlier_proba_) > 0.5, lost)


def test_predict_of_blocks_gives_blocks(data):
    model = StandardGPRegressor(inducing=25).fit(data.X, data.y)
    mean, std = model.predict(data.X_test, return_std=True, include_noise=True)
    lazy_mean, lazy_std = model.predict(in_blocks(data.X_test, 25), return_std=True, include_noise=True)
    assert lazy_mean.chunks == ((25, 25, 10), (4,))
    np.testing.assert_allclose(lazy_mean.compute(), mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(lazy_std.compute(), std, rtol=1e-12)
    np.testing.assert_allclose(model.predict(in_blocks(data.X_test)).compute(), mean, rtol=1e-12, atol=1e-12)
    single = StandardGPRegressor(inducing=25).fit(data.X, data.y[:, 0])
    assert single.predict(in_blocks(data.X_test)).shape == (60,)


# Dask's reader of Parquet and the newest pandas do not agree yet.
@pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")
def test_fit_to_tables_in_parquet_equals_fit_to_frames(data, tmp_path):
    columns = [f"x{i}" for i in range(data.X.shape[1])]
    table = pd.DataFrame(data.X, columns=columns).assign(y=data.y[:, 0])
    dd.from_pandas(table, npartitions=3).to_parquet(tmp_path / "readings")
    lazy = dd.read_parquet(tmp_path / "readings")
    model = AsorGPRegressor(inducing=25).fit(lazy[columns], lazy["y"])
    assert list(model.feature_names_in_) == columns
    expected = AsorGPRegressor(inducing=25).fit(table[columns], table["y"])
    new = pd.DataFrame(data.X_test, columns=columns)
    np.testing.assert_allclose(model.predict(new), expected.predict(new), atol=1e-3)
    np.testing.assert_allclose(model.outlier_proba_, expected.outlier_proba_, atol=1e-3)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(lazy[columns[::-1]])


def test_pickled_model_does_not_take_its_rows_along(data):
    model = RobustGPRegressor(inducing=25).fit(in_blocks(data.X), data.y[:, 0])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(data.X_test), model.predict(data.X_test))
    assert again._outputs[0].fit.posterior.X.blocks == ()


@pytest.mark.usefixtures("not_kept")
def test_fit_to_blocks_passes_over_those_without_rows(data):
    table = pd.DataFrame(data.X, columns=["a", "b"]).assign(y=data.y[:, 0], row=np.arange(450.0))
    blocks = dd.from_pandas(table, npartitions=5, sort=False)
    kept, few = table[table["row"] > 200], blocks[blocks["row"] > 200]
    model = AsorGPRegressor(inducing=25).fit(few[["a", "b"]], few["y"])
    alone = AsorGPRegressor(inducing=25).fit(kept[["a", "b"]], kept["y"])
    # Names of columns are known, so that nothing is to be warned of.
    found = model.predict(few[["a", "b"]], return_std=True)
    for part, expected in zip(found, alone.predict(kept[["a", "b"]], return_std=True), strict=True):
        np.testing.assert_allclose(part.compute(), expected, atol=1e-4)
    with pytest.raises(ValueError, match="does not take the rows"):
        pickle.loads(pickle.dumps(model)).leave_one_out()


def test_fit_to_blocks_refuses_bad_calls(data):
    X, y = in_blocks(data.X), data.y[:, 0]
    with pytest.raises(ValueError, match='inducing="auto"'):
        StandardGPRegressor().fit(X, y)
    broken = data.X.copy()
    broken[100, 1] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        StandardGPRegressor(inducing=20).fit(in_blocks(broken), y)
    broken[100, 1] = -1e155
    with pytest.raises(ValueError, match=r"got -1e\+155 in column 1"):
        StandardGPRegressor(inducing=5).fit(in_blocks(broken), y)
    with pytest.raises(ValueError, match="2D array"):
        StandardGPRegressor(inducing=20).fit(in_blocks(data.X[:, 0]), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        StandardGPRegressor(inducing=20).fit(X, y[:-1])
    model = StandardGPRegressor(inducing=20).fit(X, y)
    with pytest.raises(ValueError, match="ask for std"):
        model.predict(X, return_cov=True)


def test_dask_rows_are_found_by_number_and_summarised(data):
    rows = DaskRows.of(in_blocks(data.X))
    order = np.random.default_rng(0).permutation(450)[:50]
    np.testing.assert_array_equal(rows[order], data.X[order])
    some = np.arange(450) % 3 > 0
    some[:BLOCK] = False
    kept = rows.where(some)
    np.testing.assert_array_equal(kept[np.arange(len(kept))], data.X[some])
    spread = ColumnMoments.of(rows)
    np.testing.assert_allclose(spread.std, data.X.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(spread.range, np.ptp(data.X, axis=0), rtol=1e-15)
    np.testing.assert_allclose(spread.mean, data.X.mean(axis=0), atol=1e-15)


@pytest.mark.usefixtures("not_kept")
def test_fit_survives_a_worker_that_dies(data, monkeypatch):
    distributed = pytest.importorskip("distributed")
    expected = AsorGPRegressor(inducing=25).fit(data.X, data.y[:, 0]).predict(data.X_test)
    gather, looks = DaskRows.gather, []

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        first, *_ = client.run(os.getpid).values()

        def deadly(self, *arguments):
            looks.append(1)
            if len(looks) == 12:
                os.kill(first, signal.SIGKILL)
            return gather(self, *arguments)

        monkeypatch.setattr(DaskRows, "gather", deadly)
        model = AsorGPRegressor(inducing=25).fit(in_blocks(data.X), data.y[:, 0])
        assert first not in client.run(os.getpid).values()
    assert len(looks) > 20
    np.testing.assert_allclose(model.predict(data.X_test), expected, rtol=1e-8, atol=1e-8)


@pytest.fixture
def small_cluster():
    """Two workers in this process, whose memory nobody watches: they stay paused until they are told."""
    distributed = pytest.importorskip("distributed")
    how = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(memory_limit=None, **how) as cluster, distributed.Client(cluster) as client:
        yield client


def set_status(client, name):
    from distributed.core import Status

    def change(dask_worker):
        dask_worker.status = Status[name]

    client.run(change)


def test_fit_names_paused_workers_and_waits(data, monkeypatch, small_cluster):
    X, y = in_blocks(data.X), in_blocks(data.y[:, 0])
    expected = StandardGPRegressor(inducing=9).fit(X, y).predict(data.X_test)
    asked, reason = [], waiting.why_waiting

    def then_go_on(found):
        words = reason(found)
        asked.append(words)
        # As when memory is free again. The fit cannot have ended before.
        if len(asked) == 3:
            set_status(small_cluster, "running")
        return words

    monkeypatch.setattr(waiting, "PATIENCE", 0.05)
    monkeypatch.setattr(waiting, "why_waiting", then_go_on)
    set_status(small_cluster, "paused")
    with pytest.warns(RuntimeWarning, match="2 of 2 Dask workers are paused") as caught:
        model = StandardGPRegressor(inducing=9).fit(X, y)
    # Once, although they were asked several times; and the wait goes on.
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "memory_limit" in message
    assert "smaller chunks" in message
    assert "fewer inducing inputs" in message
    np.testing.assert_allclose(model.predict(data.X_test), expected, rtol=1e-8)


def test_fit_does_not_warn_of_a_cluster_that_works(data, monkeypatch, small_cluster):
    monkeypatch.setattr(waiting, "PATIENCE", 0.001)
    StandardGPRegressor(inducing=9).fit(in_blocks(data.X), in_blocks(data.y[:, 0]))


def test_why_waiting_names_paused_workers():
    worker = {"status": "paused", "memory_limit": 500_000_000}
    five = {f"tcp://10.0.0.{i}:1": worker for i in range(5)}
    words = waiting.why_waiting({"workers": five | {"tcp://10.0.0.9:1": worker | {"status": "running"}}})
    assert words.startswith("5 of 6 Dask workers are paused")
    assert "tcp://10.0.0.0:1 with 0.5 GB, " in words
    assert " and 2 more)" in words
    assert "has no workers" in waiting.why_waiting({"workers": {}})


def test_fit_raises_the_errors_of_its_workers(small_cluster, data):
    X = data.X.copy()
    X[3] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        StandardGPRegressor(inducing=9).fit(in_blocks(X), data.y[:, 0])


def test_dask_rows_of_unknown_number_are_counted(data, small_cluster):
    """A filter of rows leaves nobody knowing how many there are."""
    X = in_blocks(data.X)
    kept = X[X[:, 0] > np.median(data.X[:, 0])]
    rows = DaskRows.of(kept)
    assert rows.shape == (int((data.X[:, 0] > np.median(data.X[:, 0])).sum()), data.X.shape[1])
