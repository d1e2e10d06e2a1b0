"""Commands for experiments: run them, show their progress, figures and tables of their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Literal, TypeVar

import click

from sturdygp.cli.console import echo
from sturdygp.cli.progress import Progress
from sturdygp.datasets.fetch import DataFileError
from sturdygp.experiments.methods import METHODS
from sturdygp.experiments.record import Record
from sturdygp.experiments.runner import missing_tasks, run_tasks
from sturdygp.experiments.store import Contents, ResultStore, StoreError
from sturdygp.experiments.suites import SUITES, Suite
from sturdygp.experiments.task import BASELINES, NOISE_CONVENTIONS, Baselines, NoiseConvention, Task
from sturdygp.plot.canvas import save
from sturdygp.report.claims import CLAIMS, claims_table
from sturdygp.report.grid import Setting
from sturdygp.report.suites import SUITES_WITH_FIGURE, environment_notes, suite_figure, suite_tables
from sturdygp.report.table import Table

RESULTS = Path("results")
F = TypeVar("F", bound=Callable[..., Any])
ALL_CORES = -1
# What a user can do something about; anything else deserves its traceback.
EXPECTED = (ValueError, DataFileError, ModuleNotFoundError)
CLAIMS_NAME = "claims"
FULL_WIDTH = 7.0


def results_option(function: F) -> F:
    """The folder that results are kept in."""
    return click.option(
        "--results",
        type=click.Path(file_okay=False, path_type=Path),
        default=RESULTS,
        show_default=True,
        help="Folder with a file of results for each suite.",
    )(function)


def convention_option(*, default: NoiseConvention | None, shown: str | bool = True) -> Callable[[F], F]:
    """Option for the meaning of the paper's noise constants."""
    return click.option(
        "--convention",
        type=click.Choice(NOISE_CONVENTIONS),
        default=default,
        show_default=shown,
        help="Take the paper's noise constants for variances or for standard deviations.",
    )


def baselines_option(*, default: Baselines | None, shown: str | bool = True) -> Callable[[F], F]:
    """How methods are set."""
    return click.option(
        "--baselines",
        type=click.Choice(BASELINES),
        default=default,
        show_default=shown,
        help="Every method at its best, or with the settings of the published scripts.",
    )


def store_of(suite: str, results: Path) -> ResultStore:
    """The results of a suite."""
    return ResultStore(results / f"{suite}.jsonl")


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
    echo(f"{suite}: {tally.run} tasks run, {tally.skipped} done before, {tally.failed} failed")
    echo(summary(tasks, store.records()))
    echo(f"\nResults: {store.path}")


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
            echo("\n".join(progress_lines(SUITES[name], store_of(name, results))))
    except StoreError as error:
        raise click.ClickException(str(error)) from error


def progress_lines(suite: Suite, store: ResultStore) -> list[str]:
    """List the results of a suite, for each convention and setting that was run."""
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


@click.command()
@click.argument("name", type=click.Choice(SUITES_WITH_FIGURE))
@convention_option(default="text")
@baselines_option(default="best")
@click.option(
    "--width",
    type=click.FloatRange(min=2.0),
    default=FULL_WIDTH,
    show_default=True,
    help="Inches; a column is about 3.5.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write, PNG or PDF by its ending; NAME.png by default.",
)
@results_option
def figure(
    name: str,
    *,
    convention: NoiseConvention,
    baselines: Baselines,
    width: float,
    out: Path | None,
    results: Path,
) -> None:
    """Draw the figure of the suite NAME: errors as boxes, or times for table1."""
    setting, path = Setting(convention, baselines), out or Path(f"{name}.png")
    records = stored(name, results, setting).records
    drawn = suite_figure(name, records, width)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        save(drawn, path)
    except ValueError as error:
        raise click.ClickException(f"{path} cannot be written: {error}") from error
    echo(f"Figure: {path}")


