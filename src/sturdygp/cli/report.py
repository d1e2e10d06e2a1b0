"""Figures and tables of stored results, and the form in which results are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from sturdygp.cli.options import RESULTS, baselines_option, convention_option, results_option, store_of
from sturdygp.cli.say import tell
from sturdygp.experiments.store import Contents, StoreError
from sturdygp.experiments.suites import SUITES
from sturdygp.experiments.task import Baselines, NoiseConvention
from sturdygp.plot.canvas import save
from sturdygp.report.claims import CLAIMS, claims_table
from sturdygp.report.grid import Setting
from sturdygp.report.suites import SUITES_WITH_FIGURE, environment_notes, suite_figure, suite_tables
from sturdygp.report.table import Table

CLAIMS_NAME = "claims"
FULL_WIDTH = 7.0


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
    tell(f"Figure: {path}")


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
        tell(text)
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(f"{text}\n", encoding="utf-8")
        tell(f"Table: {out}")


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
    tell(f"Results: {out}, {out.stat().st_size / 1000:.0f} kB")


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
    """What is stored of a suite for one setting; there must be something."""
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
