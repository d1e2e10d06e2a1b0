"""One BLAS thread for each worker: two workers with two threads each would only wait for each other."""

import numpy  # noqa: F401  the limit holds for libraries that are loaded
import scipy.linalg  # noqa: F401
from threadpoolctl import threadpool_limits

threadpool_limits(1)
