"""Figure and tables of each suite, and notes on how its results were made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matplotlib.figure import Figure

from sturdygp.experiments.record import Record
from sturdygp.experiments.suites import SUITES
from sturdygp.experiments.task import Json
from sturdygp.report.accuracy import paired_tables, ranking_tables
from sturdygp.report.field import field_tables
from sturdygp.report.figures import box_figure, time_figure
from sturdygp.report.grid import Panel, Setting, in_order, label, panels
from sturdygp.report.runtime import runtime_tables, runtimes
from sturdygp.report.table import Table, counted

TIMED, FIELD = "table1", "field"
# The errors of the field's benchmark have four levels, which a table shows better.
SUITES_WITH_FIGURE = tuple(name for name in SUITES if name != FIELD)
# The paper's method and ours.
SUBJECTS = ("asor", "robust")


def suite_figure(suite: str, records: Sequence[Record], width: float) -> Figure:
    """Draw the figure of a suite from records of one setting."""
    if suite == TIMED:
        return time_figure(runtimes(records), width)
    return box_figure(panels(records), width)


def suite_tables(suite: str, records: Sequence[Record], setting: Setting) -> list[Table]:
    """Make all tables of a suite from records of one setting."""
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
    """Tabulate errors, ranks and paired tests of one panel."""
    grid, title = panel.errors, f"{name}, {panel.title}"
    tables = ranking_tables(grid, title)
    for subject in SUBJECTS:
        if subject in grid.methods and len(grid.methods) > 1:
            tables += paired_tables(grid, subject, title)
    return tables


def settings_table(records: Sequence[Record], title: str) -> Table:
    """Tabulate the estimator behind each method, with the arguments that are not its defaults."""
    found = {method: set[str]() for method in in_order(record.task.method for record in records)}
    for record in records:
        found[record.task.method].add(record.settings)
    rows = tuple((label(method), "; ".join(sorted(settings))) for method, settings in found.items())
    return Table(f"{title}: settings", ("method", "estimator"), rows)


def environment_notes(headers: Iterable[Json]) -> list[str]:
    """Write one note for each processor, set of versions and settings of a run, each once."""
    return list(dict.fromkeys(environment_note(header) for header in headers))


def environment_note(header: Json) -> str:
    """Write processor, versions and settings of a run, from the header of its results."""
    packages = ", ".join(f"{name} {version}" for name, version in header["packages"].items())
    settings = ", ".join(f"{name} {value}" for name, value in header["settings"].items())
    return (
        f"Made on {header['cpu']} ({header['system']}) with Python {header['python']}, {packages}; "
        f"{', '.join(header['blas'])}, {header['blas_threads']} thread; {settings}."
    )
