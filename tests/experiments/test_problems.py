"""The data of a task."""

from dataclasses import replace

import numpy as np
import pytest
from references.records import TASK

from sturdygp.datasets import make_synthetic
from sturdygp.experiments import NOISE, Fault, Task
from sturdygp.experiments.problems import N_TEST, draw


def test_draw_with_a_higher_rate_contaminates_more_of_the_same_entries():
    clean, some, more = (draw(replace(TASK, rate=rate)) for rate in (0.0, 0.3, 0.6))
    assert not clean.mask.any()
    assert np.all(more.mask[some.mask])
    assert more.mask.sum() > some.mask.sum()
    np.testing.assert_array_equal(some.y[some.mask], more.y[some.mask])
    np.testing.assert_array_equal(more.y[~more.mask], clean.y[~more.mask])


def test_draw_by_two_conventions_differs_in_the_size_of_the_same_noise():
    text, std = (draw(replace(TASK, convention=each)).clean for each in ("text", "std"))
    assert (NOISE["text"].true, NOISE["text"].initial) == (0.25, 0.5)
    assert (NOISE["std"].true, NOISE["std"].initial) == (0.0625, 0.25)
    np.testing.assert_array_equal(text.function, std.function)
    function = make_synthetic(20, N_TEST, noise_variance=0.0, seed=TASK.data_seed).f
    np.testing.assert_allclose(text.y - function, 2.0 * (std.y - function), atol=1e-12)


@pytest.mark.parametrize("fault", [Fault(), Fault("symmetric", (3, 9)), Fault("focused", (3, 0.1))])
def test_draw_splits_data_of_the_field_nine_to_one(fault):
    task = Task(suite="field", dataset="gp-sample", method="standard", trial=0, fault=fault, rate=0.1)
    data = draw(task)
    assert data.y.shape == (270,)
    assert data.clean.truth.shape == (30,)
    assert data.mask.sum() == (0 if fault.kind == "none" else 27)
    assert data.truth_is_noisy
