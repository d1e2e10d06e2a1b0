"""Commands for tables: mark faulty readings, fit a model, predict with it."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from math import isnan
from pathlib import Path
from typing import Any

import click

from sturdygp.cli.console import echo
from sturdygp.estimators.registry import FLAGGING, FOR_TABLES

EXIT_CODES = (
    "Exit code: 0 if all went well, 1 if the data or files do not serve, 2 if the command is not understood, "
    "130 if it was interrupted."
)
INSTALL = "tables need pandas, which is not installed: pip install 'sturdygp[tables]'"
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
# What cannot stand between fields.
FORBIDDEN_MARKS = '"\r\n'
NEW_FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class ReadOptions:
    """How to read a table."""

    missing: tuple[str, ...]
    separator: str | None
    decimal: str | None


@dataclass(frozen=True)
class TableOptions(ReadOptions):
    """How to read a table, and what to fit to it."""

    targets: tuple[str, ...]
    inputs: tuple[str, ...]
    time: str | None
    categories: tuple[str, ...]
    exclude: tuple[str, ...]
    inducing: int | None
    sample: int | None
    seed: int
    many_faults: bool


@dataclass(frozen=True)
class OutputOptions:
    """Options for the output."""

    as_json: bool
    quiet: bool
    debug: bool


@dataclass(frozen=True)
class FlagFiles:
    """Files to write; None leaves the name open."""

    out: Path | None
    report: Path | None
    no_report: bool

    def __post_init__(self) -> None:
        if self.report is not None and self.no_report:
            raise click.UsageError("--report and --no-report exclude each other; give one of them.")


def not_nan(_: click.Context, option: click.Parameter, value: float) -> float:
    """A number; comparisons alone would let through what is none."""
    if isnan(value):
        raise click.BadParameter("nan is not a number.", param=option)
    return value


def one_mark(_: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """One character; a tab may be written as in programs."""
    mark = "\t" if value == "\\t" else value
    if mark is not None and (len(mark) != 1 or mark in FORBIDDEN_MARKS):
        raise click.BadParameter(f"{mark!r} is not one character such as ; or \\t.", param=option)
    return mark


READ_OPTIONS = (
    click.option("--missing", multiple=True, help="What stands for a missing value, such as -200."),
    click.option(
        "--separator",
        callback=one_mark,
        help="What stands between fields of a text file, one character; guessed if not given.",
    ),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark; guessed if not given."),
)
TABLE_OPTIONS = (
    click.option(
        "--target", "targets", multiple=True, required=True, help="Column of readings; several with commas."
    ),
    click.option(
        "--inputs", multiple=True, help="Columns that explain it, with commas; all that serve if not given."
    ),
    click.option("--time", help="Column with the time of a reading; it is an input."),
    click.option(
        "--categories", multiple=True, help="Columns to take for categories although they are numbers."
    ),
    click.option("--exclude", multiple=True, help="Columns that are not to be inputs."),
    *READ_OPTIONS,
    click.option(
        "--inducing",
        type=click.IntRange(min=1),
        help="Inducing inputs to fit through; by default 500 for a table of more than 3000 rows.",
    ),
    click.option("--sample", type=click.IntRange(min=2), help="Fit so many rows, drawn at random."),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For what is drawn."
    ),
    click.option(
        "--many-faults",
        is_flag=True,
        help="Most readings may be wrong: seek a good minority as well. For the method robust.",
    ),
)
THRESHOLD_OPTION = click.option(
    "--threshold",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    callback=not_nan,
    help="Outlier probability above which a reading is flagged.",
)
OUTPUT_OPTIONS = (
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text."),
    click.option("--quiet", is_flag=True, help="Print nothing but errors."),
    click.option("--debug", is_flag=True, help="Show where an error arose."),
)
FLAG_FILES = (
    click.option("--out", type=NEW_FILE, help="File to write; DATA with _flagged in its name if not given."),
    click.option("--report", type=NEW_FILE, help="HTML file for the report; like --out if not given."),
    click.option("--no-report", is_flag=True, help="Write no report."),
)


def grouped(name: str, cls: type[Any], options: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    """Gives a command several options as one argument."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**values: Any) -> None:
            group = cls(**{each.name: values.pop(each.name) for each in fields(cls)})
            command(**values, **{name: group})

        for option in reversed(options):
            run = option(run)
        return run

    return decorate


@contextmanager
def errors_in_one_line(*, debug: bool) -> Iterator[None]:
    """Report an error in one line, or with its traceback."""
    try:
        yield
    except (ValueError, OSError, ImportError, MemoryError) as error:
        if debug:
            echo(traceback.format_exc(), err=True)
            raise click.exceptions.Exit(1) from error
        said = " ".join(message_of(error).split())
        raise click.ClickException(said or "not enough memory; use --sample") from error


def message_of(error: Exception) -> str:
    """Message of an error; that of a file with its name, if it knows it."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def work() -> Any:
    """The module that does the work; it needs pandas, which other commands do without."""
    try:
        return importlib.import_module("sturdygp.cli.table_work")
    except ModuleNotFoundError as error:
        raise ImportError(INSTALL if error.name == "pandas" else str(error)) from error


@click.command(epilog=EXIT_CODES)
@click.argument("data", type=FILE)
@grouped("table", TableOptions, TABLE_OPTIONS)
@click.option("--method", type=click.Choice(FLAGGING), default="robust", show_default=True)
@THRESHOLD_OPTION
@grouped("files", FlagFiles, FLAG_FILES)
@grouped("output", OutputOptions, OUTPUT_OPTIONS)
def flag(
    data: Path, table: TableOptions, method: str, threshold: float, files: FlagFiles, output: OutputOptions
) -> None:
    """Mark the readings in DATA that are probably faulty.

    DATA is a table: CSV, TSV, Parquet or Excel. It is written back with the probability that each reading is
    an outlier, the value that was expected, the bounds within which 95 % of good readings lie, and a flag.
    A report for a browser is written next to it.
    """
    with errors_in_one_line(debug=output.debug):
        work().flag(data, table, method, threshold, files, output)


@click.command(epilog=EXIT_CODES)
@click.argument("data", type=FILE)
@grouped("table", TableOptions, TABLE_OPTIONS)
@click.option("--method", type=click.Choice(FOR_TABLES), default="robust", show_default=True)
@click.option("--save", type=NEW_FILE, required=True, help="File for the model; its usual ending is .sgp.")
@grouped("output", OutputOptions, OUTPUT_OPTIONS)
def fit(data: Path, table: TableOptions, method: str, save: Path, output: OutputOptions) -> None:
    """Fit a model to the table DATA and save it for sturdygp predict."""
    with errors_in_one_line(debug=output.debug):
        work().fit(data, table, method, save, output)


@click.command(epilog=EXIT_CODES)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@grouped("reading", ReadOptions, READ_OPTIONS)
@THRESHOLD_OPTION
@click.option("--out", type=NEW_FILE, help="File to write; DATA with _predicted in its name if not given.")
@grouped("output", OutputOptions, OUTPUT_OPTIONS)
def predict(
    model: Path, data: Path, reading: ReadOptions, threshold: float, out: Path | None, output: OutputOptions
) -> None:
    """Predict readings for the table DATA with a MODEL that sturdygp fit saved.

    DATA is written back with the expected value and the bounds within which 95 % of good readings lie. Where
    DATA has readings, the model also tells how probably each is an outlier.
    """
    with errors_in_one_line(debug=output.debug):
        work().predict(model, data, reading, threshold, out, output)
