"""Contaminations: what each of them changes."""

import numpy as np
import pytest

from sturdygp.datasets import (
    AddedOutliers,
    ErrorBurst,
    FocusedOutliers,
    NormalOutliers,
    OneSidedShifts,
    ReplacingOutliers,
    StuckSensor,
    SymmetricShifts,
    UniformOutliers,
    add_outliers,
)

N = 200


DISTRIBUTIONS = [UniformOutliers(5.0, 10.0), NormalOutliers(20.0, 4.0)]


EXACT = [SymmetricShifts, OneSidedShifts, FocusedOutliers, StuckSensor, ErrorBurst]


EVERY = {
    **{
        f"{kind.__name__} {type(outliers).__name__}": lambda rate, kind=kind, outliers=outliers: kind(
            outliers, rate
        )
        for kind in (AddedOutliers, ReplacingOutliers)
        for outliers in DISTRIBUTIONS
    },
    **{kind.__name__: kind for kind in EXACT},
}


every = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)


def clean_data(*outputs, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-3.0, 3.0, (N, 2)), rng.standard_normal((N, *outputs))


def spoil(contamination, X, y, seed=1):
    return contamination.contaminate(X, y, np.random.default_rng(seed))


@every
@pytest.mark.parametrize("outputs", [(), (1,), (3,)])
@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_contaminate_changes_observations_exactly_where_the_mask_is_true(make, outputs, rate):
    X, y = clean_data(*outputs)
    before = X.copy(), y.copy()
    spoilt = spoil(make(rate), X, y)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])
    assert spoilt.y.shape == spoilt.mask.shape == y.shape
    assert spoilt.mask.dtype == bool
    np.testing.assert_array_equal(spoilt.y != y, spoilt.mask)


@every
def test_contaminate_moves_inputs_of_focused_outliers_alone(make):
    X, y = clean_data(3)
    spoilt = spoil(make(0.3), X, y)
    moved = (spoilt.X != X).any(axis=1)
    expected = spoilt.mask[:, 0] if isinstance(make(0.3), FocusedOutliers) else np.zeros(N, dtype=bool)
    np.testing.assert_array_equal(moved, expected)


