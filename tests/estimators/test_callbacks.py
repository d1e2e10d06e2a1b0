"""Callbacks hear of every iteration and stop a fit; checkpoints and warm starts go on from where it was."""

import numpy as np
import pytest
from sklearn.base import clone

from sturdygp import (
    AsorGPRegressor,
    MixtureGPRegressor,
    ModelFileError,
    OracleGPRegressor,
    RCGPRegressor,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
    load,
)
from sturdygp.datasets import make_synthetic
from sturdygp.estimators import callbacks
from sturdygp.kernels import Matern32
from sturdygp.methods.robust.search import Search
from sturdygp.persistence.archive import read_archive
from sturdygp.status import Status

# Latent models, whose optimisation can continue from a file.
RESUMING = [
    AsorGPRegressor(n_starts=2),
    MixtureGPRegressor(inducing=25),
    StandardGPRegressor(),
    StudentTGPRegressor(inference="vb"),
    RobustGPRegressor(),
    RobustGPRegressor(inducing=25),
]
OTHERS = [
    OracleGPRegressor(),
    RCGPRegressor(),
    StudentTGPRegressor(),
    AsorGPRegressor(solver="gem", tol=0.01),
]


def name_of(estimator):
    return type(estimator).__name__ + ("-inducing" if estimator.inducing else "")


@pytest.fixture(scope="module")
def data():
    return make_synthetic(90, 20, rate=0.2, seed=4)


@pytest.mark.parametrize("estimator", [*RESUMING, *OTHERS], ids=name_of)
def test_callback_hears_of_every_iteration(estimator, data):
    heard = []
    clone(estimator).set_params(callback=heard.append).fit(data.X, data.y[:, 0])
    assert heard
    assert {progress.output for progress in heard} == {0}
    assert all(progress.seconds >= 0.0 for progress in heard)
    # A search may have converged before it is reported.
    searched = isinstance(estimator, RobustGPRegressor)
    assert searched or any(progress.seconds_left is not None for progress in heard)


@pytest.mark.parametrize("estimator", [*RESUMING, *OTHERS], ids=name_of)
def test_callback_stops_a_fit_without_warning(estimator, data):
    model = clone(estimator).set_params(callback=lambda progress: True).fit(data.X, data.y[:, 0])
    assert model.status_ is Status.STOPPED
    assert np.isfinite(model.predict(data.X_test)).all()


