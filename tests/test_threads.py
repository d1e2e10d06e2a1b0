"""Limits on the threads of BLAS libraries hold as long as anybody needs them, and no longer."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sturdygp._threads import NUMPYS, ROWS_FOR_THREADS, SMALL, threads_for_fit, threads_for_prediction


def threads():
    return {each["filepath"]: each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        yield


@pytest.mark.parametrize("limit", [NUMPYS.limit, lambda: threads_for_fit(10, side_by_side=False)])
def test_limits_that_overlap_are_lifted_by_the_last(limit):
    before, first, second = threads(), limit(), limit()
    first.__enter__()
    limited = threads()
    assert 1 in limited.values()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == limited
    second.__exit__(None, None, None)
    assert threads() == before


def test_limit_is_lifted_by_an_error():
    before = threads()
    with pytest.raises(ZeroDivisionError), threads_for_fit(10, side_by_side=True):
        _ = 1 / 0
    assert threads() == before


@pytest.mark.parametrize(
    ("context", "all_limited"),
    [
        (threads_for_fit(10, side_by_side=False), True),
        (threads_for_fit(ROWS_FOR_THREADS, side_by_side=True), True),
        (threads_for_fit(ROWS_FOR_THREADS, side_by_side=False), False),
        (threads_for_prediction(SMALL), False),
    ],
)
def test_limits_let_large_matrices_share_the_work(context, all_limited):
    with context:
        for path, count in threads().items():
            assert count == (1 if all_limited or "numpy.libs" in path else 2)


def test_threads_for_prediction_leaves_small_ones_alone():
    before = threads()
    with threads_for_prediction(SMALL - 1):
        assert threads() == before
