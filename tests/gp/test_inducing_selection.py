"""Inducing inputs lie far from each other, in any order and unit."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from sturdygp.estimators.inducing import automatic_inputs
from sturdygp.gp.inducing_selection import chosen_inputs
from sturdygp.inference.problem import default_kernel
from sturdygp.kernels import SquaredExponential


def test_chosen_inputs_are_far_from_each_other_in_any_order():
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(300, 2))
    chosen = chosen_inputs(SquaredExponential((0.3, 0.3)), X, 10)
    again = chosen_inputs(SquaredExponential((0.3, 0.3)), X[rng.permutation(300)], 10)
    np.testing.assert_array_equal(chosen, again)
    assert pdist(chosen).min() > 3 * pdist(X[:10]).min()
    # Repeated inputs tell nothing new.
    assert len(chosen_inputs(SquaredExponential((0.3, 0.3)), np.repeat(X[:4], 5, axis=0), 10)) == 4


@pytest.mark.parametrize("unit", [0.7, 3.0, 1000.0])
def test_automatic_inputs_do_not_depend_on_units(unit):
    """A symmetric grid has many rows of which others tell as much."""
    x = np.linspace(-1.0, 1.0, 9)
    X = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    chosen = automatic_inputs(default_kernel(X), X, 15)
    again = automatic_inputs(default_kernel(unit * X), unit * X, 15)
    np.testing.assert_allclose(again, unit * chosen, rtol=1e-12, atol=1e-12)
