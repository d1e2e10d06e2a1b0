"""The prior of the contamination refuses bad values."""

import numpy as np
import pytest

from sturdygp import RobustGPRegressor
from sturdygp.likelihoods.contamination_prior import ContaminationPrior


def test_contamination_prior_refuses_bad_values():
    with pytest.raises(ValueError, match="ratio must be positive"):
        ContaminationPrior(ratio=-1.0)
    with pytest.raises(ValueError, match="ContaminationPrior or None"):
        RobustGPRegressor(prior=3).fit(np.zeros((4, 1)), np.zeros(4))
