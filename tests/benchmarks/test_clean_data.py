"""The data of ``benchmarks/clean_data.py`` are what they say."""

import zlib

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.clean_data import KINDS, TEST_ROWS, VARIANTS, Variant, random_walk

TITLES = [variant.title for variant in VARIANTS]


# Their truth is a mean, an interval's middle, or shared by neighbours, not the median of independent noise.
NOT_MEDIANS = ("Poisson", "rounded", "AR(1) around a rhythm")


def drawn(variant, n):
    """One long data set: function and observations at training and test inputs."""
    rng = np.random.default_rng([zlib.crc32(variant.title.encode()), 1])
    return variant.draw(rng, rng.random((n, variant.d)))


def test_variants_have_titles_of_their_own():
    assert len(set(TITLES)) == len(TITLES)
    assert {variant.d for variant in VARIANTS} >= {1, 2, 3, 5, 6, 7, 8, 10}


@pytest.mark.parametrize("n", [20, 300])
@pytest.mark.parametrize("variant", VARIANTS, ids=TITLES)
def test_data_are_finite_and_of_the_given_shape(variant, n):
    data = variant.data(n, trial=0)
    assert data.X.shape == (n, variant.d)
    assert data.y.shape == (n,)
    assert data.X_test.shape[1] == variant.d
    assert data.truth.shape == data.y_test.shape == (len(data.X_test),)
    for each in vars(data).values():
        assert np.isfinite(each).all()
    assert np.ptp(data.y) > 0.0


@pytest.mark.parametrize("variant", VARIANTS, ids=TITLES)
def test_data_are_reproducible_and_differ_between_trials_and_sizes(variant):
    first, again = variant.data(30, trial=1), variant.data(30, trial=1)
    for one, other in zip(vars(first).values(), vars(again).values(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(first.y, variant.data(30, trial=2).y)
    assert not np.array_equal(first.X_test, variant.data(60, trial=1).X_test)


@pytest.mark.parametrize(
    "variant", [v for v in VARIANTS if v.kind not in NOT_MEDIANS], ids=lambda variant: variant.title
)
def test_data_lie_half_on_either_side_of_the_truth(variant):
    f, y = drawn(variant, 4000)
    noisy = y != f
    if noisy.any():
        # Less than one in 10^6 for each side.
        low, high = binom.ppf([1e-6, 1.0 - 1e-6], noisy.sum(), 0.5)
        assert low <= np.sum(y[noisy] > f[noisy]) <= high
    else:
        assert "free of noise" in variant.name or variant.title == "random walk: exact"


def test_counts_have_the_truth_as_their_mean():
    for variant in (v for v in VARIANTS if v.kind == "Poisson"):
        f, y = drawn(variant, 4000)
        assert np.array_equal(y, np.round(y))
        # The variance of a count is its mean.
        assert abs(np.sum(y - f)) < 5.0 * np.sqrt(f.sum())


def test_rounded_observations_without_noise_are_within_half_a_step_of_the_truth():
    (variant,) = (v for v in VARIANTS if v.title == "rounded: no noise")
    f, y = drawn(variant, 4000)
    assert np.abs(y - f).max() <= 0.5


def test_random_walk_is_one_path_at_training_and_test_inputs():
    walk = Variant("random walk", "test", 1, lambda rng, X: random_walk(rng, X, noise=0.0))
    data = walk.data(300, trial=0)
    steps = np.diff(data.y)
    assert 0.7 < steps.std() < 1.3
    # Half way between two observations a Brownian bridge has a standard deviation of a half at most.
    between = np.interp(data.X_test[:, 0], data.X[:, 0], data.y)
    assert 0.2 < (data.truth - between).std() < 0.5


def test_noise_around_a_rhythm_is_autocorrelated():
    for variant in (v for v in VARIANTS if v.kind == "AR(1) around a rhythm"):
        asked = float(variant.name.rpartition(" ")[2])
        X = np.vstack([np.linspace(0.0, 1.0, 3000)[:, None], np.full((TEST_ROWS, 1), 0.5)])
        f, y = variant.draw(np.random.default_rng(0), X)
        noise = (y - f)[:3000]
        assert np.corrcoef(noise[:-1], noise[1:])[0, 1] == pytest.approx(asked, abs=0.06)
        assert noise.std() == pytest.approx(0.3, rel=0.15)


def test_kinds_are_those_of_all_variants():
    assert {variant.kind for variant in VARIANTS} == set(KINDS)
