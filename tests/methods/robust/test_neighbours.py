"""Neighbours, and how outliers cluster among them."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from sturdygp.kernels import SquaredExponential
from sturdygp.methods.robust.neighbours import around, clustering, nearest


def test_clustering_is_a_standard_score_under_independence():
    """Mean 0 and variance 1 over all draws, whatever the nearness."""
    rng = np.random.default_rng(5)
    x = rng.uniform(size=(30, 2))
    near = SquaredExponential((0.3, 0.3))(x, x)
    scores = [clustering(near.copy(), rng.standard_normal(30)) for _ in range(4000)]
    assert abs(np.mean(scores)) < 0.06
    assert abs(np.std(scores) - 1.0) < 0.06


def test_clustering_is_zero_for_equal_values_or_distances():
    values = np.arange(5.0)
    assert clustering(np.eye(5), np.ones(5)) == 0.0
    assert clustering(np.ones((5, 5)), values) == 0.0
    assert clustering(-np.ones((5, 5)), values) == 0.0


def test_around_gives_the_nearest_other_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    X[5] = X[6] = X[7]
    distance = cdist(X / X.std(axis=0), X / X.std(axis=0))
    np.fill_diagonal(distance, np.inf)
    found = around(X, 3)
    expected = np.sort(distance, axis=1)[:, :3]
    np.testing.assert_allclose(np.take_along_axis(distance, found, axis=1), expected)
    np.testing.assert_allclose(distance[np.arange(40), nearest(X)], expected[:, 0])


def test_around_accepts_equal_rows():
    assert (around(np.zeros((6, 1)), 4) != np.arange(6)[:, None]).all()


@pytest.mark.parametrize("inputs", [1, 2])
def test_around_on_a_grid_does_not_depend_on_row_order(inputs):
    X = np.stack(np.meshgrid(*[np.arange(6.0)] * inputs), axis=-1).reshape(-1, inputs)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(X[order][around(X[order], 2)], X[around(X, 2)][order])
