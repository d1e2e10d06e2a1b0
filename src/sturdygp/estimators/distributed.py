"""Dask collections as inputs: the rows stay where they are, and work goes to them.

An evaluation sends the kernel, the inducing inputs and the sites of its rows to each block, and gets back
sums that do not grow with the rows, and the posterior at its rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.estimators.validation import check_magnitude
from sturdygp.gp.inputs import Merge, Rows, T, Work

# Seconds without a result after which the workers are looked at, again and again.
PATIENCE = 10.0
# Workers that are named.
SHOWN = 3
GIGABYTE = 1e9
NO_WORKERS = "the Dask cluster has no workers, and the fit waits for one: add some, or scale the cluster"
PAUSED = (
    "{} of {} Dask workers are paused, because their memory is nearly full ({}), and the fit waits for them. "
    "If they do not go on, give each worker more memory (memory_limit), or less to keep: smaller chunks of "
    "rows, fewer inducing inputs (inducing), more workers"
)


def cluster_client() -> Any:
    """The client of Dask's distributed scheduler, whose workers keep data in memory; None without one."""
    try:
        from distributed import default_client  # noqa: PLC0415
    except ImportError:
        return None
    try:
        client = default_client()
    except ValueError:
        return None
    return client


def computed(*collections: Any) -> tuple[Any, ...]:
    """The values of Dask collections; a warning says so if workers that are paused keep them from coming."""
    from dask.base import compute  # noqa: PLC0415

    client = cluster_client()
    if client is None or client.asynchronous:
        values: tuple[Any, ...] = compute(*collections)
        return values
    from distributed import wait  # noqa: PLC0415

    futures, warned = client.compute(list(collections)), ""
    while True:
        try:
            wait(futures, timeout=PATIENCE)
        except TimeoutError:
            reason = why_waiting(client.sync(client.scheduler.identity))
            if reason and reason != warned:
                warnings.warn(reason, RuntimeWarning, stacklevel=2)
                warned = reason
        else:
            return tuple(client.gather(futures))


def why_waiting(cluster: Mapping[str, Any]) -> str:
    """Explain what keeps a cluster from working; empty if it only takes its time.

    Examples
    --------
    >>> busy = {"status": "running", "memory_limit": 2_000_000_000}
    >>> why_waiting({"workers": {"tcp://a:1": busy}})
    ''
    >>> print(why_waiting({"workers": {"tcp://a:1": busy, "tcp://b:1": busy | {"status": "paused"}}})[:98])
    1 of 2 Dask workers are paused, because their memory is nearly full (tcp://b:1 with 2 GB), and the
    """
    workers = cluster["workers"]
    if not workers:
        return NO_WORKERS
    paused = [name_and_limit(name, each) for name, each in workers.items() if each["status"] == "paused"]
    if not paused:
        return ""
    more = len(paused) - SHOWN
    named = ", ".join(paused[:SHOWN]) + (f" and {more} more" if more > 0 else "")
    return PAUSED.format(len(paused), len(workers), named)


def name_and_limit(name: str, worker: Mapping[str, Any]) -> str:
    """A worker, and how much memory it may take if that is limited."""
    limit = worker.get("memory_limit")
    return f"{name} with {limit / GIGABYTE:.2g} GB" if limit else name


# Results that are joined at a time, on the workers.
FAN_IN = 8


def is_dask(X: object) -> bool:
    """Tell whether this is a Dask collection; Dask itself need not be installed."""
    return hasattr(X, "__dask_graph__")


def head(X: Any) -> Any:
    """The first row, to check columns by."""
    return computed(X.head(1, npartitions=-1, compute=False) if hasattr(X, "head") else X[:1])[0]


def as_array(X: Any) -> Any:
    """A Dask array of floats whose blocks hold whole rows, in known numbers."""
    array = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    array = array.astype(np.float64).rechunk({1: -1})
    return with_known_lengths(array) if np.isnan(array.shape[0]) else array


def with_known_lengths(array: Any) -> Any:
    """Count the rows of an array, block by block."""
    import dask.array as da  # noqa: PLC0415
    from dask.delayed import delayed  # noqa: PLC0415

    blocks = array.to_delayed().ravel().tolist()
    lengths = computed(*(delayed(len)(block) for block in blocks))
    parts = zip(blocks, lengths, strict=True)
    return da.concatenate([da.from_delayed(b, (n, array.shape[1]), np.float64) for b, n in parts])


