"""The figure and the tables of each suite."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from sturdygp.experiments.record import Record
from sturdygp.experiments.suites import SUITES
from sturdygp.report.boxes import box_figure
from sturdygp.report.field import field_tables
from sturdygp.report.grid import Panel, Setting, panels
from sturdygp.report.loglog import time_figure
from sturdygp.report.paired import paired_tables
from sturdygp.report.ranking import ranking_tables, settings_table
from sturdygp.report.runtime import runtime_tables, runtimes
from sturdygp.report.table import Table, counted

TIMED, FIELD = "table1", "field"
# The errors of the field's benchmark have four levels, which a table shows better.
SUITES_WITH_FIGURE = tuple(name for name in SUITES if name != FIELD)
# The paper's method and ours.
SUBJECTS = ("asor", "robust")


def suite_figure(suite: str, records: Sequence[Record], width: float) -> Figure:
    """The figure of a suite, from records of one setting."""
    if suite == TIMED:
        return time_figure(runtimes(records), width)
    return box_figure(panels(records), width)


def suite_tables(suite: str, records: Sequence[Record], setting: Setting) -> list[Table]:
    """All tables of a suite, from records of one setting."""
    trials = len({record.task.trial for record in records})
    name = f"{suite} ({setting}; {counted(trials, 'trial')})"
    if suite == TIMED:
        tables = runtime_tables(runtimes(records), name)
    elif suite == FIELD:
        tables = field_tables(records, name)
    else:
        tables = [table for panel in panels(records) for table in panel_tables(panel, name)]
    return [*tables, settings_table(records, name)]


def panel_tables(panel: Panel, name: str) -> list[Table]:
    """Errors, ranks and paired tests of one panel."""
    grid, title = panel.errors, f"{name}, {panel.title}"
    tables = ranking_tables(grid, title)
    for subject in SUBJECTS:
        if subject in grid.methods and len(grid.methods) > 1:
            tables += paired_tables(grid, subject, title)
    return tables
