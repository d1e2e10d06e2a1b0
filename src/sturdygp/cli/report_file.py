"""The report that the command flag writes beside its table."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sturdygp.cli.files import check_new, replacing
from sturdygp.cli.say import Saying
from sturdygp.cli.tables import FlagFiles
from sturdygp.tables.flagging import FlagResult

INSTALL = "a report needs the extra of that name: pip install 'sturdygp[report]'"
LIBRARIES = ("jinja2", "markupsafe", "plotly")
MEGABYTE = 1e6


@dataclass(frozen=True)
class Report:
    """Where to write a report and what writes it; if there is none, why."""

    path: Path
    writer: Callable[[FlagResult, Path, Path], None] | None
    absence: str = ""

    @classmethod
    def wanted(cls, files: FlagFiles, data: Path, out: Path) -> Self:
        """Whatever would keep the report from being written is told before the work begins."""
        path = files.report or out.with_suffix(".html")
        if files.no_report:
            return cls(path, None)
        check_new(path, "--report", {"the table itself": data, "the table of results": out})
        try:
            writer = importlib.import_module("sturdygp.report.html.page").write_report
        except ModuleNotFoundError as error:
            if error.name not in LIBRARIES:
                raise
            if files.report:
                raise ImportError(INSTALL) from error
            return cls(path, None, f"none; {INSTALL}")
        return cls(path, writer)

    def write(self, result: FlagResult, data: Path, saying: Saying) -> None:
        """Write it, and say where it is."""
        if self.writer is None:
            saying.add(report=None)
            if self.absence:
                saying.line("Report", self.absence)
            return
        with replacing(self.path) as path:
            self.writer(result, data, path)
        size = self.path.stat().st_size / MEGABYTE
        saying.line("Report", f"{self.path} ({size:.1f} MB), for a browser", report=str(self.path))
