"""Gaussian process regression that shrugs off outliers."""

from importlib.metadata import version

from sturdygp.estimators import (
    AsorGPRegressor,
    MixtureGPRegressor,
    OracleGPRegressor,
    RCGPRegressor,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
    load,
)
from sturdygp.estimators.callbacks import Progress
from sturdygp.exceptions import ModelFileError, RepeatedRowsWarning
from sturdygp.likelihoods.contamination_prior import ContaminationPrior
from sturdygp.likelihoods.mixture import MixturePrior
from sturdygp.likelihoods.spike_and_slab import AsorPrior

__version__ = version("sturdygp")

__all__ = [
    "AsorGPRegressor",
    "AsorPrior",
    "ContaminationPrior",
    "MixtureGPRegressor",
    "MixturePrior",
    "ModelFileError",
    "OracleGPRegressor",
    "Progress",
    "RCGPRegressor",
    "RepeatedRowsWarning",
    "RobustGPRegressor",
    "StandardGPRegressor",
    "StudentTGPRegressor",
    "load",
]
