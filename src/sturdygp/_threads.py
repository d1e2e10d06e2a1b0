"""How many threads the BLAS libraries may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from threading import Lock

from threadpoolctl import ThreadpoolController

# Below this many rows a second thread brings little, and costs much if the other core is busy.
ROWS_FOR_THREADS = 2000
# Entries of a matrix below which limiting threads would cost more than it saves.
SMALL = 1 << 18


class Shared:
    """A limit of one thread that holds for the whole process as long as anybody asks for it.

    Fits in threads of the caller's overlap. Each setting and restoring for itself would leave the limit that
    another had set.
    """

    def __init__(self, pool: ThreadpoolController) -> None:
        self._pool, self._lock, self._users = pool, Lock(), 0

    @contextmanager
    def limit(self) -> Iterator[None]:
        """The first to come limits, the last to go restores."""
        with self._lock:
            if not self._users:
                self._limiter = self._pool.limit(limits=1)
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._limiter.restore_original_limits()


# Wheels of NumPy and of SciPy each bring a library. The threads of one, which wait busily for a while after
# every call, stand in the way of the other's. Large matrices go through SciPy's.
ALL = ThreadpoolController().select(user_api="blas")
PATHS = [each["filepath"] for each in ALL.info()]
NUMPYS = Shared(ALL.select(filepath=[path for path in PATHS if "numpy.libs" in path]))
OTHERS = Shared(ALL.select(filepath=[path for path in PATHS if "numpy.libs" not in path]))


@contextmanager
def threads_for_fit(rows: int, *, side_by_side: bool) -> Iterator[None]:
    """One where outputs run side by side, or matrices are too small to share; else as the user set it."""
    few = side_by_side or rows < ROWS_FOR_THREADS
    with NUMPYS.limit(), OTHERS.limit() if few else nullcontext():
        yield


@contextmanager
def threads_for_prediction(entries: int) -> Iterator[None]:
    """As the user set it, for SciPy's library."""
    with NUMPYS.limit() if entries >= SMALL else nullcontext():
        yield
