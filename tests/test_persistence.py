"""Saved models: they come back bit by bit, and a file that was changed is refused."""

import json
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels as sk

import sturdygp
from sturdygp import (
    AsorGPRegressor,
    AsorPrior,
    ContaminationPrior,
    MixtureGPRegressor,
    ModelFileError,
    OracleGPRegressor,
    RCGPRegressor,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
)
from sturdygp.kernels import (
    Constant,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
    SquaredExponential,
)
from sturdygp.persistence.archive import (
    CHECKSUM,
    LARGEST_DOCUMENT,
    MOST_MEMBERS,
    ArrayStore,
    array_from_bytes,
    array_to_bytes,
    checksum,
    write_archive,
)
from sturdygp.persistence.kernels import decode_any_kernel, encode_kernel
from sturdygp.persistence.record import Record

ESTIMATORS = [
    AsorGPRegressor(prior=AsorPrior(nominal_proba=0.7)),
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
FILES = Path(__file__).parent / "files"


def readings(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, (25, 2))
    y = np.stack([np.sin(X[:, 0]), np.cos(X[:, 1])], axis=1) + 0.05 * rng.standard_normal((25, 2))
    y[[3, 9, 15], 0] += 5.0
    y[4, 1] = np.nan
    return X, y


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


@pytest.fixture(scope="module")
def fitted():
    X, y = readings()
    return RobustGPRegressor().fit(X[:8], y[:8, 0])


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.sgp"
    fitted.save(path)
    return path.read_bytes()


def test_a_folder_that_is_not_there_is_named(fitted, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere to write model\.sgp to"):
        fitted.save(tmp_path / "nowhere" / "model.sgp")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_estimator_comes_back_as_it_was(estimator, tmp_path):
    X, y = readings()
    model = estimator.fit(X, y)
    model.save(tmp_path / "model.sgp")
    again = sturdygp.load(tmp_path / "model.sgp")
    assert_same(model, again)
    assert repr(again.get_params().keys()) == repr(model.get_params().keys())
    # The arguments too: another fit gives the same.
    np.testing.assert_array_equal(clone(again).fit(X, y).predict(X), clone(model).fit(X, y).predict(X))


def test_one_output_and_names_of_columns_come_back(tmp_path):
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


def test_another_process_predicts_the_same_bits(fitted, saved, tmp_path):
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


def test_a_file_of_each_format_still_loads():
    files = sorted(FILES.glob("model-v*.sgp"))
    assert [path.name for path in files] == ["model-v1.sgp", "model-v2.sgp"]
    for path in files:
        model = sturdygp.load(path)
        expected = json.loads(path.with_suffix(".json").read_text())
        mean, std = model.predict(expected["X"], return_std=True)
        np.testing.assert_allclose(mean, expected["mean"], rtol=1e-9)
        np.testing.assert_allclose(std, expected["std"], rtol=1e-9)
        assert model.summary() == expected["summary"]


def test_the_same_model_gives_the_same_file(fitted, saved, tmp_path):
    fitted.save(tmp_path / "again.sgp")
    assert (tmp_path / "again.sgp").read_bytes() == saved
    assert [path.name for path in tmp_path.iterdir()] == ["again.sgp"]


KERNELS = [
    SquaredExponential(
        (1.0, 2.5), 3.0, length_scale_bounds=((0.1, 10.0), (0.2, 20.0)), variance_bounds="fixed"
    ),
    Matern12(0.1) * Matern32(0.3, length_scale_bounds=(0.1, np.inf)) + Linear((1.0, 2.0)),
    Constant(2.0, variance_bounds=[1, 10]) * (RationalQuadratic(alpha=0.7) + Periodic(1.0, 0.5)),
    sk.Matern([1.0, 2.0], [(0.1, 10.0), (0.2, 20.0)], nu=np.inf),
    sk.RationalQuadratic(1.5) + sk.ExpSineSquared() * sk.WhiteKernel(0.3, "fixed"),
    sk.Exponentiation(sk.DotProduct(0.3), 2) + sk.ConstantKernel(3.0),
    3.5,
]


@pytest.mark.parametrize("kernel", KERNELS[:-1], ids=repr)
def test_kernels_come_back(kernel):
    written = json.loads(json.dumps(encode_kernel(kernel), allow_nan=False))
    again = decode_any_kernel(Record("kernel", written, []))
    X = readings()[0]
    assert repr(again) == repr(kernel)
    np.testing.assert_array_equal(again(X), kernel(X))
    np.testing.assert_array_equal(again.theta, kernel.theta)
    np.testing.assert_array_equal(again.bounds, kernel.bounds)


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
def test_what_cannot_be_described_is_not_saved(parameter, message, tmp_path):
    X, y = readings()
    model = StandardGPRegressor(max_iter=50).set_params(**parameter).fit(X, y[:, 0])
    with pytest.raises(ValueError, match=message):
        model.save(tmp_path / "model.sgp")
    assert not list(tmp_path.iterdir())


class OwnRegressor(StandardGPRegressor):
    """A class that a loader would have to import."""


def test_a_class_of_someone_else_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="OwnRegressor is a class of your own"):
        OwnRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).save(tmp_path / "model.sgp")


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        RobustGPRegressor().save(tmp_path / "model.sgp")


