"""A flagged table, and its report as a text."""

import pytest
from references.hostile import HOSTILE, flagged, hostile_frame

from sturdygp.report.html.page import page


@pytest.fixture(scope="module")
def result():
    return flagged(hostile_frame())


@pytest.fixture(scope="module")
def text(result):
    return page(result, f"{HOSTILE}.csv")
