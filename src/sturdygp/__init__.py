"""Gaussian process regression that shrugs off outliers."""

from sturdygp.estimators import (
    AsorGPRegressor,
    MixtureGPRegressor,
    OracleGPRegressor,
    RCGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
)
from sturdygp.methods.asor import AsorPrior
from sturdygp.methods.mixture import MixturePrior

__all__ = [
    "AsorGPRegressor",
    "AsorPrior",
    "MixtureGPRegressor",
    "MixturePrior",
    "OracleGPRegressor",
    "RCGPRegressor",
    "StandardGPRegressor",
    "StudentTGPRegressor",
]
