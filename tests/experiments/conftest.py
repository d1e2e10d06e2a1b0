"""A store of results, and the records of a short run."""

import pytest
from references.records import quick_tasks

from sturdygp.experiments import ResultStore, run_tasks


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The records of an uninterrupted run in this process."""
    store = ResultStore(tmp_path_factory.mktemp("reference") / "smoke.jsonl")
    run_tasks(quick_tasks(), store)
    return store.records()


@pytest.fixture
def store(tmp_path):
    return ResultStore(tmp_path / "smoke.jsonl")
