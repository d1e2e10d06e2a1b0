"""Exceptions and warnings, other than a plain ``ValueError`` for bad input."""

from __future__ import annotations

import numpy as np


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """A matrix that must be positive definite is not, to working precision.

    Optimisers treat the point that caused it as rejected, never as stationary.
    """


class RepeatedRowsWarning(UserWarning):
    """Rows repeat others exactly, more often than chance explains, and are taken for copies of them."""


class NotFiniteError(NotPositiveDefiniteError):
    """An intermediate number is too large, or too small, to be represented.

    Optimisers reject the point that caused it, like one whose matrix is not positive definite.
    """


class ModelFileError(ValueError):
    """A file is not a saved model, or is damaged, was tampered with, or comes from a newer version."""


class TableError(ValueError):
    """A table cannot be read, or does not have what was asked for; the message says what to change."""
