"""Saved models: they come back bit by bit, and entries that cannot be are refused."""

import json
import subprocess
import sys

import numpy as np
import pytest
from references.model_files import (
    BEST,
    FILES,
    FIT,
    OUTLIERS,
    loads,
    members,
    readings,
    rewritten,
    sealed,
    set_at,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels as sk

import sturdygp
from sturdygp import (
    AsorGPRegressor,
    AsorPrior,
    ContaminationPrior,
    MixtureGPRegressor,
    OracleGPRegressor,
    RCGPRegressor,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
)
from sturdygp.exceptions import ModelFileError
from sturdygp.kernels import Matern52, SquaredExponential
from sturdygp.likelihoods.contamination_prior import REGIMES
from sturdygp.persistence.archive import array_from_bytes, array_to_bytes
from sturdygp.persistence.fits import decode_prior, decode_variance_function, encode_prior
from sturdygp.persistence.kernels import encode_kernel
from sturdygp.persistence.record import Record


def test_decode_variance_function_refuses_a_missing_input():
    arrays = [np.array([0.0, 1.0]), np.array([-0.5, 0.5]), np.zeros(2)]
    document = {"along": 2, "values": 0, "ranks": 1, "bend": 2, "least": 0.0}
    assert decode_variance_function(Record("profile", document, arrays), 3).along == 2
    with pytest.raises(ModelFileError, match="number of one of 2 inputs"):
        decode_variance_function(Record("profile", document, arrays), 2)


@pytest.mark.parametrize(
    ("prior", "in_file"),
    [(AsorPrior(inlier_proba=0.7), "nominal_proba"), (ContaminationPrior(inliers=0.7), "nominal")],
)
def test_encode_prior_keeps_the_names_of_older_files(prior, in_file):
    document = encode_prior(prior)
    assert document[in_file] == 0.7
    assert decode_prior(Record("prior", document, [])) == prior


def test_decode_prior_without_caution_takes_the_one_it_was_saved_under():
    """Files were written before the regimes "few" and "many" existed: all had the caution of "many"."""
    document = {
        name: value for name, value in encode_prior(ContaminationPrior()).items() if name != "caution"
    }
    assert decode_prior(Record("prior", document, [])) == REGIMES["many"]


ESTIMATORS = [
    AsorGPRegressor(prior=AsorPrior(inlier_proba=0.7)),
    StandardGPRegressor(kernel=Matern52(0.5) + 2.0, noise="fixed"),
    OracleGPRegressor(),
    RCGPRegressor(scale_targets="standard"),
    StudentTGPRegressor(inference="vb", dof="learn"),
    StudentTGPRegressor(),
    MixtureGPRegressor(start_ratios=[10.0, 100.0]),
    RobustGPRegressor(prior=ContaminationPrior(ratio=6.0), random_state=3),
    AsorGPRegressor(inducing=8),
    RobustGPRegressor(inducing=np.array([[1.0, 1.0], [2.0, 4.0], [4.0, 2.0], [5.0, 5.0]])),
    RobustGPRegressor(kernel=sk.ConstantKernel(1.0) * sk.RBF([1.0, 2.0])),
]


def everything(model):
    """All that a fitted model can be asked, as a list of arrays and values."""
    X, y = readings(1)
    y[4, 1] = 0.0
    y = y if np.ndim(model.mean_) else y[:, 0]
    answers = [
        model.predict(X),
        *model.predict(X, return_std=True),
        *model.predict(X, return_std=True, include_noise=True),
        *model.predict(X, return_cov=True),
        model.sample_y(X, 3, random_state=5, include_noise=True),
        model.log_predictive_density(X, y),
    ]
    if hasattr(model, "outlier_proba_"):
        answers += [model.outlier_proba(X, y), model.log_predictive_density(X, y, allow_outliers=True)]
    if hasattr(model, "summary"):
        answers += [model.summary(), model.findings()]
    if hasattr(model, "explain"):
        answers.append(model.explain())
    return answers


def attributes(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def assert_same(a, b):
    assert type(a) is type(b)
    for x, z in zip(everything(a), everything(b), strict=True):
        np.testing.assert_array_equal(x, z, strict=True)
    assert attributes(a).keys() == attributes(b).keys()
    for name, value in attributes(a).items():
        other = attributes(b)[name]
        assert repr(value) == repr(other), name
        if not isinstance(value, list):
            np.testing.assert_array_equal(np.asarray(value), np.asarray(other), err_msg=name)


@pytest.fixture(params=ESTIMATORS, ids=lambda e: type(e).__name__ + getattr(e, "inference", ""))
def estimator(request):
    return clone(request.param)


def test_save_names_a_missing_folder(fitted, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere to write model\.sgp to"):
        fitted.save(tmp_path / "nowhere" / "model.sgp")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_load_gives_back_every_estimator_as_it_was(estimator, tmp_path):
    X, y = readings()
    model = estimator.fit(X, y)
    model.save(tmp_path / "model.sgp")
    again = sturdygp.load(tmp_path / "model.sgp")
    assert_same(model, again)
    assert repr(again.get_params().keys()) == repr(model.get_params().keys())
    # The arguments too: another fit gives the same.
    np.testing.assert_array_equal(clone(again).fit(X, y).predict(X), clone(model).fit(X, y).predict(X))


def test_load_gives_back_one_output_and_names_of_columns(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = readings()
    model = RobustGPRegressor().fit(pandas.DataFrame(X, columns=["a", "b"]), y[:, 0])
    model.save(str(tmp_path / "model.sgp"))
    again = sturdygp.load(str(tmp_path / "model.sgp"))
    assert again.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        again.predict(pandas.DataFrame(X, columns=["b", "a"]))
    frame = pandas.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame), strict=True)
    assert again.outlier_proba_.shape == (25,)


def test_load_in_another_process_predicts_the_same_bits(fitted, saved, tmp_path):
    (tmp_path / "model.sgp").write_bytes(saved)
    X = readings(1)[0]
    np.save(tmp_path / "X.npy", X)
    script = (
        "import numpy as np, sturdygp\n"
        "model = sturdygp.load('model.sgp')\n"
        "np.save('answer.npy', np.stack(model.predict(np.load('X.npy'), return_std=True)))\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    answer = np.load(tmp_path / "answer.npy")
    np.testing.assert_array_equal(answer, np.stack(fitted.predict(X, return_std=True)), strict=True)


def test_load_reads_a_file_of_each_format():
    files = sorted(FILES.glob("model-v*.sgp"))
    assert [path.name for path in files] == ["model-v1.sgp", "model-v2.sgp"]
    for path in files:
        model = sturdygp.load(path)
        expected = json.loads(path.with_suffix(".json").read_text())
        mean, std = model.predict(expected["X"], return_std=True)
        np.testing.assert_allclose(mean, expected["mean"], rtol=1e-9)
        np.testing.assert_allclose(std, expected["std"], rtol=1e-9)
        assert model.summary() == expected["summary"]


def test_save_of_the_same_model_gives_the_same_file(fitted, saved, tmp_path):
    fitted.save(tmp_path / "again.sgp")
    assert (tmp_path / "again.sgp").read_bytes() == saved
    assert [path.name for path in tmp_path.iterdir()] == ["again.sgp"]


class OwnKernel(Matern52):
    """A kernel that only its own code describes."""


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"kernel": OwnKernel()}, "OwnKernel.*cannot be saved"),
        ({"kernel": sk.PairwiseKernel()}, "PairwiseKernel.*cannot be saved"),
        (
            {"random_state": np.random.RandomState(0)},
            "random_state.*cannot be saved; give random_state a plain",
        ),
    ],
)
def test_save_refuses_what_cannot_be_described(parameter, message, tmp_path):
    X, y = readings()
    model = StandardGPRegressor(max_iter=50).set_params(**parameter).fit(X, y[:, 0])
    with pytest.raises(ValueError, match=message):
        model.save(tmp_path / "model.sgp")
    assert not list(tmp_path.iterdir())


