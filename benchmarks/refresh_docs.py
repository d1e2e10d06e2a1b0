"""Write the tables of docs/reproduction.md anew from docs/results: ``python benchmarks/refresh_docs.py``.

A table is known by its title in bold; the text around it stays as it is.
"""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from sturdygp.cli.main import main

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "reproduction.md"
PRINTED_BY = (
    ("fig1a",),
    ("fig1a", "--reading", "std", "--baselines", "as-published"),
    ("fig1b",),
    ("fig1c",),
    ("table1",),
    ("field",),
    ("claims",),
)
TABLE = re.compile(r"^(\*\*.+\*\*)\n\n((?:\|.*\n)+)", re.MULTILINE)


def printed() -> dict[str, str]:
    """Every table that the commands print, by its title."""
    tables: dict[str, str] = {}
    for arguments in PRINTED_BY:
        done = CliRunner().invoke(main, ["table", *arguments, "--results", str(DOCS / "results")])
        if done.exception is not None:
            raise done.exception
        tables |= dict(TABLE.findall(done.stdout + "\n"))
    return tables


def refreshed(text: str, tables: dict[str, str]) -> str:
    """The same text with the tables that were printed; a title that none has is an error."""
    return TABLE.sub(lambda found: f"{found[1]}\n\n{tables[found[1]]}", text)


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(), printed()))
