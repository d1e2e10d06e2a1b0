"""How many threads the BLAS libraries may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

# Below this many rows a second thread brings little, and costs much if the other core is busy.
ROWS_FOR_THREADS = 2000
# Entries of a matrix below which limiting threads would cost more than it saves.
SMALL = 1 << 18

ALL = ThreadpoolController()
# Wheels of NumPy and of SciPy each bring a library. The threads of one, which wait busily for a while after
# every call, stand in the way of the other's. Large matrices go through SciPy's.
NUMPYS = ALL.select(filepath=[each["filepath"] for each in ALL.info() if "numpy.libs" in each["filepath"]])


@contextmanager
def threads_for_fit(rows: int, *, side_by_side: bool) -> Iterator[None]:
    """One where outputs run side by side, or matrices are too small to share; else as the user set it."""
    few = side_by_side or rows < ROWS_FOR_THREADS
    with (ALL if few else NUMPYS).limit(limits=1):
        yield


@contextmanager
def threads_for_prediction(entries: int) -> Iterator[None]:
    """As the user set it, for SciPy's library."""
    if entries < SMALL:
        yield
        return
    with NUMPYS.limit(limits=1):
        yield
