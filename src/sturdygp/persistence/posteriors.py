"""Posteriors as JSON and arrays, their factorisation included, so that the same bits come back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.exact import ExactMean, ExactPosterior
from sturdygp.gp.features import Features, Solution, SparseMean
from sturdygp.gp.hyperparameter_uncertainty import UncertainPosterior
from sturdygp.gp.inputs import Inputs, Rows
from sturdygp.gp.markov import MarkovMean, MarkovPosterior, MarkovPrior
from sturdygp.gp.posterior import MeanFunction, Posterior, check_inputs
from sturdygp.gp.sites import Sites
from sturdygp.gp.sparse import SparsePosterior, SparsePrior
from sturdygp.kernels.base import Kernel
from sturdygp.kernels.state_space import has_state_space
from sturdygp.linalg.cholesky import Cholesky, SiteFactor
from sturdygp.persistence.archive import ArrayStore, Json
from sturdygp.persistence.kernels import decode_kernel, encode_kernel
from sturdygp.persistence.record import Record, plain_number

# ---------------------------------------------------------------------------------------- encoding


def encode_posterior(posterior: Posterior, store: ArrayStore) -> Json:
    """Any posterior that an estimator may hold."""
    if isinstance(posterior, ExactPosterior):
        return {"class": "ExactPosterior", **encode_exact(posterior, store)}
    if isinstance(posterior, SparsePosterior):
        return {"class": "SparsePosterior", **encode_sparse(posterior, store)}
    if isinstance(posterior, MarkovPosterior):
        return {"class": "MarkovPosterior", **encode_markov(posterior, store)}
    if isinstance(posterior, UncertainPosterior):
        return {
            "class": "UncertainPosterior",
            "X": store.add(here(posterior.X)),
            "best": encode_posterior(posterior.best, store),
            "moved": [encode_mean(function, store) for function in posterior.moved],
        }
    raise ValueError(f"a posterior of type {type(posterior).__name__} cannot be saved")


def here(X: Inputs) -> FloatArray:
    """Inputs that are in memory."""
    if isinstance(X, Rows):
        raise ValueError(
            "a model that was fitted to a Dask collection cannot be saved, because its rows are elsewhere; "
            "fit it to an array"
        )
    return X


def encode_exact(posterior: ExactPosterior, store: ArrayStore) -> Json:
    """Sites and factor; what follows from them without rounding is left out."""
    factor = posterior.factor
    return {
        "kernel": encode_kernel(posterior.kernel),
        "X": store.add(posterior.X),
        "sites": encode_sites(posterior.sites, store),
        "mean": plain_number(posterior.mean),
        "alpha": store.add(posterior.alpha),
        "factor": encode_cholesky(factor.chol, store),
        "W": store.add(factor.W),
        "log_det": plain_number(factor.log_det),
    }


def encode_markov(posterior: MarkovPosterior, store: ArrayStore) -> Json:
    """Times, sites and kernel: one pass of the filter brings back the same posterior."""
    return {
        "kernel": encode_kernel(posterior.kernel),
        "X": store.add(posterior.timeline.X),
        "sites": encode_sites(posterior.sites, store),
        "mean": plain_number(posterior.mean),
    }


def encode_sparse(posterior: SparsePosterior, store: ArrayStore) -> Json:
    """Sites, features, and the normal distribution of their weights."""
    return {
        "X": store.add(here(posterior.prior.X)),
        "sites": encode_sites(posterior.sites, store),
        "features": encode_features(posterior.features, store),
        "factor": encode_cholesky(posterior.solution.factor, store),
        "weights": store.add(posterior.solution.weights),
        "mean": plain_number(posterior.mean),
    }


def encode_sites(sites: Sites, store: ArrayStore) -> Json:
    """Gaussian sites, by which a method represents the observations."""
    names = ("target", "precision", "log_scale")
    return {name: store.add(getattr(sites, name)) for name in names}


def encode_features(features: Features, store: ArrayStore) -> Json:
    """Inducing inputs, and the factor that whitens them."""
    return {
        "kernel": encode_kernel(features.kernel),
        "Z": store.add(features.Z),
        "whiten": encode_cholesky(features.whiten, store),
    }


def encode_cholesky(factor: Cholesky, store: ArrayStore) -> Json:
    """Half of a triangular matrix."""
    return {"lower": store.add(pack(factor.lower)), "jitter": plain_number(factor.jitter)}


def encode_mean(function: MeanFunction, store: ArrayStore) -> Json:
    """A mean function for other kernel parameters."""
    if isinstance(function, ExactMean):
        return {
            "class": "ExactMean",
            "kernel": encode_kernel(function.kernel),
            "X": store.add(function.X),
            "mean": plain_number(function.mean),
            "alpha": store.add(function.alpha),
        }
    if isinstance(function, SparseMean):
        return {
            "class": "SparseMean",
            "features": encode_features(function.features, store),
            "weights": store.add(function.weights),
            "mean": plain_number(function.mean),
        }
    if isinstance(function, MarkovMean):
        return {"class": "MarkovMean", **encode_markov(function.posterior, store)}
    raise ValueError(f"a mean function of type {type(function).__name__} cannot be saved")


# ---------------------------------------------------------------------------------------- decoding


def decode_posterior(record: Record, n_features: int) -> Posterior:
    """Read back what :func:`encode_posterior` described, for so many inputs."""
    decode = POSTERIORS.get(record.text("class"))
    if decode is None:
        raise record.fail("class", "the name of a posterior that sturdygp knows")
    return decode(record, n_features)


def decode_exact(record: Record, n_features: int) -> ExactPosterior:
    """Arrays that fit each other, whatever the file says."""
    X = inputs(record, "X", n_features)
    n, sites = len(X), decode_sites(record.child("sites"), len(X))
    factor = SiteFactor(
        precision=sites.precision,
        root=np.sqrt(np.maximum(sites.precision, 0.0)),
        chol=decode_cholesky(record.child("factor"), n),
        W=record.finite_floats("W", n, None),
        log_det=record.finite("log_det"),
    )
    kernel = kernel_for(record, n_features)
    return ExactPosterior(kernel, X, sites, record.finite("mean"), factor, record.finite_floats("alpha", n))


def decode_markov(record: Record, n_features: int) -> MarkovPosterior:
    """Filter again."""
    X, kernel = inputs(record, "X", n_features), kernel_for(record, n_features)
    if not has_state_space(kernel):
        raise record.fail("kernel", "a kernel with a state-space form")
    sites = decode_sites(record.child("sites"), len(X))
    return MarkovPrior.at(kernel, X).condition(sites, record.finite("mean"))


def decode_sparse(record: Record, n_features: int) -> SparsePosterior:
    """A posterior with inducing inputs."""
    X = inputs(record, "X", n_features)
    features = decode_features(record.child("features"), n_features)
    m, mean = len(features.Z), record.finite("mean")
    factor = decode_cholesky(record.child("factor"), m)
    return SparsePosterior(
        kernel=features.kernel,
        sites=decode_sites(record.child("sites"), len(X)),
        mean=mean,
        features=features,
        solution=Solution(factor, record.finite_floats("weights", m), mean),
        prior=SparsePrior(features, X),
    )


def decode_uncertain(record: Record, n_features: int) -> UncertainPosterior:
    """A posterior at the best parameters, and mean functions around it."""
    if record.child("best").text("class") == "UncertainPosterior":
        raise record.fail("best", "a posterior for one set of parameters")
    best = decode_posterior(record.child("best"), n_features)
    X = inputs(record, "X", n_features)
    if len(X) != len(best.sites):
        raise record.fail("X", f"{len(best.sites)} rows")
    moved = tuple(decode_mean(each, n_features) for each in record.children("moved"))
    return UncertainPosterior(best.kernel, best.sites, best.mean, X, best, moved)


def decode_sites(record: Record, n: int) -> Sites:
    """Gaussian sites, which check themselves."""
    return Sites(record.floats("target", n), record.floats("precision", n), record.floats("log_scale", n))


def decode_features(record: Record, n_features: int) -> Features:
    """Inducing inputs, and the factor that whitens them."""
    Z = inputs(record, "Z", n_features)
    return Features(kernel_for(record, n_features), Z, decode_cholesky(record.child("whiten"), len(Z)))


def decode_cholesky(record: Record, n: int) -> Cholesky:
    """A triangular factor that can be solved with."""
    lower = unpack(record.finite_floats("lower", n * (n + 1) // 2), n)
    if not np.all(lower.diagonal() > 0.0):
        raise record.fail("lower", "a triangle with a positive diagonal")
    return Cholesky(lower, record.finite("jitter", least=0.0))


def decode_mean(record: Record, n_features: int) -> MeanFunction:
    """Read back what :func:`encode_mean` described."""
    name, mean = record.text("class"), record.finite("mean")
    if name == "ExactMean":
        X = inputs(record, "X", n_features)
        return ExactMean(kernel_for(record, n_features), X, mean, record.finite_floats("alpha", len(X)))
    if name == "SparseMean":
        features = decode_features(record.child("features"), n_features)
        return SparseMean(features, record.finite_floats("weights", len(features.Z)), mean)
    if name == "MarkovMean":
        return MarkovMean(decode_markov(record, n_features))
    raise record.fail("class", "the name of a mean function that sturdygp knows")


POSTERIORS: dict[str, Callable[[Record, int], Posterior]] = {
    "ExactPosterior": decode_exact,
    "MarkovPosterior": decode_markov,
    "SparsePosterior": decode_sparse,
    "UncertainPosterior": decode_uncertain,
}


def inputs(record: Record, name: str, n_features: int) -> FloatArray:
    """Finite inputs, one row at least."""
    return check_inputs(record.floats(name, None, n_features), name)


def kernel_for(record: Record, n_features: int) -> Kernel:
    """A kernel that can be evaluated for so many inputs; one that cannot would fail much later."""
    kernel = decode_kernel(record.child("kernel"))
    kernel(np.zeros((1, n_features)))
    return kernel


def pack(lower: FloatArray) -> FloatArray:
    """The lower triangle, column after column: half the size.

    Examples
    --------
    >>> import numpy as np
    >>> pack(np.array([[1.0, 0.0], [2.0, 3.0]]))
    array([1., 2., 3.])
    """
    return np.concatenate([lower[index:, index] for index in range(len(lower))])


def unpack(packed: FloatArray, n: int) -> FloatArray:
    """The triangle in full, as LAPACK wants it: zero above the diagonal, in Fortran's order."""
    lower = np.zeros((n, n), order="F")
    first = 0
    for index in range(n):
        lower[index:, index] = packed[first : first + n - index]
        first += n - index
    return lower
