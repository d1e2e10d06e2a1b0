"""Default kernels, and flat regions of the ELBO that are no optima."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from sturdygp import StandardGPRegressor
from sturdygp.datasets import make_synthetic
from sturdygp.inference.problem import Problem, default_kernel, with_fine_part
from sturdygp.inference.variational import LatentState, VariationalObjective
from sturdygp.likelihoods.gaussian import GaussianModel


def gradient_over_goal(variance, length_scale, noise):
    """Return the gradient of an evidence, and the same relative to what it has to fall to."""
    rng = np.random.default_rng(0)
    X = np.linspace(0.0, 10.0, 40)[:, None]
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=40)
    kernel = replace(default_kernel(X), length_scale=(length_scale,), variance=variance)
    problem = Problem(X, y, kernel, rng)
    objective = VariationalObjective(GaussianModel(y, 0.0, 1.0), problem, problem.noise_box)
    found = objective.evaluate(kernel, np.array([np.log(noise)]), LatentState(None))
    goal = np.minimum(found.flatness.goal, 1.0)
    return found.gradient, found.gradient / goal


@pytest.mark.parametrize(
    ("which", "near", "far"),
    [
        (0, (1e-4, 1.0, 1.0), (1e-7, 1.0, 1.0)),
        (1, (1e-4, 1.0, 1.0), (1e-7, 1.0, 1.0)),
        (2, (1.0, 0.2, 1e-4), (1.0, 0.2, 1e-6)),
    ],
    ids=["variance, of little", "length scale, of little", "noise, of little"],
)
def test_flatness_tells_a_flat_region_from_an_optimum(which, near, far):
    (g, relative), (h, same) = gradient_over_goal(*near), gradient_over_goal(*far)
    assert abs(h[which]) < 2e-2 * abs(g[which])
    assert same[which] == pytest.approx(relative[which], rel=2e-2)


def test_flatness_tells_length_scales_that_reach_no_neighbour():
    rng = np.random.default_rng(1)
    X = np.arange(40.0)[:, None]
    y = rng.normal(size=40).cumsum()
    kernel, goals, gradients = default_kernel(X), [], []
    problem = Problem(X, y, kernel, rng)
    objective = VariationalObjective(GaussianModel(y, 0.0, 1.0), problem, problem.noise_box)
    for correlation in (1e-2, 1e-4):
        # exp(-1 / (2 l^2)) is the correlation of neighbours.
        short = replace(
            kernel, length_scale=((-2.0 * np.log(correlation)) ** -0.5,), length_scale_bounds=(0.1, 9.0)
        )
        found = objective.evaluate(short, np.zeros(1), LatentState(None))
        goals.append(found.flatness.goal[1])
        gradients.append(found.gradient[1])
    assert goals[1] == pytest.approx(1e-2 * goals[0], rel=0.05)
    # Up to the logarithm of the correlation, derivatives by the length scale are in proportion to it.
    assert gradients[1] / goals[1] == pytest.approx(2.0 * gradients[0] / goals[0], rel=0.2)


def test_flatness_is_none_where_the_function_is_well_determined():
    data = make_synthetic(100, 1, rate=0.0, seed=0)
    model = StandardGPRegressor().fit(data.X, data.y[:, 0])
    fit, X = model._outputs[0].fit, data.X
    posterior = fit.posterior
    problem = Problem(X, posterior.sites.target, posterior.kernel, np.random.default_rng(0))
    found = problem.flatness(posterior.kernel, posterior.sites.precision, 1, posterior.marginals().variance)
    assert np.all(found.goal >= 1.0)
    assert np.all(found.strength >= 1.0)


@pytest.mark.parametrize("unit", [np.array([0.7, 3.0]), np.array([1e3, 1e-3])])
def test_default_kernel_does_not_depend_on_units(unit):
    X = make_synthetic(50, seed=3).X
    a, b = default_kernel(X), default_kernel(unit * X)
    np.testing.assert_allclose(b.length_scale, unit * np.array(a.length_scale), rtol=1e-12)
    np.testing.assert_allclose(b.bounds[1:], a.bounds[1:] + np.log(unit)[:, None], rtol=1e-12)
    np.testing.assert_allclose(b(unit * X), a(X), atol=1e-12)


def test_default_kernel_of_one_input_is_the_papers():
    X = np.random.default_rng(0).uniform(0.0, 7.0, (40, 1))
    assert default_kernel(X).length_scale == pytest.approx((0.2 * np.median(pdist(X)),))


def test_with_fine_part_begins_short_within_bounds():
    X = np.column_stack([np.linspace(0.0, 10.0, 30), np.full(30, 2.0)])
    kernel = default_kernel(X)
    both = with_fine_part(kernel, X)
    assert both.parts[0] is kernel
    assert both.parts[1].length_scale_bounds == kernel.length_scale_bounds
    assert both.parts[1].length_scale[0] == pytest.approx(0.3 * X[:, 0].std())
    # An input that does not vary has no scale; its shortest does no harm.
    assert both.parts[1].length_scale[1] == kernel.length_scale_bounds[1][0]
