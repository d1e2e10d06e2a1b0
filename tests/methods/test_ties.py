"""Rows that were copied do not count; observations that agree by chance do."""

import numpy as np
import pytest
from references.repeated import AGAIN, N, readings, replicates

from sturdygp.methods.ties import Repeats


def assert_restored(repeats, rows, n):
    """The first of some copies is kept, and every row stands for the row that it is a copy of."""
    assert repeats.count == rows.size - n
    np.testing.assert_array_equal(np.flatnonzero(repeats.kept), np.unique(rows, return_index=True)[1])
    np.testing.assert_array_equal(rows[repeats.kept][repeats.observation], rows)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("step", [0.0, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("rows", AGAIN.values(), ids=AGAIN)
def test_repeats_are_found_whatever_the_rounding(rows, step, seed):
    X, y = readings(seed, step)
    assert_restored(Repeats.of(X[rows], y[rows]), rows, N)


@pytest.mark.parametrize("rows", AGAIN.values(), ids=AGAIN)
def test_repeats_are_found_in_any_order(rows):
    X, y = readings(step=0.1)
    shuffled = np.random.default_rng(1).permutation(rows)
    repeats = Repeats.of(X[shuffled], y[shuffled])
    assert repeats.count == rows.size - N
    np.testing.assert_array_equal(shuffled[repeats.kept][repeats.observation], shuffled)


@pytest.mark.parametrize("faults", [0.0, 0.15])
@pytest.mark.parametrize("noise", [0.05, 0.1, 0.3])
@pytest.mark.parametrize(("doses", "count"), [(12, 4), (12, 2), (40, 4), (100, 2), (24, 30), (6, 3)])
def test_repeats_are_no_replicates_that_agree_by_rounding(doses, count, noise, faults):
    agree = 0
    for seed in range(10):
        X, y = replicates(doses, count, noise=noise, faults=faults, seed=seed)
        agree += y.size - np.unique(np.column_stack([X, y]), axis=0).shape[0]
        assert Repeats.of(X, y).count == 0
    assert agree > 0


@pytest.mark.parametrize("noise", [0.05, 0.1, 0.3])
def test_repeats_are_no_replicates_on_a_logarithmic_scale(noise):
    """Steps are uneven there, so that their least difference is smaller than most."""
    for seed in range(10):
        X, y = replicates(12, 4, noise=noise, seed=seed)
        assert Repeats.of(X, np.log(5.0 + y)).count == 0


def test_repeats_are_no_integer_inputs_that_meet_by_chance():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 8, (120, 2)).astype(float)
        assert Repeats.of(X, np.round(np.sin(X[:, 0]) + 0.1 * rng.standard_normal(120), 1)).count == 0


@pytest.mark.parametrize("count", [3, 4])
def test_repeats_are_no_exact_replicates_beside_an_outlier(count):
    """Of exact values and faults at the same inputs the former are the majority, and stay it."""
    for seed in range(10):
        X, y = replicates(40, count, step=0.0, noise=0.0, faults=0.15, seed=seed)
        assert Repeats.of(X, y).count == 0


def test_repeats_are_no_fill_values_beside_exact_replicates():
    """They agree with each other at many inputs, and exact values with themselves."""
    for seed in range(10):
        X, y = replicates(40, 5, step=0.0, noise=0.0, seed=seed)
        y[np.random.default_rng(seed).random(200) < 0.3] = -999.0
        assert Repeats.of(X, y).count == 0


def test_repeats_are_no_values_that_are_found_everywhere():
    """Zeros at night, three days of them at the same hours; a detection limit; a constant."""
    hour = np.repeat(np.arange(0.0, 24.0, 1.0 / 6.0), 3)
    sun = np.sin((hour - 9.0) * np.pi / 6.0)
    noise = 0.3 * np.random.default_rng(0).standard_normal(hour.size)
    y = np.where((sun > 0.2) & (hour > 9.0) & (hour < 15.0), 10.0 * sun + noise, 0.0)
    assert np.mean(y == 0.0) > 0.7
    assert Repeats.of(hour[:, None], y).count == 0
    X, y = replicates(40, 4, step=0.0, noise=0.3)
    assert Repeats.of(X, np.maximum(y, 0.5)).count == 0
    assert Repeats.of(X, np.full(160, 37.0)).count == 0


def test_repeats_are_no_value_that_stays():
    """A sensor that is stuck: the times differ."""
    y = np.where(np.arange(80) < 40, -0.01, np.sin(np.arange(80.0)))
    assert Repeats.of(np.arange(80.0)[:, None], y).count == 0


@pytest.mark.parametrize("step", [0.0, 0.1])
@pytest.mark.parametrize("times", [2, 3])
def test_repeats_of_whole_replicates_are_restored(times, step):
    """Those that agree by chance stay as many as they were."""
    X, y = replicates(12, 4, step=step)
    rows = np.tile(np.arange(48), times)
    repeats = Repeats.of(X[rows], y[rows])
    np.testing.assert_array_equal(np.flatnonzero(repeats.kept), np.arange(48))
    np.testing.assert_array_equal(X[repeats.observation], X[rows])
    np.testing.assert_array_equal(y[repeats.observation], y[rows])


@pytest.mark.parametrize("faults", [0.0, 0.15])
def test_repeats_of_some_replicates_are_found_among_exact_targets(faults):
    X, y = replicates(40, 4, step=0.0, faults=faults)
    rows = np.concatenate([np.arange(160), np.random.default_rng(0).permutation(160)[:60]])
    assert_restored(Repeats.of(X[rows], y[rows]), rows, 160)


def test_repeats_of_common_values_are_found_among_others():
    """What is no evidence by itself is a copy where others are."""
    X, y = readings(n=60)
    y[:20] = 0.0
    rows = np.concatenate([np.arange(60), np.arange(10, 50)])
    assert_restored(Repeats.of(X[rows], y[rows]), rows, 60)


def test_repeats_are_no_single_coincidence():
    X, y = readings(step=0.1)
    assert Repeats.of(X[[*range(N), 4]], y[[*range(N), 4]]).count == 0


def test_repeats_are_no_rows_that_differ_in_what_is_known():
    X, y = readings()
    rows = AGAIN["doubled"]
    known = np.arange(rows.size) >= N
    assert Repeats.of(X[rows], y[rows], known.astype(float)).count == 0
