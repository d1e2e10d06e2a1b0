"""Running experiments and seeing how far they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import click

from sturdygp.cli.options import baselines_option, convention_option, results_option, store_of
from sturdygp.cli.progress import Progress
from sturdygp.cli.say import tell
from sturdygp.datasets.fetch import DataFileError
from sturdygp.experiments.methods import METHODS
from sturdygp.experiments.record import Record
from sturdygp.experiments.runner import missing_tasks, run_tasks
from sturdygp.experiments.store import ResultStore, StoreError
from sturdygp.experiments.suites import SUITES, Suite
from sturdygp.experiments.task import Baselines, NoiseConvention, Task

ALL_CORES = -1
# What a user can do something about; anything else deserves its traceback.
EXPECTED = (ValueError, DataFileError, ModuleNotFoundError)


@click.command()
@click.argument("suite", type=click.Choice(list(SUITES)))
@click.option("--trials", type=click.IntRange(min=1), help="Trials; as many as published by default.")
@click.option(
    "--n-jobs",
    type=click.IntRange(min=-1),
    help="Processes, -1 for one on each core. By default one for suites that measure time, else -1.",
)
@click.option(
    "--dask", metavar="ADDRESS", help='Run on the Dask cluster at this address, or on a "local" one.'
)
@convention_option(default="text")
@baselines_option(default="best")
@click.option(
    "--method", "methods", multiple=True, type=click.Choice(list(METHODS)), help="Only this method."
)
@results_option
def reproduce(
    suite: str,
    *,
    trials: int | None,
    n_jobs: int | None,
    dask: str | None,
    convention: NoiseConvention,
    baselines: Baselines,
    methods: tuple[str, ...],
    results: Path,
) -> None:
    """Run the tasks of SUITE that have no result yet. Stop it whenever you like: running again goes on."""
    chosen, store = SUITES[suite], store_of(suite, results)
    try:
        tasks = chosen.tasks(
            trials=trials, convention=convention, baselines=baselines, methods=methods or None
        )
        jobs = default_jobs(chosen) if n_jobs is None else n_jobs
        progress = Progress(len(missing_tasks(tasks, store)))
        tally = run_tasks(
            tasks,
            store,
            n_jobs=jobs,
            dask=dask,
            on_record=lambda record: progress.advance(failed=record.failed),
        )
    except EXPECTED as error:
        raise click.ClickException(str(error)) from error
    tell(f"{suite}: {tally.run} tasks run, {tally.skipped} done before, {tally.failed} failed")
    tell(summary(tasks, store.records()))
    tell(f"\nResults: {store.path}")


def default_jobs(suite: Suite) -> int:
    """All cores, unless time is measured: neighbours would slow each other down."""
    return 1 if suite.serial else ALL_CORES


def summary(tasks: Sequence[Task], records: Sequence[Record]) -> str:
    """A table of methods: fits, failures, fits that did not converge, and the time of a fit."""
    wanted = {task.hash for task in tasks}
    lines = ["", "| method | fits | failed | not converged | median seconds |", "|---|---|---|---|---|"]
    for name, method in METHODS.items():
        mine = [record for record in records if record.task.method == name and record.task.hash in wanted]
        if mine:
            lines.append(f"| {method.label} | {' | '.join(cells(mine))} |")
    return "\n".join(lines)


def cells(records: Sequence[Record]) -> tuple[str, ...]:
    """One row of the summary."""
    failed = sum(record.failed for record in records)
    unconverged = sum(record.unconverged for record in records)
    seconds = median(record.timing.fit_seconds for record in records)
    return str(len(records)), str(failed), str(unconverged), f"{seconds:.3g}"


@click.command()
@click.argument("suite", type=click.Choice(list(SUITES)), required=False)
@results_option
def status(suite: str | None, results: Path) -> None:
    """Show how far SUITE is, or all suites."""
    try:
        for name in [suite] if suite else list(SUITES):
            tell("\n".join(progress_lines(SUITES[name], store_of(name, results))))
    except StoreError as error:
        raise click.ClickException(str(error)) from error


def progress_lines(suite: Suite, store: ResultStore) -> list[str]:
    """What there is of a suite, for each convention and setting that was run."""
    records = store.records()
    if not records:
        return [f"{suite.name:10}  not started: {suite.description}"]
    groups = Counter((record.task.convention, record.task.baselines) for record in records)
    return [group_line(suite, convention, baselines, records) for convention, baselines in sorted(groups)]


def group_line(
    suite: Suite, convention: NoiseConvention, baselines: Baselines, records: Sequence[Record]
) -> str:
    """Tasks done of those that the full suite has, and how many failed."""
    tasks = {task.hash for task in suite.tasks(convention=convention, baselines=baselines)}
    done = [record for record in records if record.task.hash in tasks]
    failed = sum(record.failed for record in done)
    share = 100 * len(done) // len(tasks)
    return (
        f"{suite.name:10}  {convention}, {baselines}: {len(done)} of {len(tasks)} tasks ({share} %), "
        f"{failed} failed"
    )
