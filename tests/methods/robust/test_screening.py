"""Screening of initialisations by few features."""

import numpy as np
import pytest

from sturdygp.datasets import make_synthetic
from sturdygp.gp import Sites
from sturdygp.kernels import SquaredExponential
from sturdygp.likelihoods.contamination import ContaminationModel, Shape
from sturdygp.likelihoods.contamination_prior import ContaminationPrior
from sturdygp.methods.robust.screening import LEVELS, InitialState, Screening, distinct

SHAPES = [Shape.normal(), Shape.flat(5)]


IDS = [shape.name for shape in SHAPES]


@pytest.fixture(params=SHAPES, ids=IDS)
def shape(request):
    return request.param


def test_screening_raises_elbo(shape):
    data = make_synthetic(60, rate=0.5, seed=4)
    y = (data.y[:, 0] - np.median(data.y[:, 0])) / 2.0
    model = ContaminationModel(y, shape, ContaminationPrior())
    screening = Screening.of(SquaredExponential((2.0, 2.0)), data.X, 1.5)
    start = InitialState.stacked([level.initial_state(model, 0.5) for level in LEVELS])
    values = [
        [screened.value for screened in screening.improved(model, start, iterations)]
        for iterations in range(12)
    ]
    assert np.all(np.diff(values, axis=0) > -1e-8)


def test_screening_of_stacked_states_equals_each_alone(shape):
    data = make_synthetic(30, rate=0.5, seed=4)
    model = ContaminationModel(data.y[:, 0], shape, ContaminationPrior())
    screening = Screening.of(SquaredExponential((2.0, 2.0)), data.X, 1.5)
    starts = [level.initial_state(model, 0.5) for level in LEVELS[:4]]
    together = screening.improved(model, InitialState.stacked(starts), 4)
    for start, screened in zip(starts, together, strict=True):
        (alone,) = screening.improved(model, InitialState.stacked([start]), 4)
        np.testing.assert_allclose(screened.inlier, alone.inlier, rtol=1e-9)
        assert screened.value == pytest.approx(alone.value, rel=1e-9)


def test_distinct_keeps_one_of_equal_judgements():
    data = make_synthetic(60, rate=0.3, seed=4)
    model = ContaminationModel(data.y[:, 0], SHAPES[0], ContaminationPrior())
    screening = Screening.of(SquaredExponential((2.0, 2.0)), data.X, 1.5)
    (screened,) = screening.improved(model, InitialState.stacked([LEVELS[0].initial_state(model, 0.5)]), 3)
    (other,) = screening.improved(model, InitialState.stacked([LEVELS[3].initial_state(model, 0.5)]), 0)
    kept = distinct([other, screened, screened])
    assert kept == sorted([screened, other], key=lambda each: -each.value)
    assert distinct([other, screened], margin=0.0) == kept[:1]


def test_screening_maximises_elbo_in_the_amplitude():
    """The ELBO is that of the features plus the floor; nothing but the factor moves in it."""
    data = make_synthetic(60, rate=0.3, seed=4)
    X, y = data.X, data.y[:, 0] / 4.0
    kernel = SquaredExponential((2.0, 2.0), 0.8)
    screening = Screening.of(kernel, X, 1.5)
    sites = Sites.gaussian(y, 0.1)
    floor = 1.5**2 / 0.8

    def elbo_at(factor: float) -> float:
        posterior = screening.prior.condition(sites, np.array(factor))
        return float(posterior.log_evidence) - 0.5 * floor * 0.1 / factor

    factor = 1.0
    for _ in range(500):
        posterior = screening.prior.condition(sites, np.array(factor))
        factor = float(posterior.amplitude) + screening.floor * 0.1 / screening.prior.rank
    assert elbo_at(factor) > max(elbo_at(0.98 * factor), elbo_at(1.02 * factor))
