"""The page: what it says about each target, put into its template."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline.offline import get_plotlyjs

from sturdygp.report.html.section import section
from sturdygp.tables.flagging import FlagResult
from sturdygp.tables.words import rows_in_words, summaries


def write_report(result: FlagResult, data: Path, path: Path) -> None:
    """Write a report of a flagged table; ``data`` names it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(result, data.name), encoding="utf-8")


def page(result: FlagResult, name: str) -> str:
    """The report as HTML; nothing in the table becomes markup or script."""
    environment = Environment(
        loader=PackageLoader("sturdygp.report.html", "parts"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found = summaries(result.fit)
    sections = [section(result, index, found[target]) for index, target in enumerate(found)]
    scripts = [get_plotlyjs(), part(environment, "report.js")]
    return environment.get_template("page.html").render(
        name=name,
        version=version("sturdygp"),
        method=type(result.fit.model.estimator).__name__,
        threshold=result.threshold,
        rows=rows_in_words(result.fit.rows),
        inputs=[column.describe() for column in result.prepared.plan.inputs],
        left_out=result.prepared.left_out,
        notes=(*result.file.notes, *result.prepared.notes, *result.fit.notes),
        sections=sections,
        charts={f"{key}-{i}": c.plain() for i, each in enumerate(sections) for key, c in each.charts.items()},
        style=Markup(part(environment, "report.css")),
        scripts=[Markup(script) for script in scripts],
        hashes=[fingerprint(script) for script in scripts],
    )


def part(environment: Environment, name: str) -> str:
    """A file that goes into the page as it is."""
    loader = environment.loader
    return "" if loader is None else loader.get_source(environment, name)[0]


def fingerprint(script: str) -> str:
    """By which the page's security policy knows a script; others do not run, wherever they come from."""
    return b64encode(sha256(script.encode("utf-8")).digest()).decode("ascii")
