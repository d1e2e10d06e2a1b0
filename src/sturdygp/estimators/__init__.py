"""scikit-learn estimators, one for each method."""

import sturdygp.estimators.interop  # noqa: F401  registers the conversion of kernels
from sturdygp.estimators.asor import AsorGPRegressor

__all__ = ["AsorGPRegressor"]
