"""Fitted models to draw."""

import numpy as np
import pandas as pd
import pytest
from references.plots import problem

from sturdygp import RobustGPRegressor


@pytest.fixture(scope="module")
def fitted():
    X, y = problem()
    return RobustGPRegressor().fit(X, y), X, y


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.uniform(0.0, 6.0, (50, 2)), columns=["depth", "speed"])
    Y = np.stack([np.sin(X["depth"]), X["speed"]], axis=1) + 0.1 * rng.standard_normal((50, 2))
    Y[0, 1] = np.nan
    return RobustGPRegressor().fit(X, Y), X, Y
