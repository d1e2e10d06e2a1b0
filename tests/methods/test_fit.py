"""The score of a fit."""

import numpy as np

from sturdygp.methods.fit import Score


def test_score_total_is_the_sum_of_all_terms():
    assert Score(*2.0 ** np.arange(6)).total == 63.0