class OwnRegressor(StandardGPRegressor):
    """A class that a loader would have to import."""


def test_save_refuses_a_class_of_someone_else(tmp_path):
    with pytest.raises(ValueError, match="OwnRegressor is a class of your own"):
        OwnRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).save(tmp_path / "model.sgp")


def test_save_refuses_a_model_that_is_not_fitted(tmp_path):
    with pytest.raises(NotFittedError):
        RobustGPRegressor().save(tmp_path / "model.sgp")


def become(estimator):
    """Another estimator with its own defaults."""

    def change(document):
        document["model"] |= {"estimator": estimator, "parameters": {}}

    return change


WIDE = encode_kernel(SquaredExponential((1.0,) * 5))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_at("version", to=3), "upgrade sturdygp"),
        (set_at("version", to=0), "version should be 1 or more"),
        (set_at("version", to="1"), "version should be a whole number"),
        (set_at("format", to="other"), "not a model of sturdygp"),
        (set_at("model", "estimator", to="os.system"), "'os.system' is not an estimator"),
        (set_at("model", "estimator", to="AsorGPRegressor"), "has no parameter faults"),
        (become("AsorGPRegressor"), "lacks the FittedSpikeAndSlab"),
        (set_at("model", "parameters", "shell", to="ls"), "has no parameter shell"),
        (set_at("model", "n_features", to=7), "of shape .None, 7., and is"),
        (set_at("model", "single", to=1), "single should be true or false"),
        (set_at("model", "outputs", to=[]), "one or more outputs"),
        (set_at("model", "outputs", 0, "scale", to=0.0), "scale should be a finite number above 0, and is 0"),
        (set_at("model", "outputs", 0, "scale", to="inf"), "scale should be a finite number above 0"),
        (set_at("model", "outputs", 0, "centre", to="-inf"), "centre should be a finite number"),
        (set_at("model", "n_features", to=-1), "n_features should be 1 or more"),
        (set_at("model", "parameters", "tol", to=-1.0), "tol must be a positive number"),
        (set_at("model", "parameters", "n_starts", to="many"), "n_starts must be a positive integer"),
        (set_at("model", "parameters", "verbose", to="x"), "verbose must be"),
        (set_at("model", "outputs", 0, "observed", to=1), "observed should be an array of bool"),
        (set_at("model", "outputs", 0, "readings", to=0), "readings should be an array of float64"),
        (set_at(*FIT, "status", to="FINE"), "status should be one of CONVERGED"),
        (set_at(*FIT, "noise_variance", to=None), "noise_variance should be a number"),
        (set_at(*FIT, "noise_variance", to=10**400), "noise_variance should be a number"),
        (set_at(*FIT, "noise_variance", to=-1.0), "noise_variance should be a finite number above 0"),
        (set_at(*FIT, "noise_variance", to="inf"), "noise_variance should be a finite number above 0"),
        (set_at(*FIT, "dof", to=0), "dof should be a finite number above 0, and is 0"),
        (set_at(*FIT, "bound", to="inf"), "bound should be a finite number"),
        (set_at(*FIT, "n_densities", to=-2.0), "n_densities should be a finite number of 0 or more"),
        (set_at(*FIT, "n_iter", to=-1), "n_iter should be 0 or more"),
        (set_at(*FIT, "n_factorizations", to=-1), "n_factorizations should be 0 or more"),
        (set_at(*OUTLIERS, "nominal", to=1.5), "nominal should be a finite number above 0 and of 1 or less"),
        (set_at(*OUTLIERS, "noise", to=0.0), "noise should be a finite number above 0"),
        (set_at(*OUTLIERS, "spread", to=-1.0), "spread should be a finite number above 0"),
        (set_at(*OUTLIERS, "shift", to="inf"), "shift should be a finite number"),
        (set_at(*OUTLIERS, "width", to=0.0), "width should be a finite number above 0"),
        (
            set_at(*OUTLIERS, "found", to={"shift": 0.0, "spread": -1.0}),
            "spread should be a finite number of 0",
        ),
        (
            set_at(*OUTLIERS, "found", to={"shift": 0.0, "spread": 1.0, "above": 2.0}),
            "above should be a finite",
        ),
        (set_at(*FIT, "ledger", 0, "outliers", to=1.5), "outliers should be a finite number of 0 or more"),
        (set_at(*FIT, "ledger", 0, "score", "elbo", to="nan"), "elbo should be a number"),
        (set_at(*FIT, "ledger", 0, "iterations", to=-1), "iterations should be 0 or more"),
        (set_at(*FIT, "weights", to=99), "weights should be the number of an array"),
        (set_at(*FIT, "weights", to=-1), "weights should be the number of an array"),
        (set_at(*FIT, "outlier_model", "class", to="Popen"), "name of a model of outliers"),
        (set_at(*FIT, "posterior", "class", to="Popen"), "name of a posterior"),
        (set_at(*BEST, "kernel", "class", to="eval"), "name of a kernel"),
        (set_at(*BEST, "kernel", "variance", to=-1.0), "variance must be positive"),
        (set_at(*BEST, "kernel", "variance_bounds", to="wide"), "variance_bounds should be a pair"),
        (set_at(*BEST, "kernel", "length_scale", to=[1.0] * 5), "must be one pair or 5 pairs"),
        (set_at(*BEST, "kernel", to=WIDE), "5 entries but X has 2 columns"),
        (set_at(*BEST, "mean", to="inf"), "mean should be a finite number"),
        (set_at(*BEST, "log_det", to="-inf"), "log_det should be a finite number"),
        (set_at(*BEST, "factor", "jitter", to=-1.0), "jitter should be a finite number of 0 or more"),
        (set_at(*BEST, "kernel", "variance_bounds", to=["0.1", "10"]), "variance_bounds should be a pair"),
        (set_at(*BEST, to=[]), "best should be an object"),
    ],
)
def test_load_refuses_a_document_that_was_changed(change, message, saved, tmp_path):
    path = tmp_path / "model.sgp"
    with pytest.raises(ModelFileError, match=message):
        loads(rewritten(saved, path, change), path)