@click.command()
@click.argument("name", type=click.Choice([*SUITES, CLAIMS_NAME]))
@convention_option(default=None, shown="text; for claims, all")
@baselines_option(default=None, shown="best; for claims, all")
@click.option(
    "--format", "form", type=click.Choice(["markdown", "latex"]), default="markdown", show_default=True
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write instead of printing."
)
@results_option
def table(
    name: str,
    *,
    convention: NoiseConvention | None,
    baselines: Baselines | None,
    form: Literal["markdown", "latex"],
    out: Path | None,
    results: Path,
) -> None:
    """Print the tables of the suite NAME, or the paper's claims and whether they hold."""
    if name == CLAIMS_NAME:
        tables = judged_claims(results, convention, baselines)
    else:
        setting = Setting(convention or "text", baselines or "best")
        contents = stored(name, results, setting)
        tables = annotated(suite_tables(name, contents.records, setting), contents)
    text = "\n\n".join(each.latex() if form == "latex" else each.markdown() for each in tables)
    if out is None:
        echo(text)
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(f"{text}\n", encoding="utf-8")
        echo(f"Table: {out}")


def judged_claims(
    results: Path, convention: NoiseConvention | None, baselines: Baselines | None
) -> list[Table]:
    """The claims, judged by the results of all suites that they are about."""
    suites = dict.fromkeys(suite for claim in CLAIMS for suite in claim.suites)
    everything = [read(suite, results) for suite in suites]
    contents = Contents(
        [header for each in everything for header in each.headers],
        [
            record
            for each in everything
            for record in each.records
            if convention in (None, record.task.convention) and baselines in (None, record.task.baselines)
        ],
    )
    if not contents.records:
        raise click.ClickException(
            f"{results} has no results of {', '.join(suites)} to judge claims by: run "
            f"{reproduce_command(next(iter(suites)), results, convention, baselines)}"
        )
    return annotated([claims_table(contents.records)], contents)


@click.command()
@click.argument("suite", type=click.Choice(list(SUITES)))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="File to write; named SUITE.jsonl, its folder can be given as --results.",
)
@results_option
def export(suite: str, *, out: Path, results: Path) -> None:
    """Write the results of SUITE in a short form, for keeping; every command reads it like the long one."""
    store = store_of(suite, results)
    if not read(suite, results).records:
        raise nothing(suite, results, None)
    if out.resolve() == store.path.resolve():
        raise click.ClickException(f"{out} holds the results themselves: choose another file")
    store.pack(out)
    echo(f"Results: {out}, {out.stat().st_size / 1000:.0f} kB")


def annotated(tables: list[Table], contents: Contents) -> list[Table]:
    """Tables, the last of which says what the results were made with."""
    return [*tables[:-1], tables[-1].with_notes(environment_notes(contents.headers))]


def read(suite: str, results: Path) -> Contents:
    """Everything that is stored of a suite."""
    try:
        return store_of(suite, results).read()
    except StoreError as error:
        raise click.ClickException(str(error)) from error


def stored(suite: str, results: Path, setting: Setting) -> Contents:
    """Read the results of a suite for one setting; there must be some."""
    contents = read(suite, results)
    records = setting.of(contents.records)
    if not records:
        raise nothing(suite, results, setting)
    return Contents(contents.headers, records)


def nothing(suite: str, results: Path, setting: Setting | None) -> click.ClickException:
    """There are no results, and this is how to get them."""
    convention, baselines = (None, None) if setting is None else (setting.convention, setting.baselines)
    which = "" if setting is None else f" for {setting}"
    return click.ClickException(
        f"{store_of(suite, results).path} has no results{which}: run "
        f"{reproduce_command(suite, results, convention, baselines)}"
    )


def reproduce_command(
    suite: str, results: Path, convention: NoiseConvention | None, baselines: Baselines | None
) -> str:
    """The command that makes results, without what it does by default."""
    words = ["sturdygp", "reproduce", suite]
    if convention not in (None, "text"):
        words += ["--convention", str(convention)]
    if baselines not in (None, "best"):
        words += ["--baselines", str(baselines)]
    if results != RESULTS:
        words += ["--results", str(results)]
    return " ".join(words)
