"""One BLAS thread for each worker: two workers with two threads each would only wait for each other."""

import sys

import numpy  # noqa: F401  the limit holds for libraries that are loaded
import pytest
import scipy.linalg  # noqa: F401
from threadpoolctl import threadpool_limits

threadpool_limits(1)


@pytest.fixture(autouse=True)
def no_open_figures():
    """Pyplot keeps figures until they are closed."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