@pytest.mark.parametrize("estimator", [*RESUMING, *OTHERS], ids=name_of)
def test_callback_is_not_called_again_after_stop(estimator, data):
    heard = []
    model = clone(estimator).set_params(callback=heard.append)
    model.fit(data.X, data.y[:, 0])
    for call in (1, len(heard) // 2 + 1, len(heard)):
        heard.clear()
        model.set_params(callback=lambda progress, last=call: heard.append(progress) or len(heard) == last)
        assert model.fit(data.X, data.y[:, 0]).status_ is Status.STOPPED
        assert len(heard) == call


SEVERAL = [
    AsorGPRegressor(n_starts=7),
    MixtureGPRegressor(),
    StandardGPRegressor(n_starts=3),
    RCGPRegressor(n_starts=2),
    StudentTGPRegressor(n_starts=2),
]


@pytest.mark.parametrize("estimator", SEVERAL, ids=name_of)
def test_callback_iterations_count_through_all_optimisations(estimator, data):
    heard = []
    clone(estimator).set_params(callback=heard.append).fit(data.X, data.y[:, 0])
    assert [progress.iteration for progress in heard] == list(range(1, len(heard) + 1))
    if not isinstance(estimator, RCGPRegressor | StudentTGPRegressor):
        bounds = np.array([progress.bound for progress in heard])
        assert np.diff(bounds).min() >= -1e-8 * np.abs(bounds).max()


def test_search_with_low_noise_reports_in_order_and_stops(monkeypatch):
    with_low_noise = Search._with_low_noise
    # Low noise is tried only once the search has converged.
    monkeypatch.setattr(
        Search, "_with_low_noise", lambda s, h, others: ([], 0) if others else with_low_noise(s, h, [])
    )
    rng, t = np.random.default_rng(0), np.arange(200.0)
    y = 5.0 * np.sin(2.0 * np.pi * t / 50.0) + 0.5 * t + 0.2 * rng.standard_normal(200)
    y[rng.random(200) < 0.1] += 2.0
    heard = []
    model = RobustGPRegressor(callback=heard.append).fit(t[:, None], y)
    bounds = np.array([progress.bound for progress in heard])
    assert np.diff(bounds).min() >= -1e-8 * np.abs(bounds).max()
    for last in range(1, len(heard) + 1, 5):
        calls = []
        model.set_params(callback=lambda p, calls=calls, last=last: calls.append(p) or len(calls) == last)
        assert model.fit(t[:, None], y).status_ is Status.STOPPED
        assert len(calls) == last


def test_saved_model_has_no_callback(data, tmp_path):
    model = AsorGPRegressor(callback=lambda progress: None, warm_start=True).fit(data.X, data.y[:, 0])
    model.save(tmp_path / "model.sgp")
    again = load(tmp_path / "model.sgp")
    assert again.callback is None
    assert again.warm_start
    np.testing.assert_array_equal(again.predict(data.X_test), model.predict(data.X_test))
    assert again.fit(data.X, data.y[:, 0]).status_ is Status.CONVERGED


class InterruptionError(Exception):
    """As if somebody had pressed Ctrl-C."""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(callbacks, "INTERVAL", 0.0)
    return tmp_path / "fit.ckpt"


def interrupt_at(iteration):
    def listen(progress):
        if progress.iteration >= iteration:
            raise InterruptionError

    return listen


@pytest.mark.parametrize("estimator", RESUMING, ids=name_of)
def test_checkpoint_continues_an_interrupted_fit(estimator, data, file):
    all_heard = []
    whole = clone(estimator).set_params(tol=1e-7, callback=all_heard.append).fit(data.X, data.y[:, 0])
    before, interrupt = [], interrupt_at(4)
    cut = clone(estimator).set_params(tol=1e-7, checkpoint=file)
    cut.set_params(callback=lambda progress: before.append(progress) or interrupt(progress))
    with pytest.raises(InterruptionError):
        cut.fit(data.X, data.y[:, 0])
    assert file.exists()
    heard = []
    cut.set_params(callback=heard.append).fit(data.X, data.y[:, 0])
    assert not file.exists()
    assert cut.status_ is Status.CONVERGED
    assert all(progress.bound > before[0].bound - 1e-6 for progress in heard)
    assert len(heard) < len(all_heard)
    assert cut.n_factorizations_ < whole.n_factorizations_
    assert cut.bound_ == pytest.approx(whole.bound_, abs=1e-3)
    np.testing.assert_allclose(cut.predict(data.X_test), whole.predict(data.X_test), atol=1e-3)


def test_checkpoint_does_not_keep_a_rejected_second_kernel_part(file):
    """It was tried when the fit was interrupted, and had a higher ELBO, but not by its occam term."""
    rng = np.random.default_rng(8)
    X = rng.uniform(-2.0, 2.0, (120, 2))
    amplitude = rng.uniform(0.02, 0.15)
    y = 2.0 * np.sin(X[:, 0]) * np.cos(X[:, 1]) + amplitude * np.sin(8.0 * X[:, 1])
    y += 0.08 * rng.normal(size=120)
    heard = []
    whole = RobustGPRegressor(callback=heard.append).fit(X, y)
    cut = RobustGPRegressor(callback=interrupt_at(len(heard) - 1), checkpoint=file)
    with pytest.raises(InterruptionError):
        cut.fit(X, y)
    cut.set_params(callback=None).fit(X, y)
    assert cut.kernel_.parameter_names == whole.kernel_.parameter_names
    assert cut.bound_ == pytest.approx(whole.bound_, abs=0.1)


def test_resumed_fit_tries_remaining_initialisations(file):
    data = make_synthetic(100, 100, rate=0.4, seed=1)
    X, y = data.X, data.y[:, 0]
    whole = MixtureGPRegressor().fit(X, y)
    one_initialisation = MixtureGPRegressor(n_starts=1).fit(X, y)
    assert whole.bound_ > one_initialisation.bound_ + 1.0, (
        "the problem shows nothing if the first initialisation is the best"
    )
    again = MixtureGPRegressor(checkpoint=file, callback=lambda progress: progress.iteration == 3).fit(X, y)
    warm = MixtureGPRegressor(warm_start=True, callback=lambda progress: progress.iteration == 3).fit(X, y)
    for model in (again, warm):
        assert model.status_ is Status.STOPPED
        assert model.set_params(callback=None).fit(X, y).bound_ == pytest.approx(whole.bound_, abs=0.01)


def test_resumed_fit_keeps_the_best_initialisation(file):
    data = make_synthetic(100, 100, rate=0.5, seed=6)
    X, y, heard = data.X, data.y[:, 0], []
    whole = AsorGPRegressor(n_starts=7, callback=heard.append).fit(X, y)
    for stop in range(2, len(heard) + 1, 4):
        calls = []
        model = AsorGPRegressor(n_starts=7, checkpoint=file)
        model.set_params(callback=lambda p, calls=calls, stop=stop: calls.append(p) or len(calls) == stop)
        stopped = model.fit(X, y).bound_
        again = model.set_params(callback=None).fit(X, y)
        assert again.bound_ > max(stopped, whole.bound_) - 0.01
        assert not file.exists()


def test_asor_gem_refuses_checkpoint_and_n_starts(data, file):
    for ignored in ({"checkpoint": file}, {"n_starts": 2}):
        with pytest.raises(ValueError, match="one start, the paper's, and keeps no checkpoint"):
            AsorGPRegressor(solver="gem", **ignored).fit(data.X, data.y[:, 0])


@pytest.mark.parametrize(
    ("estimator", "in_file"),
    [(AsorGPRegressor(), "nominal"), (MixtureGPRegressor(), "share")],
    ids=["asor", "mixture"],
)
def test_checkpoint_keeps_the_names_of_older_files(estimator, in_file, data, file):
    clone(estimator).set_params(checkpoint=file, callback=lambda progress: True).fit(data.X, data.y[:, 0])
    assert in_file in read_archive(file).document["latent"]


def test_checkpoint_of_an_oracle_with_another_mask_is_refused(data, file):
    X, y = data.X, data.y[:, 0]
    model = OracleGPRegressor(checkpoint=file, callback=lambda progress: True)
    model.fit(X, y, outlier_mask=np.arange(90) < 5)
    with pytest.raises(ModelFileError, match="other data or settings"):
        model.fit(X, y, outlier_mask=np.arange(90) < 6)


def test_checkpoint_is_kept_for_each_output_until_all_are_done(data, file):
    model = AsorGPRegressor(checkpoint=file, callback=lambda p: p.output == 1)
    model.fit(data.X, data.y[:, :2])
    assert [path.name for path in sorted(file.parent.iterdir())] == ["fit.ckpt.0", "fit.ckpt.1"]
    model.set_params(callback=None).fit(data.X, data.y[:, :2])
    assert not list(file.parent.iterdir())
    assert model.status_ == [Status.CONVERGED, Status.CONVERGED]


def test_checkpoint_of_another_fit_is_refused(data, file):
    AsorGPRegressor(checkpoint=file, callback=lambda progress: True).fit(data.X, data.y[:, 0])
    for model, y in (
        (AsorGPRegressor(), data.y[:, 1]),
        (AsorGPRegressor(n_starts=3), data.y[:, 0]),
        (AsorGPRegressor(kernel=Matern32((1.0, 1.0))), data.y[:, 0]),
        (StandardGPRegressor(), data.y[:, 0]),
    ):
        with pytest.raises(ModelFileError, match="other data or settings"):
            model.set_params(checkpoint=file).fit(data.X, y)
    # How long it may take is another matter.
    AsorGPRegressor(checkpoint=file, max_iter=500, tol=1e-4).fit(data.X, data.y[:, 0])


def test_checkpoint_that_is_damaged_is_refused(data, file):
    AsorGPRegressor(checkpoint=file, callback=lambda progress: True).fit(data.X, data.y[:, 0])
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(ModelFileError, match=r"fit\.ckpt is no checkpoint of this fit"):
        AsorGPRegressor(checkpoint=file).fit(data.X, data.y[:, 0])


def test_checkpoint_is_not_a_saved_model(data, file):
    AsorGPRegressor().fit(data.X, data.y[:, 0]).save(file)
    with pytest.raises(ModelFileError, match="not written by this version"):
        AsorGPRegressor(checkpoint=file).fit(data.X, data.y[:, 0])


@pytest.mark.parametrize("estimator", RESUMING, ids=name_of)
def test_warm_start_begins_where_the_last_fit_ended(estimator, data):
    model = clone(estimator).set_params(warm_start=True, tol=1e-6).fit(data.X, data.y[:, 0])
    bound, n_factorizations, mean = model.bound_, model.n_factorizations_, model.predict(data.X_test)
    model.fit(data.X, data.y[:, 0])
    assert model.n_factorizations_ < 0.7 * n_factorizations
    assert model.bound_ == pytest.approx(bound, abs=1e-3)
    np.testing.assert_allclose(model.predict(data.X_test), mean, atol=1e-3)


def test_warm_start_accepts_other_observations_or_another_kernel(data):
    model = AsorGPRegressor(warm_start=True).fit(data.X[:70], data.y[:70, 0])
    model.fit(data.X, data.y[:, 0])
    fresh = AsorGPRegressor().fit(data.X, data.y[:, 0])
    assert model.bound_ == pytest.approx(fresh.bound_, abs=0.1)
    model.set_params(kernel=Matern32(1.0)).fit(data.X, data.y[:, 0])
    assert isinstance(model.kernel_, Matern32)


@pytest.mark.parametrize("estimator", RESUMING, ids=name_of)
def test_warm_start_drops_weights_of_other_observations(estimator, data):
    """Neither of clean data for contaminated ones, nor of the same observations in another order."""
    X, y = data.X, data.f[:, 0] + 0.1 * np.sin(40.0 * data.X[:, 0])
    order = np.random.default_rng(0).permutation(90)
    contaminated = y.copy()
    contaminated[::4] += 20.0
    fresh = clone(estimator).fit(X, contaminated)
    model = clone(estimator).set_params(warm_start=True).fit(X, y).fit(X, contaminated)
    assert model.bound_ > fresh.bound_ - 3.0
    model.fit(X[order], contaminated[order])
    assert model.bound_ > fresh.bound_ - 3.0


def test_warm_start_uses_current_arguments(data):
    X, y = data.X, data.y[:, 0]
    model = StudentTGPRegressor(dof=4.0, warm_start=True).fit(X, y).set_params(dof=50.0).fit(X, y)
    assert model.bound_ == pytest.approx(StudentTGPRegressor(dof=50.0).fit(X, y).bound_, abs=0.01)
    known = StandardGPRegressor(warm_start=True).fit(X, y).set_params(noise="fixed", init_noise_variance=0.2)
    assert known.fit(X, y).noise_variance_ == pytest.approx(0.2)


def test_saved_model_keeps_checkpoint_path_as_text(data, file, tmp_path):
    model = AsorGPRegressor(checkpoint=file).fit(data.X, data.y[:, 0])
    model.save(tmp_path / "model.sgp")
    assert load(tmp_path / "model.sgp").checkpoint == str(file)
