"""Fits as JSON and arrays: the posterior, what was found about outliers, and how the fit went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields, replace
from typing import Any, TypeAlias

import numpy as np

from sturdygp.likelihoods.base import FittedLikelihood
from sturdygp.likelihoods.contamination import Contamination, FittedContamination, OutlierMoments, Shape
from sturdygp.likelihoods.contamination_prior import ContaminationPrior
from sturdygp.likelihoods.gaussian import FittedGaussian
from sturdygp.likelihoods.heteroscedastic import BENDS, Ranks, VarianceFunction
from sturdygp.likelihoods.mixture import FittedMixture, MixturePrior
from sturdygp.likelihoods.spike_and_slab import AsorPrior, FittedSpikeAndSlab
from sturdygp.likelihoods.student_t import FittedStudentT, TLikelihood
from sturdygp.methods.fit import Fit, LedgerEntry, Score
from sturdygp.persistence.archive import ArrayStore, Json
from sturdygp.persistence.posteriors import decode_posterior, encode_posterior
from sturdygp.persistence.record import Record, plain_number
from sturdygp.status import Status

Prior: TypeAlias = AsorPrior | ContaminationPrior | MixturePrior
KnownModel: TypeAlias = FittedSpikeAndSlab | FittedContamination | FittedMixture

PRIORS: dict[str, type[Any]] = {
    "AsorPrior": AsorPrior,
    "ContaminationPrior": ContaminationPrior,
    "MixturePrior": MixturePrior,
}

# Names of fields in files, where these differ from those of the classes.
PRIOR_NAMES_IN_FILES = {
    "AsorPrior": {"inlier_proba": "nominal_proba"},
    "ContaminationPrior": {"inliers": "nominal"},
}

# Fields that older files lack, with the values that these were written under.
EARLIER_PRIORS = {"ContaminationPrior": {"caution": 0.1}}

# Probabilities are sums, and mixing weights have a floor: they may be off by so much.
MOST_PROBABLE, WEIGHT_ROUNDING = 1.0 + 1e-9, 1e-3


def encode_prior(prior: Prior) -> Json:
    """A prior: a few numbers, under the names that files have had from the first format on."""
    in_file, name = PRIOR_NAMES_IN_FILES.get(type(prior).__name__, {}), type(prior).__name__
    return {"class": name, **{in_file.get(key, key): plain_number(v) for key, v in asdict(prior).items()}}


def decode_prior(record: Record) -> Any:
    """Read what :func:`encode_prior` wrote."""
    cls = PRIORS.get(record.text("class"))
    if cls is None:
        raise record.fail("class", "the name of a prior that sturdygp knows")
    in_file = PRIOR_NAMES_IN_FILES.get(cls.__name__, {})
    names = {each.name: in_file.get(each.name, each.name) for each in fields(cls)}
    # Fields that the file lacks have the values that it was written under, or their defaults.
    known = {field: name for field, name in names.items() if name in record.fields}
    if len(known) + 1 < len(record.fields):
        raise record.fail("class", f"a prior with no fields but {', '.join(known.values())}")
    earlier = EARLIER_PRIORS.get(cls.__name__, {})
    return cls(**earlier | {field: record.finite(name) for field, name in known.items()})


def encode_fit(fit: Fit, store: ArrayStore) -> Json:
    """A fitted method."""
    return {
        "posterior": encode_posterior(fit.posterior, store),
        "weights": store.add(fit.weights),
        "bound": plain_number(fit.bound),
        "status": fit.status.name,
        "n_iter": int(fit.n_iter),
        "n_factorizations": int(fit.n_factorizations),
        "trace": store.add(np.array(fit.trace, dtype=np.float64)),
        "outlier_proba": None if fit.outlier_proba is None else store.add(fit.outlier_proba),
        "n_densities": plain_number(fit.n_densities),
        "note": fit.note,
        "ledger": [encode_ledger_entry(entry) for entry in fit.ledger],
        **encode_likelihood(fit.likelihood, store),
    }


def decode_fit(record: Record, n_features: int) -> Fit:
    """Read what :func:`encode_fit` wrote, for so many inputs; arrays have an entry for each observation."""
    posterior = decode_posterior(record.child("posterior"), n_features)
    n, status = len(posterior.sites), record.text("status")
    if status not in Status.__members__:
        raise record.fail("status", "one of " + ", ".join(Status.__members__))
    return Fit(
        posterior=posterior,
        likelihood=decode_likelihood(record, n_features),
        weights=record.finite_floats("weights", n, least=0.0),
        bound=record.finite("bound"),
        status=Status[status],
        n_iter=record.count("n_iter"),
        n_factorizations=record.count("n_factorizations"),
        trace=tuple(record.finite_floats("trace", None).tolist()),
        outlier_proba=record.finite_floats("outlier_proba", n, least=0.0, most=MOST_PROBABLE)
        if record.given("outlier_proba")
        else None,
        n_densities=record.finite("n_densities", least=0.0) if record.given("n_densities") else float(n),
        note=record.text("note"),
        # Files that are older than the ledger come without it.
        ledger=tuple(decode_ledger_entry(each) for each in record.children("ledger"))
        if record.given("ledger")
        else (),
    )


def encode_ledger_entry(entry: LedgerEntry) -> Json:
    """Encode a hypothesis that was compared."""
    return {
        "name": entry.name,
        "score": {name: plain_number(value) for name, value in asdict(entry.score).items()},
        "outliers": plain_number(entry.outliers),
        "noise": plain_number(entry.noise),
        "iterations": int(entry.iterations),
        "convinced": bool(entry.convinced),
    }


def decode_ledger_entry(record: Record) -> LedgerEntry:
    """Decode what :func:`encode_ledger_entry` made."""
    score = record.child("score")
    return LedgerEntry(
        name=record.text("name"),
        score=Score(**{each.name: score.number(each.name) for each in fields(Score)}),
        outliers=record.finite("outliers", least=0.0, most=MOST_PROBABLE),
        noise=record.finite("noise", least=0.0),
        iterations=record.count("iterations"),
        convinced=record.flag("convinced"),
    )


def encode_likelihood(likelihood: FittedLikelihood, store: ArrayStore) -> Json:
    """Entries of a fit that describe its likelihood."""
    function, dof = likelihood.variance_function, None
    if isinstance(likelihood, FittedStudentT):
        dof = plain_number(likelihood.dof)
    return {
        "noise_variance": plain_number(likelihood.noise_variance),
        "outlier_model": encode_outliers(likelihood, store) if likelihood.tells_outliers else None,
        "dof": dof,
        "noise_profile": None if function is None else encode_variance_function(function, store),
    }


def decode_likelihood(record: Record, n_features: int) -> FittedLikelihood:
    """Read the likelihood that these entries describe."""
    noise = record.finite("noise_variance", above=0.0)
    dof = record.finite("dof", above=0.0) if record.given("dof") else None
    if record.given("outlier_model"):
        likelihood = decode_outliers(record.child("outlier_model"))
        if record.given("noise_profile") and isinstance(likelihood, FittedContamination):
            return replace(
                likelihood,
                variance_function=decode_variance_function(record.child("noise_profile"), n_features),
            )
        return likelihood
    return FittedGaussian(noise) if dof is None else FittedStudentT(TLikelihood(noise, dof))


def encode_variance_function(function: VarianceFunction, store: ArrayStore) -> Json:
    """A variance function."""
    return {
        "along": function.along,
        "values": store.add(function.ranks.values),
        "ranks": store.add(function.ranks.ranks),
        "bend": store.add(function.bend),
        "least": plain_number(function.least),
    }


def decode_variance_function(record: Record, n_features: int) -> VarianceFunction:
    """Read what :func:`encode_variance_function` wrote."""
    along = record.integer("along") if record.given("along") else None
    if along is not None and not 0 <= along < n_features:
        raise record.fail("along", f"the number of one of {n_features} inputs")
    values = record.ascending("values", None)
    if not len(values):
        raise record.fail("values", "one number at least")
    ranks = Ranks(values, record.ascending("ranks", len(values), least=-1.0, most=1.0))
    least = record.finite("least", least=0.0)
    return VarianceFunction(along, ranks, record.finite_floats("bend", BENDS), least)


def encode_outliers(model: FittedLikelihood, store: ArrayStore) -> Json:
    """The likelihood of a method that distinguishes outliers."""
    if isinstance(model, FittedSpikeAndSlab):
        return {
            "class": "AsorOutliers",
            "noise_variance": plain_number(model.noise_variance),
            "rate": plain_number(model.rate),
            "prior": encode_prior(model.prior),
        }
    if isinstance(model, FittedMixture):
        return {
            "class": "MixtureOutliers",
            "noise_variance": plain_number(model.noise_variance),
            "share": store.add(model.mixing_weight),
            "ratio": store.add(model.ratio),
        }
    if isinstance(model, FittedContamination):
        return {"class": "BranchLikelihood", **encode_contamination(model, store)}
    raise ValueError(f"a model of outliers of type {type(model).__name__} cannot be saved")


def encode_contamination(model: FittedContamination, store: ArrayStore) -> Json:
    """A fitted contamination likelihood."""
    found = model.contamination
    return {
        "nominal": plain_number(model.inlier_weight),
        "noise": plain_number(float(found.noise)),
        "shift": plain_number(float(found.shift)),
        "spread": plain_number(float(found.scale)),
        "shape": found.shape.name,
        "centres": store.add(found.shape.centres),
        "width": plain_number(found.shape.width),
        "found": None if model.found is None else encode_outlier_moments(model.found),
    }


def encode_outlier_moments(outliers: OutlierMoments) -> Json:
    """Moments of the outliers that were found."""
    known = {"shift": outliers.shift, "spread": outliers.std, "above": outliers.above}
    return {name: plain_number(value) for name, value in known.items() if value is not None}


def decode_outliers(record: Record) -> KnownModel:
    """Read what :func:`encode_outliers` wrote."""
    decode = OUTLIER_MODELS.get(record.text("class"))
    if decode is None:
        raise record.fail("class", "the name of a model of outliers that sturdygp knows")
    return decode(record)


def decode_asor(record: Record) -> FittedSpikeAndSlab:
    """A normal spike and a Student-t slab."""
    prior = decode_prior(record.child("prior"))
    if not isinstance(prior, AsorPrior):
        raise record.fail("prior", "an AsorPrior")
    noise, rate = record.finite("noise_variance", above=0.0), record.finite("rate", above=0.0)
    return FittedSpikeAndSlab(noise, rate, prior)


def decode_mixture(record: Record) -> FittedMixture:
    """A mixture of normals."""
    mixing_weight = record.finite_floats("share", None, above=0.0)
    if abs(float(mixing_weight.sum()) - 1.0) > WEIGHT_ROUNDING:
        raise record.fail("share", f"numbers that add up to 1, and they add up to {mixing_weight.sum():g}")
    noise = record.finite("noise_variance", above=0.0)
    return FittedMixture(noise, mixing_weight, record.finite_floats("ratio", len(mixing_weight), above=0.0))


def decode_contamination(record: Record) -> FittedContamination:
    """Read a fitted contamination likelihood."""
    centres, width = record.finite_floats("centres", None), record.finite("width", above=0.0)
    if not centres.size:
        raise record.fail("centres", "one number at least")
    contamination = Contamination(
        noise=np.asarray(record.finite("noise", above=0.0)),
        shift=np.asarray(record.finite("shift")),
        scale=np.asarray(record.finite("spread", above=0.0)),
        shape=Shape(record.text("shape"), centres, width),
    )
    inlier_weight = record.finite("nominal", above=0.0, most=1.0)
    found = decode_outlier_moments(record.child("found")) if record.given("found") else None
    return FittedContamination(contamination, inlier_weight, found)


def decode_outlier_moments(record: Record) -> OutlierMoments:
    """Read what :func:`encode_outlier_moments` wrote."""
    above = record.finite("above", least=0.0, most=MOST_PROBABLE) if record.given("above") else None
    return OutlierMoments(record.finite("shift"), record.finite("spread", least=0.0), above)


OUTLIER_MODELS: dict[str, Callable[[Record], KnownModel]] = {
    "AsorOutliers": decode_asor,
    "MixtureOutliers": decode_mixture,
    "BranchLikelihood": decode_contamination,
}
