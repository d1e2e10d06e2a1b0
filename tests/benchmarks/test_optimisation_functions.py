"""Test functions of ``benchmarks/`` against known minima and laws of physics."""

import numpy as np
import pytest

from benchmarks import optimisation_functions as functions


def test_functions_have_their_known_minima():
    at = {
        functions.branin: ([-np.pi, 12.275], 0.397887),
        functions.rosenbrock: ([1.0] * 5, 0.0),
        functions.ackley: ([0.0] * 5, 0.0),
        functions.michalewicz: ([2.20290552, 1.57079633], -1.801303),
        functions.griewank: ([0.0] * 10, 0.0),
    }
    rng = np.random.default_rng(0)
    for function, (minimum, value) in at.items():
        X = np.array([minimum])
        assert function(X)[0] == pytest.approx(value, abs=1e-6)
        assert (function(X + 0.05 * rng.standard_normal((100, X.shape[1]))) >= value - 1e-6).all()


def test_borehole_without_friction_has_the_flow_of_two_layers_in_series():
    # L = 0 leaves the two aquifers: 2 pi dH / (log(r / r_w) (1 / T_u + 1 / T_l)).
    X = np.array([[0.1, 3000.0, 80_000.0, 1050.0, 90.0, 760.0, 0.0, 10_000.0]])
    expected = 2.0 * np.pi * 290.0 / (np.log(30_000.0) * (1.0 / 80_000.0 + 1.0 / 90.0))
    assert functions.borehole(X)[0] == pytest.approx(expected)
    # A long one lets through in proportion to its section, conductivity and gradient: Darcy's law.
    X[0, 6] = 1e12
    assert functions.borehole(X)[0] == pytest.approx(np.pi * 0.1**2 * 10_000.0 * 290.0 / 1e12)


def test_piston_without_gas_is_a_mass_on_a_spring():
    # With hardly any initial volume the gas pushes nothing, and the period is 2 pi sqrt(M / k) or less.
    rng = np.random.default_rng(0)
    low, high = np.array(functions.PISTON.bounds).T
    X = low + rng.random((200, 7)) * (high - low)
    assert (functions.piston(X) < 2.0 * np.pi * np.sqrt(X[:, 0] / X[:, 3])).all()
    # Four times the mass at the same forces doubles the period: its weight is taken off the pressure.
    heavier = X.copy()
    heavier[:, 0] *= 4.0
    heavier[:, 4] -= 19.62 * 3.0 * X[:, 0] / X[:, 1]
    heavier[:, 5] = X[:, 5] * X[:, 4] / heavier[:, 4]
    np.testing.assert_allclose(functions.piston(heavier), 2.0 * functions.piston(X))


def test_circuit_with_a_large_gain_follows_its_divider():
    X = np.array([[100.0, 50.0, 1.0, 2.0, 0.7, 1e12]])
    # The voltage of the divider and of two junctions.
    assert functions.otl_circuit(X)[0] == pytest.approx(12.0 * 50.0 / 150.0 + 0.74 + 0.74 * 1.0 / 2.0)
    X[0, 5] = 1e-12
    assert functions.otl_circuit(X)[0] == pytest.approx(11.35)
