"""scikit-learn estimators, one for each method."""

from sturdygp.estimators.asor import AsorGPRegressor
from sturdygp.estimators.gaussian import OracleGPRegressor, StandardGPRegressor
from sturdygp.estimators.loading import load
from sturdygp.estimators.mixture import MixtureGPRegressor
from sturdygp.estimators.rcgp import RCGPRegressor
from sturdygp.estimators.robust import RobustGPRegressor
from sturdygp.estimators.student_t import StudentTGPRegressor

__all__ = [
    "AsorGPRegressor",
    "MixtureGPRegressor",
    "OracleGPRegressor",
    "RCGPRegressor",
    "RobustGPRegressor",
    "StandardGPRegressor",
    "StudentTGPRegressor",
    "load",
]