def test_load_gives_back_the_ledger_and_files_without_one_say_so(fitted, saved, tmp_path):
    path = tmp_path / "model.sgp"
    again = loads(saved, path)
    assert again._outputs[0].fit.ledger == fitted._outputs[0].fit.ledger
    assert again.explain() == fitted.explain()
    without = loads(rewritten(saved, path, lambda document: fit_of(document).pop("ledger")), path)
    assert without._outputs[0].fit.ledger == ()
    assert without.explain().startswith("The hypotheses are not known")
    np.testing.assert_array_equal(without.predict(readings()[0]), fitted.predict(readings()[0]))


def fit_of(document):
    return document["model"]["outputs"][0]["fit"]


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (("weights",), np.nan, "weights should be finite numbers of 0 or more, and has nan"),
        (("weights",), -0.1, "weights should be finite numbers of 0 or more, and has -0.1"),
        (("trace",), np.nan, "trace should be finite numbers"),
        (("outlier_proba",), 1.5, "outlier_proba should be finite numbers of 0 or more and of 1 or less"),
        (("outlier_proba",), np.nan, "outlier_proba should be finite numbers"),
        (("outlier_model", "centres"), np.inf, "centres should be finite numbers"),
        (("noise_profile", "values"), np.nan, "values should be finite numbers"),
        (("noise_profile", "values"), 99.0, "values should be numbers in ascending order"),
        (("noise_profile", "ranks"), np.nan, "ranks should be finite numbers of -1 or more and of 1 or less"),
        (("noise_profile", "ranks"), 1.0, "ranks should be numbers in ascending order"),
        (("noise_profile", "bend"), np.inf, "bend should be finite numbers"),
        (("posterior", "best", "alpha"), np.nan, "alpha should be finite numbers"),
    ],
    ids=str,
)
def test_load_refuses_entries_of_arrays_that_cannot_be(where, value, message, saved, tmp_path):
    path = tmp_path / "model.sgp"
    parts = members(saved, path)
    document = json.loads(parts["model.json"])
    fit = document["model"]["outputs"][0]["fit"]
    store = [array_to_bytes(np.array(v)) for v in ([0.0, 1.0, 2.0], [-0.5, 0.0, 0.5], [0.1, 0.2])]
    first = len(parts) - 1
    parts |= {f"arrays/{first + i}.npy": content for i, content in enumerate(store)}
    fit["noise_profile"] = {
        "along": 0, "values": first, "ranks": first + 1, "bend": first + 2, "least": 0.0
    }  # fmt: skip
    record = fit
    for key in where[:-1]:
        record = record[key]
    array = array_from_bytes(parts[f"arrays/{record[where[-1]]}.npy"])
    array[0] = value
    parts[f"arrays/{first + 3}.npy"] = array_to_bytes(array)
    # Without the change the file is one that loads.
    loads(sealed(document, parts, path), path)
    record[where[-1]] = first + 3
    with pytest.raises(ModelFileError, match=message):
        loads(sealed(document, parts, path), path)


