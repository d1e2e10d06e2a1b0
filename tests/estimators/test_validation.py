"""Times, masked arrays and kernels as arguments."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process import kernels as sk

from sturdygp import (
    AsorGPRegressor,
    MixtureGPRegressor,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
)
from sturdygp.kernels import Matern52, SquaredExponential


def test_kernel_that_cannot_follow_the_scale_of_y_warns():
    x = np.linspace(0, 10, 40)[:, None]
    ours = SquaredExponential(variance_bounds="fixed"), Matern52(variance_bounds=(0.1, 1.0))
    for kernel in (sk.RBF(), *ours):
        with pytest.warns(UserWarning, match="not free to follow it"):
            StandardGPRegressor(kernel=kernel).fit(x, 1e3 * np.sin(x[:, 0]) + np.cos(40.0 * x[:, 0]))


def test_inputs_that_are_times_do_not_depend_on_unit_and_zone():
    hours = pd.date_range("2020-01-01", periods=60, freq="h")
    y = np.sin(np.linspace(0.0, 10.0, 60))
    frame = pd.DataFrame({"t": hours, "since": hours - hours[0]})
    model = RobustGPRegressor().fit(frame, y)
    for unit in ("s", "ms", "ns"):
        same = frame.astype({"t": f"datetime64[{unit}]", "since": f"timedelta64[{unit}]"})
        np.testing.assert_array_equal(model.predict(same), model.predict(frame))
    zoned = frame.assign(t=hours.tz_localize("UTC").tz_convert("Asia/Tokyo"))
    np.testing.assert_array_equal(model.predict(zoned), model.predict(frame))
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(frame.assign(t=frame["t"].where(frame.index != 5)), y)
    times = hours.to_numpy()[:, None]
    np.testing.assert_allclose(RobustGPRegressor().fit(times, y).predict(times[:3]), y[:3], atol=0.01)


def test_masked_arrays_are_missing_targets(data):
    y = data.y[:, 0].copy()
    y[:9] = 1e6
    masked = np.ma.masked_greater(y, 1e5)
    model, gaps = StandardGPRegressor().fit(data.X, masked), np.where(masked.mask, np.nan, y)
    np.testing.assert_array_equal(
        model.predict(data.X), StandardGPRegressor().fit(data.X, gaps).predict(data.X)
    )
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(np.ma.masked_greater(data.X, 1.0), y)


def test_fit_accepts_fill_values_near_the_largest_number(data):
    y = data.y[:, 0].copy()
    y[::10] = -np.finfo(np.float64).max
    for model in (
        AsorGPRegressor(),
        MixtureGPRegressor(),
        StudentTGPRegressor(inference="vb"),
        RobustGPRegressor(),
    ):
        assert np.isfinite(model.fit(data.X, y).predict(data.X)).all()


def test_kernel_with_noise_warns(data):
    for kernel, level in ((sk.RBF() + sk.WhiteKernel(), 1), (sk.RBF() + sk.WhiteKernel(1e-6, "fixed"), 0)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            StandardGPRegressor(kernel=kernel).fit(data.X, data.y[:, :2])
        assert sum("leave WhiteKernel out" in str(each.message) for each in caught) == level
