"""What inputs are called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def input_names(estimator: Any, given: Iterable[str] | None = None) -> list[str]:
    """Names that are given; else those of the columns that a fit was made with, or numbers from zero."""
    count = int(estimator.n_features_in_)
    if given is None:
        given = getattr(estimator, "feature_names_in_", None)
    if given is None:
        return ["input"] if count == 1 else [f"input {index}" for index in range(count)]
    names = [given] if isinstance(given, str) else [str(name) for name in given]
    if len(names) != count:
        raise ValueError(f"inputs must have {count} names, got {names!r}")
    return names
