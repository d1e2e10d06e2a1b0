"""Work of the commands for tables and the files they write; apart from them because it needs pandas."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sturdygp.cli.console import Console
from sturdygp.cli.messages import show_file, show_fit, show_flags, show_plan, show_written
from sturdygp.cli.progress import Waiting, waiting
from sturdygp.cli.tables import FlagFiles, OutputOptions, ReadOptions, TableOptions
from sturdygp.exceptions import TableError
from sturdygp.tables.cells import CellFormat
from sturdygp.tables.diagnostics import marks_found, misfits
from sturdygp.tables.flagging import (
    FlagResult,
    Recipe,
    check_results_absent,
    fit_table,
    flag_table,
    result_names,
    with_results,
)
from sturdygp.tables.formatting import counted, rows_in_words
from sturdygp.tables.model import TableModel
from sturdygp.tables.prepare import Prepared, Request, check_once, prepare
from sturdygp.tables.read import KnownDialect, TableFile, check_ending, read_table
from sturdygp.tables.write import check_room, write_table

INSTALL = "a report needs the extra of that name: pip install 'sturdygp[report]'"
LIBRARIES = ("jinja2", "markupsafe", "plotly")
MEGABYTE = 1e6
# Columns that are added for each target.
RESULTS = len(result_names(""))


def check_new(path: Path, option: str, used: Mapping[str, Path]) -> None:
    """Refuse a file that would replace one that is used, and one that cannot be written.

    ``used`` has the files by what they are.
    """
    for what, other in used.items():
        if same_file(path, other):
            raise TableError(f"{path} is {what}; choose another file with {option}")
    folder = next(each for each in path.absolute().parents if each.exists())
    if not folder.is_dir():
        raise TableError(f"{path} cannot be written: {folder} is not a folder; choose another with {option}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise TableError(f"{path} cannot be written: permission denied; choose another file with {option}")


def same_file(path: Path, other: Path) -> bool:
    """Tell whether two names are those of one file, by links too."""
    both = path.exists() and other.exists()
    return path.samefile(other) if both else path.resolve() == other.resolve()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write to, which takes the place of ``path`` when all is written: a failure spoils nothing.

    What is no file, or is in a folder that takes no new ones, is written to directly.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    final = path.resolve()
    if final.exists() and not (final.is_file() and os.access(final.parent, os.W_OK)):
        yield path
        return
    partial = final.with_name(f".{final.stem}-{os.getpid()}{final.suffix}")
    try:
        yield partial
        partial.replace(final)
    finally:
        partial.unlink(missing_ok=True)


@dataclass(frozen=True)
class Report:
    """Report to write: its path and its writer, or the reason why there is none."""

    path: Path
    writer: Callable[[FlagResult, Path, Path], None] | None
    absence: str = ""

    @classmethod
    def wanted(cls, files: FlagFiles, data: Path, out: Path) -> Self:
        """Choose where to write, and refuse before the work begins what could not be written."""
        path = files.report or out.with_suffix(".html")
        if files.no_report:
            return cls(path, None)
        check_new(path, "--report", {"the table itself": data, "the table of results": out})
        try:
            writer = importlib.import_module("sturdygp.report.html.page").write_report
        except ModuleNotFoundError as error:
            if error.name not in LIBRARIES:
                raise
            if files.report:
                raise ImportError(INSTALL) from error
            return cls(path, None, f"none; {INSTALL}")
        return cls(path, writer)

    def write(self, result: FlagResult, data: Path, console: Console) -> None:
        """Write it, and say where it is."""
        if self.writer is None:
            console.add(report=None)
            if self.absence:
                console.line("Report", self.absence)
            return
        with replacing(self.path) as path:
            self.writer(result, data, path)
        size = self.path.stat().st_size / MEGABYTE
        console.line("Report", f"{self.path} ({size:.1f} MB), for a browser", report=str(self.path))


def flag(
    data: Path, table: TableOptions, method: str, threshold: float, files: FlagFiles, output: OutputOptions
) -> None:
    """Mark faulty readings."""
    out = result_path(data, files.out, "flagged", {})
    report = Report.wanted(files, data, out)
    console = Console(
        output.as_json, output.quiet, {"command": "flag", "method": method, "threshold": threshold}
    )
    recipe = recipe_of(table, method)
    file, prepared = opened(data, table, console)
    check_room(file.frame, out, RESULTS * len(prepared.plan.targets))
    with noticed(console), pause(fitting(prepared), output) as shown:
        result = flag_table(file, prepared, replace(recipe, callback=shown.update), threshold)
    show_fit(console, result.fit)
    show_flags(console, prepared.plan, result.assessment, threshold)
    with replacing(out) as path:
        write_table(result.table, path, file.dialect)
    show_written(console, out, result.table, file.frame)
    report.write(result, data, console)
    console.finish()


def fit(data: Path, table: TableOptions, method: str, save: Path, output: OutputOptions) -> None:
    """Fit and save a model."""
    check_ending(data)
    check_new(save, "--save", {"the table itself": data})
    recipe = recipe_of(table, method)
    console = Console(output.as_json, output.quiet, {"command": "fit", "method": method})
    _, prepared = opened(data, table, console)
    with noticed(console), pause(fitting(prepared), output) as shown:
        fitted = fit_table(prepared, replace(recipe, callback=shown.update))
    show_fit(console, fitted)
    with replacing(save) as path:
        fitted.model.save(path)
    console.line("Saved", f"{save} ({save.stat().st_size / 1000:.0f} kB)", saved=str(save))
    console.finish()


def predict(
    model: Path, data: Path, reading: ReadOptions, threshold: float, out: Path | None, output: OutputOptions
) -> None:
    """Predict with a saved model."""
    out = result_path(data, out, "predicted", {"the model": model})
    console = Console(output.as_json, output.quiet, {"command": "predict", "threshold": threshold})
    file, loaded = read_for(TableModel.load(model), data, reading)
    marks = CellFormat(reading.missing, file.dialect.decimal)
    check_room(file.frame, out, RESULTS * len(loaded.plan.targets))
    columns = loaded.plan.columns(file.frame)
    raw, readings = loaded.plan.raw_features(columns), loaded.plan.readings(columns)
    notes = (*misfits(loaded.plan, columns, raw, readings), *marks_found(file.frame, marks))
    with pause(Waiting("Predicting"), output):
        assessment = loaded.assess_rows(raw, readings)
    unusable = int(np.isnan(assessment.expected).all(axis=1).sum())
    if unusable == len(file.frame):
        raise TableError(
            "; ".join([f"no row of {data} has all inputs, so that nothing can be predicted", *notes])
            + "; --decimal, --separator and --missing tell how the table is written"
        )
    show_file(console, data, file)
    show_plan(console, loaded.plan)
    console.items("Note", notes, "notes")
    console.line(
        "Rows", rows_in_words({"read": len(file.frame), "input_missing": unusable}), rows=len(file.frame)
    )
    show_flags(console, loaded.plan, assessment, threshold)
    results = with_results(file.frame, loaded.plan.targets, assessment, threshold)
    with replacing(out) as path:
        write_table(results, path, file.dialect)
    show_written(console, out, results, file.frame)
    console.finish()


def read_for(model: TableModel, data: Path, reading: ReadOptions) -> tuple[TableFile, TableModel]:
    """A table, and the model that takes its cells as they are written."""
    plan = model.plan
    file = read_table(data, KnownDialect(reading.separator, reading.decimal, plan.cell_format.decimal))
    check_once((*plan.targets, *(column.name for column in plan.inputs)), file.repeated)
    check_results_absent(file.frame, plan.targets)
    return file, replace(model, plan=plan.for_cells(file.dialect.decimal, reading.missing))


def result_path(data: Path, out: Path | None, word: str, used: Mapping[str, Path]) -> Path:
    """Choose the file to write: one whose format can be written, and none that is used."""
    check_ending(data)
    path = out or data.with_name(f"{data.stem}_{word}{data.suffix}")
    check_ending(path)
    check_new(path, "--out", {"the table itself": data, **used})
    return path


def opened(data: Path, table: TableOptions, console: Console) -> tuple[TableFile, Prepared]:
    """Read a table and decide what is what, console what was guessed."""
    file = read_table(data, KnownDialect(table.separator, table.decimal))
    columns = list(file.frame.columns)
    request = Request(
        targets=names_of(table.targets, columns),
        inputs=names_of(table.inputs, columns) if table.inputs else None,
        time=table.time,
        categories=names_of(table.categories, columns),
        exclude=names_of(table.exclude, columns),
        missing=table.missing,
        decimal=file.dialect.decimal,
        repeated=file.repeated,
    )
    check_results_absent(file.frame, request.targets)
    prepared = prepare(file.frame, request)
    show_file(console, data, file)
    show_plan(console, prepared.plan)
    console.items("Left out", prepared.left_out, "left_out")
    console.items("Note", prepared.notes, "notes")
    return file, prepared


def recipe_of(table: TableOptions, method: str) -> Recipe:
    """Make the recipe of the fit from the options."""
    return Recipe(method, table.inducing, table.sample, table.seed, many_faults=table.many_faults)


def fitting(prepared: Prepared) -> Waiting:
    """Message while a model is fitted."""
    rows, targets = prepared.readings.shape
    return Waiting(f"Fitting {counted(rows, 'row')}", targets)


def names_of(values: tuple[str, ...], columns: list[str]) -> tuple[str, ...]:
    """Names of columns, given one by one or with commas between them; a name may itself have a comma.

    Examples
    --------
    >>> names_of(("a,b", "T, RH"), ["a", "b", "T, RH"])
    ('a', 'b', 'T, RH')
    """
    names: list[str] = []
    for value in values:
        names += [value] if value in columns else [part.strip() for part in value.split(",")]
    return tuple(name for name in names if name)


@contextmanager
def noticed(console: Console) -> Iterator[None]:
    """Print one line for each fit that did not converge."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield
    messages = [str(each.message) for each in caught if issubclass(each.category, ConvergenceWarning)]
    console.items("Warning", tuple(messages), "warnings")


def pause(shown: Waiting, output: OutputOptions) -> AbstractContextManager[Waiting]:
    """Shows on a terminal that something goes on."""
    return waiting(shown, quiet=output.quiet or output.as_json)
