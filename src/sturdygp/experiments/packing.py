"""Records in a short form, to be kept in a repository: all trials of a task on one line.

What the trials have in common stands once, the rest as lists. Scores and times are rounded to six digits,
far below what differs between trials; nothing else is lost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from sturdygp.experiments.record import Record
from sturdygp.experiments.task import Json, canonical

DIGITS = 6
DOT = "."


def packed(records: Iterable[Record]) -> list[Json]:
    """One cell for each group of tasks that differ in their trials alone."""
    groups: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        groups[canonical({**record.task.to_json(), "trial": None})].append(record)
    return [pack(group) for _, group in sorted(groups.items())]


def pack(records: Iterable[Record]) -> Json:
    """What records have in common, and lists of what they do not."""
    rows = [flat(rounded(record)) for record in sorted(records, key=lambda record: record.task.trial)]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    # The trial is a list even if there is one: it says how many there are.
    same = {
        name: values[0]
        for name, values in columns.items()
        if name != "task.trial" and all(value == values[0] for value in values)
    }
    return {"same": same, "each": {name: values for name, values in columns.items() if name not in same}}


def unpacked(cell: Mapping[str, Any]) -> list[Record]:
    """The records of a cell."""
    each = cell["each"]
    rows = [dict(zip(each, values, strict=True)) for values in zip(*each.values(), strict=True)]
    return [Record.from_json(nested({**cell["same"], **row})) for row in rows]


def rounded(record: Record) -> Json:
    """A record without the digits that mean nothing, and without the hash, which follows from the task."""
    values = record.to_json()
    del values["hash"]
    for numbers in (values["result"]["scores"], values["timing"]):
        numbers.update({name: shortened(value) for name, value in numbers.items()})
    return values


def shortened(value: float | None) -> float | None:
    """A number with six digits."""
    return None if value is None else float(f"{value:.{DIGITS}g}")


def flat(values: Mapping[str, Any], prefix: str = "") -> Json:
    """A dictionary of dictionaries as one, with dots in its names.

    Examples
    --------
    >>> flat({"a": 1, "b": {"c": 2, "d": {"e": 3}}})
    {'a': 1, 'b.c': 2, 'b.d.e': 3}
    """
    out: Json = {}
    for name, value in values.items():
        out |= flat(value, f"{prefix}{name}{DOT}") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return out


def nested(values: Mapping[str, Any]) -> Json:
    """The inverse of :func:`flat`.

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
