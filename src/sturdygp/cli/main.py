"""Entry point of the command line."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import click

from sturdygp.cli.commands import Commands
from sturdygp.cli.data import datasets
from sturdygp.cli.demo import run_demo
from sturdygp.cli.report import export, figure, table
from sturdygp.cli.reproduce import reproduce, status
from sturdygp.cli.say import tell
from sturdygp.cli.tables import fit, flag, predict

CITATION = """\
@article{majal2026asor,
  author  = {Majal, Arslan and Chughtai, Aamir Hussain},
  title   = {Variational Outlier-Robust Gaussian Process Regression with Generative Modeling},
  journal = {IEEE Signal Processing Letters},
  year    = {2026}
}
@software{sturdygp,
  author  = {{The sturdygp developers}},
  title   = {sturdygp: Gaussian process regression that shrugs off outliers},
  version = {%s}
}"""


def _cite(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        tell(CITATION % version("sturdygp"))
        context.exit()


@click.group(cls=Commands)
@click.version_option(package_name="sturdygp", prog_name="sturdygp")
@click.option(
    "--cite", is_flag=True, callback=_cite, is_eager=True, expose_value=False, help="Show BibTeX entries."
)
def main() -> None:
    """Gaussian process regression that shrugs off outliers."""


@main.command()
@click.option(
    "--output", type=click.Path(file_okay=False, path_type=Path), default=Path("demo"), show_default=True
)
def demo(output: Path) -> None:
    """Fit contaminated data, print a table, write a picture and a report."""
    run_demo(output)


for command in (flag, fit, predict, reproduce, status, figure, table, export, datasets):
    main.add_command(command)
