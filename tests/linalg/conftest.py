"""A matrix to factorise."""

import numpy as np
import pytest


@pytest.fixture
def matrix():
    A = np.random.default_rng(0).normal(size=(6, 6))
    return A @ A.T + np.eye(6)
