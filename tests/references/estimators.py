"""Estimators that can stop and go on."""

from sturdygp import (
    AsorGPRegressor,
    MixtureGPRegressor,
    OracleGPRegressor,
    RCGPRegressor,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
)

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
