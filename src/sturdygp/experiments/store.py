"""Results on disk: one JSON line for each record, appended and never changed.

A run that is killed can leave half a line at the end. Such a line is ignored when the file is read, and the
next run removes it. A header line describes the environment of the records after it: versions, processor,
settings. A run in another environment adds a header of its own.

There is a short form to be kept in a repository: one line, a cell, for all trials of a task. Values that the
trials have in common are written once, the others as lists. Scores and times are rounded to six digits;
nothing else is lost.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from threadpoolctl import threadpool_info

from sturdygp.experiments.record import Record
from sturdygp.experiments.task import Json, canonical
from sturdygp.experiments.trial import BLAS_THREADS

FORMAT = 1
PACKAGES = ("sturdygp", "numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "distributed")
CPU_INFO = Path("/proc/cpuinfo")
# Significant digits of scores and times in the short form, far finer than differences between trials.
DIGITS = 6
# Joins the names of nested dictionaries.
DOT = "."


class StoreError(ValueError):
    """Failure to read or write a file of results; the message says why and what to do."""


@dataclass(frozen=True)
class Contents:
    """Headers and records of a file."""

    headers: list[Json]
    records: list[Record]


@dataclass(frozen=True)
class ResultStore:
    """File of results, which need not exist yet."""

    path: Path

    def read(self) -> Contents:
        """Read headers and records; half a line at the end is ignored, also during a run."""
        contents = Contents([], [])
        for number, line in enumerate(whole_lines(self.path), start=1):
            self._sort(line, number, contents)
        return contents

    def records(self) -> list[Record]:
        """Read all records."""
        return self.read().records

    def hashes(self) -> set[str]:
        """Return the hashes of the tasks that have a record."""
        return {record.task.hash for record in self.records()}

    def pack(self, path: Path) -> None:
        """Write all headers and records to another file in the short form, which :meth:`read` reads, too."""
        contents = self.read()
        lines = [{"header": header} for header in contents.headers]
        lines += [{"cell": cell} for cell in packed(contents.records)]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{canonical(line)}\n" for line in lines), encoding="utf-8")

    @contextmanager
    def writing(self, settings: Json) -> Iterator[Appender]:
        """Open the file to append records; it is repaired if necessary, and locked for other writers."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            lock(file, self.path)
            cut_half_line(file, self.path)
            appender = Appender(file)
            header = {"header": {"format": FORMAT, **environment(), "settings": settings}}
            # A run and the run that resumes it share one header.
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
    """Writer of records, which survive a crash once :meth:`append` has returned."""

    file: IO[bytes]

    def append(self, record: Record) -> None:
        """Add a record."""
        self.append_line(record.to_json())

    def append_line(self, values: Json) -> None:
        """Add a line and wait until it is on disk."""
        self.file.write(canonical(values).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())


# ------------------------------------------------------------------------------------------ files


def whole_lines(path: Path) -> list[bytes]:
    """Return the complete lines of a file; none if there is no file."""
    if not path.exists():
        return []
    return path.read_bytes().split(b"\n")[:-1]


def cut_half_line(file: IO[bytes], path: Path) -> None:
    """Remove an incomplete last line."""
    file.truncate(path.read_bytes().rfind(b"\n") + 1)


def lock(file: IO[bytes], path: Path) -> None:
    """Lock the file against other writers; the system removes the lock when this process ends."""
    if sys.platform == "win32":
        return
    import fcntl  # noqa: PLC0415  not on every platform

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreError(
            f"another run is writing to {path}: wait for it, or write to another folder"
        ) from None


# ---------------------------------------------------------------------------------- the short form


def packed(records: Iterable[Record]) -> list[Json]:
    """Make one cell for each group of tasks that differ only in their trials."""
    groups: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        groups[canonical({**record.task.to_json(), "trial": None})].append(record)
    return [pack(group) for _, group in sorted(groups.items())]


def pack(records: Iterable[Record]) -> Json:
    """Make a cell of records: the values that they have in common, and lists of the others."""
    rows = [flattened(rounded(record)) for record in sorted(records, key=lambda record: record.task.trial)]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    # The trial is always a list: its length is the number of records.
    same = {
        name: values[0]
        for name, values in columns.items()
        if name != "task.trial" and all(value == values[0] for value in values)
    }
    return {"same": same, "each": {name: values for name, values in columns.items() if name not in same}}


def unpacked(cell: Mapping[str, Any]) -> list[Record]:
    """Return the records of a cell."""
    each = cell["each"]
    rows = [dict(zip(each, values, strict=True)) for values in zip(*each.values(), strict=True)]
    return [Record.from_json(nested({**cell["same"], **row})) for row in rows]


def rounded(record: Record) -> Json:
    """Round the scores and times of a record, and drop the hash, which follows from the task."""
    values = record.to_json()
    del values["hash"]
    for numbers in (values["result"]["scores"], values["timing"]):
        numbers.update({name: six_digits(value) for name, value in numbers.items()})
    return values


def six_digits(value: float | None) -> float | None:
    """Round a number to six significant digits."""
    return None if value is None else float(f"{value:.{DIGITS}g}")


def flattened(values: Mapping[str, Any], prefix: str = "") -> Json:
    """Flatten a dictionary of dictionaries, with dots in the names.

    Examples
    --------
    >>> flattened({"a": 1, "b": {"c": 2, "d": {"e": 3}}})
    {'a': 1, 'b.c': 2, 'b.d.e': 3}
    """
    out: Json = {}
    for name, value in values.items():
        out |= (
            flattened(value, f"{prefix}{name}{DOT}")
            if isinstance(value, dict)
            else {f"{prefix}{name}": value}
        )
    return out


def nested(values: Mapping[str, Any]) -> Json:
    """Invert :func:`flattened`.

    Examples
    --------
    >>> nested({"a": 1, "b.c": 2, "b.d.e": 3})
    {'a': 1, 'b': {'c': 2, 'd': {'e': 3}}}
    """
    out: Json = {}
    for path, value in values.items():
        *outer, name = path.split(DOT)
        place = out
        for step in outer:
            place = place.setdefault(step, {})
        place[name] = value
    return out


# ----------------------------------------------------------------------------------- environment


def environment() -> Json:
    """Describe versions and hardware of this process, without names of the machine or its user."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu_name(),
        "packages": {name: found for name in PACKAGES if (found := installed(name)) is not None},
        "blas": sorted({f"{each['internal_api']} {each['version']}" for each in threadpool_info()}),
        "blas_threads": BLAS_THREADS,
    }


def installed(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def cpu_name() -> str:
    """Return the name of the processor, as far as the system provides it."""
    if CPU_INFO.is_file():
        for line in CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
