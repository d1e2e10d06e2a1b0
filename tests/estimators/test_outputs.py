"""The scaling of targets."""

import numpy as np
import pytest

from sturdygp import RobustGPRegressor
from sturdygp.estimators.outputs import Scaling


@pytest.mark.parametrize(("unit", "scale"), [(0.15, 1.0), (1.0, 1.0), (14.0, 1.0), (50.0, 100.0), (7e4, 1e5)])
def test_scaling_leaves_targets_of_about_unit_scale(unit, scale):
    y = unit * np.random.default_rng(0).standard_normal(4000) + 3.0
    scaling = Scaling.of(y, None)
    assert (scaling.centre, scaling.scale) == (0.0, pytest.approx(scale, rel=1e-15))
    assert Scaling.of(np.full(5, 7e4), None).scale == 1.0


def test_scaling_ignores_outliers_and_equal_targets():
    """Zeros at night, and three fill values."""
    hours, rng = np.arange(0.0, 96.0, 0.5)[:, None], np.random.default_rng(0)
    sun = 5.0 * np.maximum(0.0, np.sin(2.0 * np.pi * (hours[:, 0] - 7.0) / 24.0) - 0.25)
    y = sun + np.where(sun > 0.0, 0.1 * rng.standard_normal(192), 0.0)
    assert RobustGPRegressor().fit(hours, y).contamination_rate_ < 0.01
    y[[5, 60, 100]] = 65_535.0
    model = RobustGPRegressor().fit(hours, y)
    assert np.flatnonzero(model.outlier_proba_ > 0.5).tolist() == [5, 60, 100]
    assert np.sqrt(np.mean((model.predict(hours) - sun) ** 2)) < 0.1