# ------------------------------------------------------------------------------ files that were changed


def loads(content, path):
    path.write_bytes(content)
    return sturdygp.load(path)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damaged_bytes_are_refused_or_harmless(data, saved, fitted, tmp_path_factory):
    position = data.draw(st.integers(0, len(saved) - 1))
    damage = data.draw(st.sampled_from(["flip", "cut", "insert", "drop"]))
    changed = bytearray(saved)
    if damage == "flip":
        changed[position] ^= data.draw(st.integers(1, 255))
    elif damage == "cut":
        del changed[position:]
    elif damage == "insert":
        changed[position:position] = data.draw(st.binary(min_size=1, max_size=8))
    else:
        del changed[position : position + data.draw(st.integers(1, 8))]
    path = tmp_path_factory.getbasetemp() / "damaged.sgp"
    try:
        model = loads(bytes(changed), path)
    except ModelFileError:
        return
    X = readings(1)[0]
    np.testing.assert_array_equal(model.predict(X, return_std=True), fitted.predict(X, return_std=True))


def members(content, path):
    path.write_bytes(content)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(saved, path, change):
    """The file with its JSON document changed, by someone who makes its checksum anew."""
    parts = members(saved, path)
    document = json.loads(parts["model.json"])
    change(document)
    return sealed(document, parts, path)


def sealed(document, parts, path):
    """A file with this document and the arrays of another one, its checksum right."""
    arrays = [parts[name] for name in sorted(parts, key=lambda n: (len(n), n)) if name != "model.json"]
    if CHECKSUM in document:
        document[CHECKSUM] = checksum(document, arrays)
    return zipped({**parts, "model.json": json.dumps(document).encode()}, path)


def zipped(parts, path, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path.read_bytes()


def set_at(*keys, to):
    def change(document):
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = to

    return change


def become(estimator):
    """Another estimator with its own defaults."""

    def change(document):
        document["model"] |= {"estimator": estimator, "parameters": {}}

    return change


FIT = ("model", "outputs", 0, "fit")
BEST = (*FIT, "posterior", "best")
OUTLIERS = (*FIT, "outlier_model")
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
def test_a_document_that_was_changed_is_refused(change, message, saved, tmp_path):
    path = tmp_path / "model.sgp"
    with pytest.raises(ModelFileError, match=message):
        loads(rewritten(saved, path, change), path)


def test_ledger_comes_back_and_files_without_one_say_so(fitted, saved, tmp_path):
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
def test_entries_of_arrays_that_cannot_be_are_refused(where, value, message, saved, tmp_path):
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
        (RCGPRegressor(), set_at("model", "parameters", "epsilon", to=2.0), "epsilon must be a fraction"),
    ],
    ids=str,
)
def test_numbers_of_other_methods_are_looked_at_too(estimator, change, message, tmp_path):
    X, y = readings()
    path = tmp_path / "model.sgp"
    clone(estimator).fit(X[:12], y[:12, 0]).save(path)
    with pytest.raises(ModelFileError, match=message):
        loads(rewritten(path.read_bytes(), path, change), path)


