"""A fitted model and its file."""

import pytest
from references.model_files import readings

from sturdygp import RobustGPRegressor


@pytest.fixture(scope="module")
def fitted():
    X, y = readings()
    return RobustGPRegressor().fit(X[:8], y[:8, 0])


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.sgp"
    fitted.save(path)
    return path.read_bytes()