@pytest.mark.parametrize(
    ("estimator", "change", "message"),
    [
        (StudentTGPRegressor(), set_at(*FIT, "dof", to=-3.0), "dof should be a finite number above 0"),
        (AsorGPRegressor(), set_at(*OUTLIERS, "rate", to=0.0), "rate should be a finite number above 0"),
        (
            AsorGPRegressor(),
            set_at(*OUTLIERS, "noise_variance", to=-1.0),
            "noise_variance should be a finite number above 0",
        ),
        (AsorGPRegressor(), set_at(*OUTLIERS, "prior", "nominal_proba", to="inf"), "should be a finite"),
        (
            MixtureGPRegressor(),
            set_at(*OUTLIERS, "noise_variance", to="inf"),
            "noise_variance should be a finite number above 0",
        ),
        (RCGPRegressor(), set_at("model", "parameters", "epsilon", to=2.0), "epsilon must be a share"),
    ],
)
def test_load_checks_the_numbers_of_other_methods(estimator, change, message, tmp_path):
    X, y = readings()
    path = tmp_path / "model.sgp"
    clone(estimator).fit(X[:12], y[:12, 0]).save(path)
    with pytest.raises(ModelFileError, match=message):
        loads(rewritten(path.read_bytes(), path, change), path)


def test_load_refuses_mixing_weights_that_do_not_add_up(tmp_path):
    X, y = readings()
    path = tmp_path / "model.sgp"
    MixtureGPRegressor().fit(X, y[:, 0]).save(path)
    parts = members(path.read_bytes(), path)
    document = json.loads(parts["model.json"])
    name = f"arrays/{document['model']['outputs'][0]['fit']['outlier_model']['share']}.npy"
    parts[name] = array_to_bytes(0.5 * array_from_bytes(parts[name]))
    with pytest.raises(ModelFileError, match=r"share should be numbers that add up to 1.* 0\.5"):
        loads(sealed(document, parts, path), path)


def test_save_refuses_rows_of_a_dask_collection(tmp_path):
    import dask.array as da

    x = np.linspace(0.0, 6.0, 40)[:, None]
    model = StandardGPRegressor(inducing=6).fit(da.from_array(x, chunks=20), np.sin(x[:, 0]))
    with pytest.raises(ValueError, match="fitted to a Dask collection cannot be saved"):
        model.save(tmp_path / "model.sgp")
    assert not (tmp_path / "model.sgp").exists()
