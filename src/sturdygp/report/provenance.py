"""What results were made with, as notes below a table."""

from __future__ import annotations

from collections.abc import Iterable

from sturdygp.experiments.task import Json


def environment_notes(headers: Iterable[Json]) -> list[str]:
    """One sentence for each processor, set of versions and way of running, each once."""
    return list(dict.fromkeys(environment_note(header) for header in headers))


def environment_note(header: Json) -> str:
    """Processor, versions and settings of a run, from the header of its results."""
    packages = ", ".join(f"{name} {version}" for name, version in header["packages"].items())
    settings = ", ".join(f"{name} {value}" for name, value in header["settings"].items())
    return (
        f"Made on {header['cpu']} ({header['system']}) with Python {header['python']}, {packages}; "
        f"{', '.join(header['blas'])}, {header['blas_threads']} thread; {settings}."
    )
