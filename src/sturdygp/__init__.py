"""Gaussian process regression that shrugs off outliers."""

from sturdygp.estimators import (
    AsorGPRegressor,
    MixtureGPRegressor,
    OracleGPRegressor,
    RCGPRegressor,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
)
from sturdygp.methods.adaptive import ContaminationPrior
from sturdygp.methods.asor import AsorPrior
from sturdygp.methods.mixture import MixturePrior

__all__ = [
    "AsorGPRegressor",
    "AsorPrior",
    "ContaminationPrior",
    "MixtureGPRegressor",
    "MixturePrior",
    "OracleGPRegressor",
    "RCGPRegressor",
    "RobustGPRegressor",
    "StandardGPRegressor",
    "StudentTGPRegressor",
]