@dataclass(frozen=True, eq=False)
class DaskRows(Rows):
    """Blocks as delayed values, and the number of rows in each."""

    blocks: Sequence[Any]
    lengths: NDArray[np.intp]
    shape: tuple[int, int]

    @classmethod
    def of(cls, X: Any) -> DaskRows:
        """Blocks are kept by the workers of a cluster; elsewhere they are read anew for every pass."""
        from dask.base import persist  # noqa: PLC0415

        array = as_array(X)
        # A filter may have left nothing of some.
        blocks = [block for block, length in with_lengths(array) if length]
        if cluster_client() is not None:
            blocks = persist(*blocks)
        lengths = np.array(array.chunks[0])
        rows = cls(blocks, lengths[lengths > 0], array.shape)
        if not rows.gather(all_finite, all):
            raise ValueError(
                "X contains NaN or infinity; drop or impute those rows (only targets may be missing)"
            )
        return rows

    def gather(self, work: Work[T], merge: Merge[T], *by_row: FloatArray) -> T:
        """Work on each block with its part of the arrays, where the block is; then join the results."""
        from dask.delayed import delayed  # noqa: PLC0415

        if not self.blocks:
            raise ValueError(
                "a model that was copied or sent does not take the rows of a Dask collection along"
            )
        # As data, the work travels once to each worker instead of once for each block.
        shared = delayed(work, pure=False)
        parts = [
            delayed(call, pure=False)(shared, block, *(values[rows] for values in by_row))
            for block, rows in zip(self.blocks, self._slices(), strict=True)
        ]
        joining = delayed(merge, pure=False)
        while len(parts) > 1:
            parts = [joining(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
        found: T = computed(parts[0])[0]
        return found

    def __getitem__(self, rows: NDArray[Any]) -> FloatArray:
        """Some rows, by number."""
        from dask.delayed import delayed  # noqa: PLC0415

        ends = np.cumsum(self.lengths)
        block_of = np.searchsorted(ends, rows, side="right")
        wanted = np.unique(block_of)
        parts = [
            delayed(np.take, pure=False)(
                self.blocks[b], rows[block_of == b] - (ends[b] - self.lengths[b]), axis=0
            )
            for b in wanted
        ]
        found = np.empty((len(rows), self.shape[1]))
        for b, part in zip(wanted, computed(*parts), strict=True):
            found[block_of == b] = part
        return found

    def where(self, kept: BoolArray) -> DaskRows:
        """Only some of the rows."""
        from dask.delayed import delayed  # noqa: PLC0415

        if kept.all():
            return self
        masks = [kept[rows] for rows in self._slices()]
        blocks = [
            delayed(np.compress, pure=False)(mask, block, axis=0)
            for mask, block in zip(masks, self.blocks, strict=True)
            if mask.any()
        ]
        lengths = np.array([int(mask.sum()) for mask in masks if mask.any()])
        return DaskRows(blocks, lengths, (int(lengths.sum()), self.shape[1]))

    def __getstate__(self) -> dict[str, Any]:
        """A model that is sent or saved does not take its training rows along."""
        return {**self.__dict__, "blocks": ()}

    def _slices(self) -> list[slice]:
        ends = np.cumsum(self.lengths)
        return [slice(end - length, end) for end, length in zip(ends, self.lengths, strict=True)]


def with_lengths(array: Any) -> list[tuple[Any, int]]:
    """The blocks of a Dask array, and how many rows each has."""
    return list(zip(array.to_delayed().ravel(), array.chunks[0], strict=True))


def call(work: Work[T], X: FloatArray, *by_row: FloatArray) -> T:
    """Do the work."""
    return work(X, *by_row)


def all_finite(X: FloatArray) -> bool:
    """Tell whether no entry is NaN or infinite."""
    return bool(np.isfinite(X).all())


def predict_blocks(model: Any, X: Any, *, return_std: bool, include_noise: bool) -> Any:
    """Predictions of a fitted model as Dask arrays, block by block."""
    import dask.array as da  # noqa: PLC0415
    from dask.delayed import delayed  # noqa: PLC0415

    array, shared = as_array(X), delayed(model, pure=False)
    outputs = () if model._single else (len(model._outputs),)
    means, stds = [], []
    for block, length in with_lengths(array):
        if not length:
            continue
        found = delayed(predicted_block, pure=False)(shared, block, return_std, include_noise)
        mean, std = (found[0], found[1]) if return_std else (found, None)
        means.append(da.from_delayed(mean, (length, *outputs), np.float64))
        if std is not None:
            stds.append(da.from_delayed(std, (length, *outputs), np.float64))
    mean = da.concatenate(means)
    return (mean, da.concatenate(stds)) if return_std else mean


def predicted_block(model: Any, X: FloatArray, return_std: bool, include_noise: bool) -> Any:
    """Predictions for one block; the names of its columns were checked before."""
    checked = check_array(X, dtype=np.float64)
    check_magnitude(checked, model)
    return model.predict_checked(checked, return_std, False, include_noise)
