"""Write the tables of the docs anew from docs/results: ``python benchmarks/refresh_docs.py``.

A table is known by its title in bold; the text around it stays as it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner

from sturdygp.cli.main import main

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = (
    *(DOCS / name for name in ("reproduction.md", "performance.md", "scaling.md", "which-estimator.md")),
    *(DOCS / name for name in ("asor.md", "contamination.md", "clean-data.md", "guide/command-line.md")),
)
COMMANDS = (
    ("fig1a",),
    ("fig1a", "--convention", "std", "--baselines", "as-published"),
    ("fig1b",),
    ("fig1b", "--convention", "std", "--baselines", "as-published"),
    ("fig1c",),
    ("fig1c", "--convention", "std", "--baselines", "as-published"),
    ("table1",),
    ("field",),
    ("claims",),
)
TABLE = re.compile(r"^(\*\*.+\*\*)\n\n((?:\|.*\n)+)", re.MULTILINE)


def texts() -> Iterator[str]:
    """What the commands and benchmarks print."""
    for arguments in COMMANDS:
        done = CliRunner().invoke(main, ["table", *arguments, "--results", str(DOCS / "results")])
        if done.exception is not None:
            raise done.exception
        yield done.stdout
    sys.path.insert(0, str(ROOT))
    from benchmarks import (  # noqa: PLC0415
        accuracy,
        asor,
        clean,
        field_limits,
        flagging,
        large,
        limits,
        peers,
        series,
        speed,
        weak_signal,
        which,
    )

    for benchmark in (asor, speed, large):
        kept = benchmark.stored()
        yield from (table(kept[part]) for part, table in benchmark.TABLES.items() if part in kept)
    yield which.decision_table().markdown()
    yield accuracy.markdown()
    yield limits.markdown()
    yield from (
        each.table(each.stored()) for each in (clean, field_limits, flagging, peers, series, weak_signal)
    )


def printed() -> dict[str, str]:
    """Every table by its title."""
    return {title: body for text in texts() for title, body in TABLE.findall(text + "\n")}


def refreshed(text: str, tables: dict[str, str]) -> str:
    """The same text with the tables that were printed; a title that none has is an error."""
    return TABLE.sub(lambda found: f"{found[1]}\n\n{tables[found[1]]}", text)


if __name__ == "__main__":
    found = printed()
    for page in PAGES:
        page.write_text(refreshed(page.read_text(), found))
