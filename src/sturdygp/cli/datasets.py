"""Commands for data files: list them, download them."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten

import click

from sturdygp.cli.console import echo
from sturdygp.datasets.fetch import DataFileError, cache_folder, find_file, user_folder
from sturdygp.datasets.files import FILES

# Names that are easier to type than those of the files.
NAMES = {
    "air-quality": "AirQualityUCI.csv",
    "energy": "ENB2012_data.xlsx",
    "yacht": "yacht_hydrodynamics.data",
    "neal": "neal_odata.txt",
    "neal-200": "neal_odata_200.txt",
    "motorcycle": "motorcycle.csv",
    "nab-ambient": "nab_ambient_temperature_system_failure.csv",
    "nab-machine": "nab_machine_temperature_system_failure.csv",
    "well-log": "well_log.txt",
}
LICENCE_WIDTH = 60


@click.group()
def datasets() -> None:
    """List the data files, or download them."""


@datasets.command("list")
def list_files() -> None:
    """Show every data file, whether it is here, and how its licence begins."""
    for name, file_name in NAMES.items():
        file = FILES[file_name]
        licence = shorten(file.licence, LICENCE_WIDTH, placeholder=" ...")
        echo(f"{name:12} {state(file_name):15} {file.size / 1000:6.0f} kB  {licence}")


@datasets.command()
@click.argument("name", type=click.Choice(list(NAMES)), required=False)
def fetch(name: str | None) -> None:
    """Download the data file NAME, or all of them, unless they are here."""
    failed = [each for each in ([name] if name else NAMES) if not fetched(each)]
    if failed:
        raise click.ClickException(f"not fetched: {', '.join(failed)}")


def fetched(name: str) -> bool:
    """Find or download one file and say where it is; one that cannot be had does not stop the others."""
    try:
        path = find_file(NAMES[name])
    except DataFileError as error:
        echo(f"{name}: {error}", err=True)
        return False
    echo(f"{name}: {path}")
    return True


def state(file_name: str) -> str:
    """Tell where a file is, without downloading it."""
    if located(file_name) is not None:
        return "here"
    return "to be fetched" if FILES[file_name].url else "to be supplied"


def located(file_name: str) -> Path | None:
    """The path of a file in the user's folder or in the cache."""
    try:
        folders = (user_folder(), cache_folder())
    except DataFileError as error:
        raise click.ClickException(str(error)) from error
    paths = [folder / file_name for folder in folders if folder is not None]
    return next((path for path in paths if path.is_file()), None)
