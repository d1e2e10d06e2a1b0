"""Climbs that begin with a sample of the readings."""

import numpy as np
import pytest

from sturdygp.datasets import make_synthetic
from sturdygp.inference import variational as stages
from sturdygp.inference.problem import Problem, default_kernel
from sturdygp.methods.asor import Asor
from sturdygp.methods.mixture import Mixture
from sturdygp.methods.student_t import StudentT
from sturdygp.status import Status

METHODS = [Asor(), Mixture(), StudentT(inference="vb")]


@pytest.fixture(scope="module")
def problem():
    data = make_synthetic(450, rate=0.3, seed=2)
    y = data.y[:, 0]
    return Problem(data.X, (y - np.median(y)) / 2.0, default_kernel(data.X), np.random.default_rng(0))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_a_sample_leads_to_the_same_optimum_with_fewer_factorisations(problem, method, monkeypatch):
    staged = method.fit(problem)
    monkeypatch.setattr(stages, "SMALLEST_SAMPLE", problem.y.size)
    direct = method.fit(problem)
    assert staged.status is direct.status is Status.CONVERGED
    assert staged.bound == pytest.approx(direct.bound, abs=1e-3)
    assert staged.n_factorizations < direct.n_factorizations


def test_the_sample_does_not_depend_on_the_order_of_rows(problem):
    order = np.random.default_rng(1).permutation(problem.y.size)
    shuffled = Problem(problem.X[order], problem.y[order], problem.kernel, problem.rng)
    few, same = stages.sampled(problem, 50), stages.sampled(shuffled, 50)
    np.testing.assert_array_equal(few.X, same.X)
    np.testing.assert_array_equal(few.y, same.y)
    assert stages.sampled(problem, 450) is problem


def test_only_the_last_stage_reports_its_progress(problem):
    seen = []
    told = Problem(problem.X, problem.y, problem.kernel, problem.rng, seen.append)
    fit = Asor().fit(told)
    assert tuple(step.value for step in seen) == fit.trace[-len(seen) :]