def test_components_of_a_mixture_have_weights_that_add_up(tmp_path):
    X, y = readings()
    path = tmp_path / "model.sgp"
    MixtureGPRegressor().fit(X, y[:, 0]).save(path)
    parts = members(path.read_bytes(), path)
    document = json.loads(parts["model.json"])
    name = f"arrays/{document['model']['outputs'][0]['fit']['outlier_model']['share']}.npy"
    parts[name] = array_to_bytes(0.5 * array_from_bytes(parts[name]))
    with pytest.raises(ModelFileError, match=r"share should be numbers that add up to 1.* 0\.5"):
        loads(sealed(document, parts, path), path)


def test_every_number_that_is_edited_by_hand_is_noticed(saved, tmp_path):
    """Whatever number of the document is changed, and whichever array, the checksum tells."""
    path = tmp_path / "model.sgp"
    parts = members(saved, path)

    def edits(node):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(value, dict | list):
                yield from edits(value)
            elif isinstance(value, int | float):
                node[key] = (not value) if isinstance(value, bool) else value + 1
                yield
                node[key] = value

    document, count = json.loads(parts["model.json"]), 0
    for _ in edits(document["model"]):
        count += 1
        with pytest.raises(ModelFileError, match="does not match its checksum"):
            loads(zipped({**parts, "model.json": json.dumps(document).encode()}, path), path)
    assert count > 30
    for name in parts.keys() - {"model.json"}:
        changed = parts[name][:-1] + bytes([parts[name][-1] ^ 1])
        # The last byte of an empty array is that of its header.
        with pytest.raises(ModelFileError, match=r"does not match its checksum|header that sturdygp"):
            loads(zipped({**parts, name: changed}, path), path)


def test_a_checksum_is_missed_where_it_should_be(saved, tmp_path):
    path = tmp_path / "model.sgp"
    with pytest.raises(ModelFileError, match="has no checksum: it was changed"):
        loads(rewritten(saved, path, lambda document: document.pop(CHECKSUM)), path)
    # The layout of the document is no part of the content.
    assert loads(rewritten(saved, path, lambda document: None), path)


def test_numbers_of_the_first_format_are_looked_at_without_a_checksum(tmp_path):
    path, content = tmp_path / "model.sgp", (FILES / "model-v1.sgp").read_bytes()
    assert CHECKSUM not in json.loads(members(content, path)["model.json"])
    with pytest.raises(ModelFileError, match="noise_variance should be a finite number above 0"):
        loads(rewritten(content, path, set_at(*FIT, "noise_variance", to=-1.0)), path)


@pytest.mark.parametrize("number", ["NaN", "Infinity"])
def test_numbers_that_json_does_not_have_are_refused(number, saved, tmp_path):
    path = tmp_path / "model.sgp"
    parts = members(saved, path)
    parts["model.json"] = parts["model.json"].replace(b'"n_iter": ', f'"n_iter": {number}, "x": '.encode())
    with pytest.raises(ModelFileError, match=f"not JSON .it has the number {number}"):
        loads(zipped(parts, path), path)


def test_a_kernel_nested_without_end_is_refused(saved, tmp_path):
    kernel = {"class": "Constant", "variance": 1.0, "variance_bounds": "fixed"}
    for _ in range(200):
        kernel = {"class": "Sum", "parts": [kernel]}
    path = tmp_path / "model.sgp"
    with pytest.raises(ModelFileError, match="nested more than 60 deep"):
        loads(rewritten(saved, path, set_at(*BEST, "kernel", to=kernel)), path)
    deep = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(ModelFileError, match="not JSON"):
        loads(zipped({"model.json": deep}, path), path)


@pytest.mark.parametrize(
    "name", ["../evil.npy", "/etc/evil.npy", "arrays/../../evil.npy", "arrays/0.npy\n", "x"]
)
def test_other_names_are_refused_and_nothing_is_written(name, saved, tmp_path):
    path = tmp_path / "in" / "model.sgp"
    path.parent.mkdir()
    content = zipped({**members(saved, path), name: b"evil"}, path)
    with pytest.raises(ModelFileError, match="that sturdygp does not write"):
        loads(content, path)
    assert [each.name for each in tmp_path.rglob("*")] == ["in", "model.sgp"]


