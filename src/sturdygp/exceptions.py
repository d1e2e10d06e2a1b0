"""What can go wrong, other than a plain ``ValueError`` for bad input."""

import numpy as np


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """A matrix that must be positive definite is not, to working precision.

    Optimisers treat the point that caused it as rejected, never as stationary.
    """
