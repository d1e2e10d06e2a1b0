"""Points to evaluate kernels at."""

import numpy as np
import pytest


@pytest.fixture
def points():
    rng = np.random.default_rng(3)
    return rng.normal(size=(9, 3)), rng.normal(size=(5, 3)), rng
