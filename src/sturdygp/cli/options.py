"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from sturdygp.experiments.store import ResultStore
from sturdygp.experiments.task import BASELINES, NOISE_CONVENTIONS, Baselines, NoiseConvention

RESULTS = Path("results")

F = TypeVar("F", bound=Callable[..., Any])


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
    """What the paper's noise constants mean."""
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
