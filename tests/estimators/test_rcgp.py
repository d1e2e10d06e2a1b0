"""RCGPRegressor: its defaults against the published settings."""

import numpy as np
import pytest

from sturdygp import RCGPRegressor
from sturdygp.datasets import make_synthetic


def test_rcgp_is_better_than_with_published_settings():
    data = make_synthetic(60, 100, rate=0.15, seed=1)

    def error(**arguments):
        model = RCGPRegressor(**arguments).fit(data.X, data.y)
        return np.sqrt(np.mean((model.predict(data.X_test) - data.f_test) ** 2))

    published = error(epsilon=0.05, recentre=0, centre="mean", loo_score="plain", shift_sign=-1)
    assert error() < published
    for bad in (
        {"epsilon": 1.0},
        {"recentre": -1},
        {"centre": "mode"},
        {"loo_score": "x"},
        {"shift_sign": 0},
    ):
        with pytest.raises(ValueError, match=next(iter(bad))):
            error(**bad)
