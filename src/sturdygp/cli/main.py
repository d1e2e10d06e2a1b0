"""Entry point of the command line, and its process: streams, interrupts, errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from sturdygp.cli.console import echo, printable
from sturdygp.cli.datasets import datasets
from sturdygp.cli.demo import run_demo
from sturdygp.cli.experiments import export, figure, reproduce, status, table
from sturdygp.cli.tables import fit, flag, predict

# What shells take a process for that Ctrl-C ended: 128 and the number of the signal.
INTERRUPTED = 130
STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}
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


class Commands(click.Group):
    """A group of commands that may be run without some of its streams, and interrupted."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command."""
        open_streams()
        return super().main(*args, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments before the command."""
        with errors_printable():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """The command and what stands behind it."""
        try:
            with errors_printable():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            echo("Interrupted", err=True)
            ctx.exit(INTERRUPTED)


def open_streams() -> None:
    """Open streams that the shell closed, as with ``2>&-``, to nowhere: else files would take their place."""
    for number, (name, mode) in enumerate(STREAMS.items()):
        if getattr(sys, name) is not None:
            continue
        nowhere = os.open(os.devnull, os.O_RDWR)
        try:
            os.fstat(number)
        except OSError:
            os.dup2(nowhere, number)
        setattr(sys, name, os.fdopen(nowhere, mode))


@contextmanager
def errors_printable() -> Iterator[None]:
    """Errors quote names and cells, in which there may be anything."""
    try:
        yield
    except click.ClickException as error:
        # Click calls it final, and has no other way to say the same error otherwise.
        vars(error)["message"] = printable(error.message)
        raise


def _cite(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        echo(CITATION % version("sturdygp"))
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
