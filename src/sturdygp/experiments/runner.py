"""Runs the tasks that a store lacks: in this process, in several, or on a Dask cluster.

Wherever a task runs, it is the same function of the same data, so results do not depend on the place.
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
    """How many tasks were there already, how many were run, and how many of all failed."""

    skipped: int
    run: int
    failed: int


def missing_tasks(tasks: Sequence[Task], store: ResultStore) -> list[Task]:
    """The tasks that the store has no record of, failed ones not among them: they would fail again."""
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
    """Run what is missing and store each record as soon as it is there.

    Parameters
    ----------
    tasks : sequence of Task
        What the store is to hold in the end.
    store : ResultStore
        Where records go; those already there are not made again.
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
    """Draw each data set once: a missing file is found, or downloaded, before many workers ask for it."""
    for task in {task.dataset: task for task in tasks}.values():
        draw(task)


def run_locally(tasks: Sequence[Task], n_jobs: int) -> Generator[Record]:
    """Records in the order in which they are finished."""
    # A batch of several tasks would be lost as a whole if the run were killed.
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    yield from parallel(delayed(run)(task) for task in tasks)


def run_on_dask(tasks: Sequence[Task], address: str, n_jobs: int) -> Generator[Record]:
    """Records in the order in which they are finished; tasks of a worker that dies go to another."""
    distributed = optional_distributed()
    with dask_client(address, n_jobs) as client:
        check_threads(client)
        # Keys of their own: a scheduler that others use must not answer from its memory.
        futures = client.map(run, tasks, pure=False)
        for _, record in distributed.as_completed(futures, with_results=True):
            yield record


@contextmanager
def dask_client(address: str, n_jobs: int) -> Iterator[Any]:
    """A client of the cluster at an address, or of one that lives as long as it is used."""
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
    """The package that only a cluster needs."""
    try:
        return import_module("distributed")
    except ImportError:
        raise ModuleNotFoundError(NEEDS_DASK) from None


def check_threads(client: Any) -> None:
    """Refuse workers that would run two tasks in one process, where limits and timings get mixed up."""
    threads = client.nthreads()
    several = [worker for worker, count in threads.items() if count != 1]
    if several:
        raise ValueError(
            f"{len(several)} of {len(threads)} Dask workers have several threads: start them with "
            "--nthreads 1"
        )
