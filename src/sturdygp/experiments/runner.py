"""Runner of the tasks that a store lacks: in this process, in several processes, or on a Dask cluster.

A task is the same function of the same data everywhere, so results do not depend on where it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from sturdygp.experiments.problems import draw
from sturdygp.experiments.record import Record
from sturdygp.experiments.store import ResultStore
from sturdygp.experiments.task import Json, Task
from sturdygp.experiments.trial import run

LOCAL_CLUSTER = "local"
NEEDS_DASK = "a Dask cluster needs the package distributed: pip install 'sturdygp[dask]'"


@dataclass(frozen=True)
class Tally:
    """Numbers of tasks that had a record before, that were run, and that failed in any run."""

    skipped: int
    run: int
    failed: int


def missing_tasks(tasks: Sequence[Task], store: ResultStore) -> list[Task]:
    """Return the tasks without a record in the store. Failed tasks have one; they would fail again."""
    done = store.hashes()
    return [task for task in tasks if task.hash not in done]


def run_tasks(
    tasks: Sequence[Task],
    store: ResultStore,
    *,
    n_jobs: int = 1,
    dask: str | None = None,
    on_record: Callable[[Record], None] | None = None,
) -> Tally:
    """Run the missing tasks and store each record as soon as it is made.

    Parameters
    ----------
    tasks : sequence of Task
        Tasks whose records the store will hold.
    store : ResultStore
        Store of the records; tasks that have one are not run again.
    n_jobs : int
        Processes on this machine; -1 for as many as there are cores.
    dask : str, optional
        The address of a Dask scheduler whose workers have one thread each, or ``"local"`` for a cluster of
        ``n_jobs`` processes on this machine.
    on_record : callable, optional
        Called with each new record, after it was stored.
    """
    check_data(missing_tasks(tasks, store))
    where: Json = {"n_jobs": effective_n_jobs(n_jobs), "dask": dask is not None}
    with store.writing(where) as appender:
        # Another run may have added records before this one had the file to itself.
        missing = missing_tasks(tasks, store)
        finished = run_locally(missing, n_jobs) if dask is None else run_on_dask(missing, dask, n_jobs)
        with closing(finished):
            for record in finished:
                appender.append(record)
                if on_record is not None:
                    on_record(record)
    wanted = {task.hash for task in tasks}
    failed = sum(record.failed and record.task.hash in wanted for record in store.records())
    return Tally(len(tasks) - len(missing), len(missing), failed)


def check_data(tasks: Sequence[Task]) -> None:
    """Draw each data set once, so that a missing file is downloaded before many workers need it."""
    for task in {task.dataset: task for task in tasks}.values():
        draw(task)


def run_locally(tasks: Sequence[Task], n_jobs: int) -> Generator[Record]:
    """Run tasks in local processes; yield records as they are finished."""
    # A batch of several tasks would be lost as a whole if the run were killed.
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    yield from parallel(delayed(run)(task) for task in tasks)


def run_on_dask(tasks: Sequence[Task], address: str, n_jobs: int) -> Generator[Record]:
    """Run tasks on a Dask cluster; yield records as they are finished. Tasks of lost workers go to others."""
    distributed = optional_distributed()
    with dask_client(address, n_jobs) as client:
        check_threads(client)
        # pure=False makes new keys: a shared scheduler must not return results that it has in memory.
        futures = client.map(run, tasks, pure=False)
        for _, record in distributed.as_completed(futures, with_results=True):
            yield record


@contextmanager
def dask_client(address: str, n_jobs: int) -> Iterator[Any]:
    """Connect to the cluster at an address, or to a temporary one on this machine."""
    distributed = optional_distributed()
    if address != LOCAL_CLUSTER:
        with distributed.Client(address) as client:
            yield client
        return
    workers = effective_n_jobs(n_jobs)
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def optional_distributed() -> Any:
    """Import the package distributed, which only a cluster needs."""
    try:
        return import_module("distributed")
    except ImportError:
        raise ModuleNotFoundError(NEEDS_DASK) from None


def check_threads(client: Any) -> None:
    """Refuse workers that run several tasks in one process, where thread limits and timings are mixed."""
    threads = client.nthreads()
    several = [worker for worker, count in threads.items() if count != 1]
    if several:
        raise ValueError(
            f"{len(several)} of {len(threads)} Dask workers have several threads: start them with "
            "--nthreads 1"
        )
