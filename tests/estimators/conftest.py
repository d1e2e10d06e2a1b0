"""Data that tests of estimators share."""

import pytest

from sturdygp.datasets import make_synthetic


@pytest.fixture(scope="module")
def data():
    return make_synthetic(60, 40, rate=0.2, seed=4)
