"""Synthetic problems keep their random streams and moments."""

import numpy as np
import pytest

from sturdygp.datasets import make_gp_sample, make_synthetic


def test_make_synthetic_keeps_its_random_stream():
    data = make_synthetic(5, 3, rate=0.5, seed=7)
    again = make_synthetic(5, 3, rate=0.5, seed=7)
    np.testing.assert_array_equal(data.y, again.y)
    expected = [2.763036227836405, 9.001136595963116, -0.12195095241145629, 8.012698138371196]
    np.testing.assert_allclose(data.y[0], expected, rtol=1e-9)
    np.testing.assert_array_equal(data.outlier_mask[0], [True, True, False, True])


def test_make_gp_sample_is_what_the_benchmark_draws():
    sample = make_gp_sample(seed=3)
    np.testing.assert_allclose(sample.X[:, 0], np.linspace(0.0, 20.0, 300))
    assert 0.08 < (sample.y - sample.f).std() < 0.12
    np.testing.assert_array_equal(sample.y, make_gp_sample(seed=3).y)
    assert not np.array_equal(sample.f, make_gp_sample(seed=4).f)


def test_make_gp_sample_has_the_covariance_of_the_kernel():
    draws = np.array([make_gp_sample(21, low=-1.0, high=4.0, seed=seed).f for seed in range(2000)])
    x = np.linspace(-1.0, 4.0, 21)
    expected = np.exp(-0.5 * np.subtract.outer(x, x) ** 2)
    assert np.abs(draws.T @ draws / len(draws) - expected).max() < 0.15


def test_make_gp_sample_uses_its_parameters():
    quiet = make_gp_sample(50, variance=4.0, length_scale=100.0, noise_variance=0.0, seed=1)
    np.testing.assert_array_equal(quiet.y, quiet.f)
    assert np.ptp(quiet.f) < 0.2 * 4.0
    with pytest.raises(ValueError, match=r"low < high.*low=3\.0, high=2\.0"):
        make_gp_sample(low=3.0, high=2.0)
