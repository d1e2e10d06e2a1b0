"""The settings of compared methods."""

from dataclasses import replace

import numpy as np
import pytest
from references.records import TASK
from scipy.spatial.distance import pdist

from sturdygp import OracleGPRegressor
from sturdygp.experiments import METHODS
from sturdygp.experiments.methods import configured, outlier_moments, published_kernel
from sturdygp.experiments.problems import draw


def test_published_kernel_begins_with_one_length_scale_for_all_inputs():
    X = np.random.default_rng(0).normal(size=(40, 3)) * np.array([0.8, 1.0, 1.3])
    assert published_kernel(X, (1e-3, 100.0)).length_scale == pytest.approx((0.2 * np.median(pdist(X)),) * 3)


def test_configured_oracles_know_the_moments_of_the_paper_and_better_ones():
    task = replace(TASK, method="oracle", rate=0.3, convention="std")
    data = draw(task)
    assert outlier_moments("second moment", data) == (pytest.approx(100 / 12 + 25), 0.0)
    assert outlier_moments("mean and variance", data) == (pytest.approx(100 / 12), 5.0)
    model = configured(task, data)
    assert isinstance(model, OracleGPRegressor)
    assert (model.noise, model.init_noise_variance) == ("fixed", 0.0625)
    assert configured(replace(task, method="oracle-centred"), data).noise == "learn"


def test_configured_as_published_has_its_settings_and_boxes():
    data = draw(TASK)
    published = {
        name: configured(replace(TASK, method=name, baselines="as-published"), data) for name in METHODS
    }
    assert (published["standard"].noise, published["standard"].init_noise_variance) == ("fixed", 0.5)
    assert (published["rcgp"].epsilon, published["rcgp"].shift_sign, published["rcgp"].centre) == (
        0.05,
        -1,
        "mean",
    )
    assert (published["student-t"].inference, published["student-t"].dof) == ("vb", 4.0)
    span = np.ptp(data.X, axis=0)
    for name, box in (("asor", (0.02, 5.0)), ("mixture", (0.02, 5.0)), ("rcgp", (1e-3, 100.0))):
        np.testing.assert_allclose(published[name].kernel.length_scale_bounds, np.outer(span, box))
        assert published[name].scale_targets is None
    assert published["robust"].kernel is None
    assert configured(replace(TASK, method="asor"), data).kernel is None
