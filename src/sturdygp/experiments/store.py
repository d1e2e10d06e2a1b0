"""Results on disk: one JSON line for each record, appended and never changed.

A run that is killed can leave half a line at the end. Readers leave it out, and the next run cuts it off,
so that a file always holds whole records. A header line says what the records after it were made with; a
run with other versions, on another processor or with other settings adds one of its own. A file to be kept
in a repository has one line for all trials of a task instead (:mod:`sturdygp.experiments.packing`).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sturdygp.experiments.environment import environment
from sturdygp.experiments.packing import packed, unpacked
from sturdygp.experiments.record import Record
from sturdygp.experiments.task import Json, canonical

FORMAT = 1


class StoreError(ValueError):
    """A file of results cannot be read or written; the message says why and what to do."""


@dataclass(frozen=True)
class Contents:
    """All headers and records of a file."""

    headers: list[Json]
    records: list[Record]


@dataclass(frozen=True)
class ResultStore:
    """A file of results, which need not exist yet."""

    path: Path

    def read(self) -> Contents:
        """Headers and records; half a line at the end is left out, also while a run goes on."""
        contents = Contents([], [])
        for number, line in enumerate(whole_lines(self.path), start=1):
            self._sort(line, number, contents)
        return contents

    def records(self) -> list[Record]:
        """All records."""
        return self.read().records

    def hashes(self) -> set[str]:
        """Hashes of the tasks that are done."""
        return {record.task.hash for record in self.records()}

    def pack(self, path: Path) -> None:
        """Write everything to another file in the short form, which is read like this one."""
        contents = self.read()
        lines = [{"header": header} for header in contents.headers]
        lines += [{"cell": cell} for cell in packed(contents.records)]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{canonical(line)}\n" for line in lines), encoding="utf-8")

    @contextmanager
    def writing(self, settings: Json) -> Iterator[Appender]:
        """Open the file to append records; it is repaired if need be, and nobody else may write to it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            lock(file, self.path)
            cut_half_line(file, self.path)
            appender = Appender(file)
            header = {"header": {"format": FORMAT, **environment(), "settings": settings}}
            # A plain run and the run that resumes it share one header.
            headers = self.read().headers
            if not headers or {"header": headers[-1]} != header:
                appender.append_line(header)
            yield appender

    def _sort(self, line: bytes, number: int, contents: Contents) -> None:
        try:
            values = json.loads(line)
            if "header" in values:
                contents.headers.append(values["header"])
            elif "cell" in values:
                contents.records.extend(unpacked(values["cell"]))
            else:
                contents.records.append(Record.from_json(values))
        except (ValueError, TypeError, LookupError) as error:
            raise StoreError(
                f"line {number} of {self.path} is not a record ({error}): remove the line, and its task runs "
                "again"
            ) from error


@dataclass(frozen=True)
class Appender:
    """Writes records that survive a crash once :meth:`append` has returned."""

    file: IO[bytes]

    def append(self, record: Record) -> None:
        """Add a record."""
        self.append_line(record.to_json())

    def append_line(self, values: Json) -> None:
        """Add a line and wait until the disk has it."""
        self.file.write(canonical(values).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())


def whole_lines(path: Path) -> list[bytes]:
    """The lines of a file that end, or none if there is no file."""
    if not path.exists():
        return []
    return path.read_bytes().split(b"\n")[:-1]


def cut_half_line(file: IO[bytes], path: Path) -> None:
    """Drop what follows the last end of a line."""
    file.truncate(path.read_bytes().rfind(b"\n") + 1)


def lock(file: IO[bytes], path: Path) -> None:
    """Refuse a second writer; the system lifts the lock however the first one ends."""
    if sys.platform == "win32":
        return
    import fcntl  # noqa: PLC0415  not on every platform

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreError(
            f"another run is writing to {path}: wait for it, or write to another folder"
        ) from None