def test_bombs_are_refused_before_they_are_read(saved, tmp_path):
    path = tmp_path / "model.sgp"
    zeros = array_to_bytes(np.zeros(1_000_000))
    bomb = zipped({**members(saved, path), "arrays/0.npy": zeros}, path, zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match="is compressed"):
        loads(bomb, path)
    with pytest.raises(ModelFileError, match=f"more than the {MOST_MEMBERS} allowed"):
        loads(zipped({f"arrays/{i}.npy": b"" for i in range(MOST_MEMBERS + 1)}, path), path)
    with pytest.raises(ModelFileError, match="missing or doubled"):
        loads(zipped({"model.json": b"{}", "arrays/7.npy": zeros}, path), path)
    with pytest.raises(ModelFileError, match="document is larger"):
        loads(zipped({"model.json": b" " * (LARGEST_DOCUMENT + 1)}, path), path)


def test_members_that_share_their_bytes_are_refused(tmp_path):
    path = tmp_path / "model.sgp"
    content = bytearray(zipped({"model.json": b" " * 1000, "arrays/0.npy": b" " * 1000}, path))
    second = content.rindex(b"PK\x01\x02")
    # The second entry of the directory points at the data of the first, twice as long as the file.
    content[second + 20 : second + 28] = struct.pack("<II", 4000, 4000)
    with pytest.raises(ModelFileError, match="larger than the file"):
        loads(bytes(content), path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"(3,)", b"(9,)", "does not fit the size"),
        (b"<f8", b"|O1", "header that sturdygp does not write"),
        (b"<f8", b"<f1", "not allowed"),
        (b"False", b"exit ", "header that sturdygp does not write"),
        (b"\x01\x00", b"\x02\x00", "header that sturdygp does not write"),
    ],
)
def test_headers_of_arrays_are_not_believed(old, new, message):
    content = array_to_bytes(np.arange(3.0))
    with pytest.raises(ModelFileError, match=message):
        array_from_bytes(content.replace(old, new, 1))


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 3)),
        np.zeros((4, 0)),
        np.array(2.0),
        np.asfortranarray(np.ones((3, 2))),
        np.array([True, False]),
    ],
    ids=str,
)
def test_arrays_come_back_in_their_order(array):
    again = array_from_bytes(array_to_bytes(array))
    np.testing.assert_array_equal(again, array, strict=True)
    assert again.flags.f_contiguous == array.flags.f_contiguous
    assert again.flags.writeable


def test_only_plain_arrays_are_written():
    with pytest.raises(ValueError, match="type object cannot be saved"):
        array_to_bytes(np.array([{}]))
    boolean = bytearray(array_to_bytes(np.array([True])))
    boolean[-1] = 7
    with pytest.raises(ModelFileError, match="truth values"):
        array_from_bytes(bytes(boolean))


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "model.sgp"
    for content in (b"", b"hello", b"PK\x05\x06", b"\x80\x04K\x01."):
        with pytest.raises(ModelFileError, match=r"model\.sgp is not a model that can be loaded"):
            loads(content, path)
    with pytest.raises(ModelFileError, match="missing or doubled"):
        loads(zipped({}, path), path)
    write_archive(path, {"other": 1}, ArrayStore())
    with pytest.raises(ModelFileError, match="not a model of sturdygp"):
        sturdygp.load(path)
    with pytest.raises(FileNotFoundError):
        sturdygp.load(tmp_path / "none.sgp")


def test_rows_that_are_elsewhere_are_not_saved(tmp_path):
    import dask.array as da

    x = np.linspace(0.0, 6.0, 40)[:, None]
    model = StandardGPRegressor(inducing=6).fit(da.from_array(x, chunks=20), np.sin(x[:, 0]))
    with pytest.raises(ValueError, match="fitted to a Dask collection cannot be saved"):
        model.save(tmp_path / "model.sgp")
    assert not (tmp_path / "model.sgp").exists()
