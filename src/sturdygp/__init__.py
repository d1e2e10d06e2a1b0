"""Gaussian process regression that shrugs off outliers."""

from sturdygp.estimators import AsorGPRegressor
from sturdygp.methods.asor import AsorPrior

__all__ = ["AsorGPRegressor", "AsorPrior"]
