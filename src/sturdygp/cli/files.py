"""Files that a command writes: whatever would keep them from being written is told before the work begins."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sturdygp.tables.errors import TableError


def check_new(path: Path, option: str, used: Mapping[str, Path]) -> None:
    """Refuse a file that would replace one that is used, and one that cannot be written.

    ``used`` has the files by what they are.
    """
    for what, other in used.items():
        if path.resolve() == other.resolve():
            raise TableError(f"{path} is {what}; choose another file with {option}")
    folder = next(each for each in path.absolute().parents if each.exists())
    if not folder.is_dir():
        raise TableError(f"{path} cannot be written: {folder} is not a folder; choose another with {option}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise TableError(f"{path} cannot be written: permission denied; choose another file with {option}")