@every
def test_contaminate_is_reproducible_by_its_seed(make):
    X, y = clean_data(2)
    first, again, other = (spoil(make(0.3), X, y, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    np.testing.assert_array_equal(first.mask, again.mask)
    assert not np.array_equal(first.y, other.y)


@pytest.mark.parametrize("kind", EXACT)
@pytest.mark.parametrize(("rate", "count"), [(0.1, 20), (0.145, 29), (0.299, 59), (0.003, 0), (1.0, N)])
def test_contaminate_has_an_exact_rate_in_each_output(kind, rate, count):
    X, y = clean_data(3)
    expected = min(count, N - 1) if kind is StuckSensor else count
    np.testing.assert_array_equal(spoil(kind(rate), X, y).mask.sum(axis=0), expected)


@pytest.mark.parametrize("kind", [AddedOutliers, ReplacingOutliers])
def test_contaminate_with_a_rate_is_independent_for_each_observation(kind):
    X, y = clean_data(50)
    mask = spoil(kind(UniformOutliers(5.0, 10.0), 0.3), X, y).mask
    assert abs(mask.mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / mask.size)


@pytest.mark.parametrize(
    "make", [make for name, make in EVERY.items() if name not in {"StuckSensor", "ErrorBurst"}]
)
def test_contaminate_with_a_higher_rate_adds_to_the_same_outliers(make):
    X, y = clean_data(2)
    few, many = spoil(make(0.2), X, y), spoil(make(0.5), X, y)
    assert (many.mask | ~few.mask).all()
    np.testing.assert_array_equal(few.y[few.mask], many.y[few.mask])


@pytest.mark.parametrize("outliers", DISTRIBUTIONS)
def test_added_outliers_are_those_of_the_function(outliers):
    X, y = clean_data(2)
    spoilt = spoil(AddedOutliers(outliers, 0.3), X, y)
    expected, mask = add_outliers(y, outliers, rate=0.3, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(spoilt.y, expected)
    np.testing.assert_array_equal(spoilt.mask, mask)


def test_replacing_outliers_forget_the_observation():
    X, y = clean_data()
    replaced = spoil(ReplacingOutliers(UniformOutliers(5.0, 10.0), 0.3), X, y)
    elsewhere = spoil(ReplacingOutliers(UniformOutliers(5.0, 10.0), 0.3), X, y + 100.0)
    np.testing.assert_array_equal(replaced.y[replaced.mask], elsewhere.y[replaced.mask])
    assert ((replaced.y[replaced.mask] >= 5.0) & (replaced.y[replaced.mask] <= 10.0)).all()
    added = spoil(AddedOutliers(UniformOutliers(5.0, 10.0), 0.3), X, y)
    np.testing.assert_array_equal(added.mask, replaced.mask)
    np.testing.assert_allclose((added.y - y)[added.mask], replaced.y[added.mask])


@pytest.mark.parametrize("outliers", DISTRIBUTIONS)
def test_outlier_distributions_have_the_stated_moments(outliers):
    draws = outliers.draw(np.random.default_rng(0), (20_000,))
    assert abs(draws.mean() - outliers.mean) < 0.05
    assert abs(draws.var() / outliers.variance - 1.0) < 0.05


def sizes_in_deviations(spoilt, y):
    return ((spoilt.y - y) / y.std(axis=0))[spoilt.mask]


@pytest.mark.parametrize("kind", [SymmetricShifts, OneSidedShifts, ErrorBurst])
def test_shifts_are_three_to_nine_deviations_of_each_output(kind):
    X, y = clean_data(3)
    sizes = np.abs(sizes_in_deviations(spoil(kind(0.5), X, y * [0.01, 1.0, 100.0]), y * [0.01, 1.0, 100.0]))
    assert sizes.min() >= 3.0 - 1e-9
    assert sizes.max() <= 9.0 + 1e-9
    assert abs(sizes.mean() - 6.0) < 0.5


@pytest.mark.parametrize("kind", [SymmetricShifts, ErrorBurst])
def test_symmetric_shifts_go_both_ways(kind):
    X, y = clean_data()
    sizes = sizes_in_deviations(spoil(kind(0.5), X, y), y)
    assert 0.3 < (sizes > 0).mean() < 0.7


def test_one_sided_shifts_go_one_way_that_varies():
    X, y = clean_data()
    sides = set()
    for seed in range(20):
        sign = np.sign(sizes_in_deviations(spoil(OneSidedShifts(0.2), X, y, seed), y))
        assert (sign == sign[0]).all()
        sides.add(sign[0])
    assert sides == {-1.0, 1.0}


def test_focused_outliers_lie_in_their_box():
    X, y = clean_data()
    spoilt = spoil(FocusedOutliers(0.2), X, y)
    middle = [np.argsort(X[:, j], kind="stable")[N // 2] for j in range(2)]
    level = np.median(y[middle]) - 3.0 * y.std()
    for j in range(2):
        half_side = 0.5 * 0.1 * 2 * np.median(np.abs(X[:, j] - np.median(X[:, j])))
        distance = np.abs(spoilt.X[spoilt.mask, j] - X[middle[j], j])
        assert distance.max() <= half_side + 1e-12
        assert distance.max() > 0.8 * half_side
    depth = level - spoilt.y[spoilt.mask]
    deviation = 0.1 * np.median(np.abs(y - np.median(y)))
    assert depth.min() >= -1e-12
    assert 0.8 * deviation < depth.max() <= deviation + 1e-12


def test_focused_outliers_move_whole_points():
    X, y = clean_data(3)
    mask = spoil(FocusedOutliers(0.2), X, y).mask
    assert (mask == mask[:, :1]).all()


@pytest.mark.parametrize("kind", [StuckSensor, ErrorBurst])
@pytest.mark.parametrize("seed", range(10))
def test_runs_are_consecutive_and_lie_anywhere(kind, seed):
    X, y = clean_data(2)
    mask = spoil(kind(0.15), X, y, seed).mask
    for column in mask.T:
        assert np.ptp(np.flatnonzero(column)) == 29


def test_runs_reach_both_ends():
    X, y = clean_data()
    starts = {int(spoil(ErrorBurst(0.98), X, y, seed).mask.argmax()) for seed in range(60)}
    assert starts == {0, 1, 2, 3, 4}
    starts = {int(spoil(StuckSensor(0.98), X, y, seed).mask.argmax()) for seed in range(60)}
    assert starts == {1, 2, 3, 4}


def test_stuck_sensor_repeats_the_last_good_observation():
    X, y = clean_data(2)
    spoilt = spoil(StuckSensor(0.2), X, y)
    for before, after, mask in zip(y.T, spoilt.y.T, spoilt.mask.T, strict=True):
        assert (after[mask] == before[mask.argmax() - 1]).all()


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
@every
def test_contamination_refuses_a_rate_that_is_no_probability(make, rate):
    with pytest.raises(ValueError, match="rate must be a probability, got"):
        make(rate)


@every
def test_contaminate_refuses_bad_data(make):
    X, y = clean_data()
    with pytest.raises(ValueError, match=r"got \(200, 2\) and \(199,\)"):
        spoil(make(0.1), X, y[1:])
    with pytest.raises(ValueError, match=r"X must have shape"):
        spoil(make(0.1), X[:, 0], y)
    with pytest.raises(ValueError, match="1 observations in y are not finite"):
        spoil(make(0.1), X, np.where(np.arange(N) == 3, np.nan, y))


@pytest.mark.parametrize("kind", [SymmetricShifts, OneSidedShifts, ErrorBurst])
@pytest.mark.parametrize(("low", "high"), [(0.0, 9.0), (9.0, 3.0), (3.0, float("inf"))])
def test_shifts_refuse_sizes_that_are_no_range(kind, low, high):
    with pytest.raises(ValueError, match="0 < low <= high"):
        kind(0.1, low, high)


def test_focused_outliers_refuse_bad_sizes():
    with pytest.raises(ValueError, match="depth must be positive"):
        FocusedOutliers(depth=0.0)


@pytest.mark.parametrize("kind", [SymmetricShifts, OneSidedShifts, ErrorBurst, FocusedOutliers])
def test_contaminate_refuses_constant_observations_where_sizes_are_deviations(kind):
    with pytest.raises(ValueError, match="constant"):
        spoil(kind(0.1), clean_data()[0], np.ones(N))
