"""Results from a Dask cluster, and a word about workers that keep them from coming."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

# Seconds without a result after which the workers are looked at, again and again.
PATIENCE = 10.0
# Workers that are named.
SHOWN = 3
GIGABYTE = 1e9
NO_WORKERS = "the Dask cluster has no workers, and the fit waits for one: start some, or scale the cluster"
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

    futures, told = client.compute(list(collections)), ""
    while True:
        try:
            wait(futures, timeout=PATIENCE)
        except TimeoutError:
            reason = why_waiting(client.sync(client.scheduler.identity))
            if reason and reason != told:
                warnings.warn(reason, RuntimeWarning, stacklevel=2)
                told = reason
        else:
            return tuple(client.gather(futures))


def why_waiting(cluster: Mapping[str, Any]) -> str:
    """What keeps a cluster from working, in words; nothing if it only takes its time.

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
