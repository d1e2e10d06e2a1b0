"""What inputs are called."""

from __future__ import annotations

from typing import Any


def input_names(estimator: Any) -> list[str]:
    """Those of the columns that a fit was made with, or numbers counted from zero."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    count = int(estimator.n_features_in_)
    return ["input"] if count == 1 else [f"input {index}" for index in range(count)]
