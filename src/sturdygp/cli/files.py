"""Files that a command writes: whatever would keep them from being written is told before the work begins."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sturdygp.tables.errors import TableError


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
    """Whether two names are those of one file, by links too."""
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
