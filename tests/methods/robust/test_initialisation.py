"""Initialisations from neighbours and of a second kernel part."""

from math import exp, log

import numpy as np
import pytest
from references.problems import GRID, peak

from sturdygp.inference.problem import Problem, default_kernel, lengthened, with_fine_part
from sturdygp.inference.variational import LatentState
from sturdygp.likelihoods.contamination import ContaminationModel, Shape
from sturdygp.likelihoods.contamination_prior import ContaminationPrior
from sturdygp.methods.robust.initialisation import (
    around_neighbours,
    median_of_neighbours,
    second_part_initialisations,
)
from sturdygp.methods.robust.search import SHORT_LENGTH
from sturdygp.optimise import Optimum
from sturdygp.status import Status


@pytest.mark.parametrize("inputs", [1, 4])
def test_second_part_initialisations_take_half_of_the_noise(inputs):
    X = np.random.default_rng(0).normal(size=(30, inputs))
    kernel = default_kernel(X)
    both = with_fine_part(kernel, X)
    x = np.concatenate([kernel.theta, [log(0.04), 0.0, 0.0]])
    found = Optimum(x, 0.0, np.zeros_like(x), LatentState(None), Status.CONVERGED, 1, 1, (0.0,))
    starts = second_part_initialisations(both, found)
    for start, longer in zip(starts, (1.0, 2.0), strict=False):
        coarse, fine = start.kernel.parts
        assert coarse.theta == pytest.approx(kernel.theta)
        assert (fine.variance, exp(start.parameters[0])) == pytest.approx((0.02, 0.02))
        assert fine.length_scale == pytest.approx(longer * np.array(both.parts[1].length_scale))
    # One input has one length.
    assert len(starts) == min(inputs, 2)


def test_median_of_neighbours_leaves_out_the_observation():
    x = np.arange(9.0)[:, None]
    y = np.where(np.arange(9) == 4, 100.0, x[:, 0])
    assert median_of_neighbours(x, y)[4] == pytest.approx(4.0)
    assert median_of_neighbours(x[:2], y[:2]).tolist() == [1.0, 0.0]


def test_around_neighbours_keeps_the_top_of_a_peak():
    _, y = peak(0, 0.1)
    model = ContaminationModel((y - np.median(y)) / 0.4, Shape.normal(), ContaminationPrior())
    kernel = lengthened(default_kernel(GRID[:, None]), SHORT_LENGTH)
    problem = Problem(GRID[:, None], model.y, kernel, np.random.default_rng(0))
    start = around_neighbours(problem, model, kernel)
    assert (start.latent.responsibility[0] > 0.5).mean() > 0.9
    assert start.latent.responsibility[0, np.argmax(y)] > 0.5
    assert start.kernel.variance > kernel.variance


def test_around_neighbours_is_none_for_few_or_exact_observations():
    for y in (np.arange(5.0), np.zeros(30), np.arange(30.0)):
        X = np.arange(float(y.size))[:, None]
        model, kernel = ContaminationModel(y, Shape.normal(), ContaminationPrior()), default_kernel(X)
        assert around_neighbours(Problem(X, y, kernel, np.random.default_rng(0)), model, kernel) is None
