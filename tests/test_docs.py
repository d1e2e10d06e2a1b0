"""Every block of README and docs that can run does, and prints what stands below it; tables are those of the
stored results; every example of the gallery runs.
"""

import contextlib
import doctest
import importlib
import importlib.util
import io
import re
import shlex
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from click.testing import CliRunner

from sturdygp.cli.main import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
# A block of Python or of commands, and what it prints if that is shown.
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)

TABLE = "hour,temperature\n" + "".join(f"{hour},{85 if hour == 7 else 20 + hour % 5}\n" for hour in range(30))


def run_python(source, page, namespace):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, str(page), "exec"), namespace)
    return printed.getvalue()


def run_commands(lines):
    printed = ""
    for line in lines.splitlines():
        program, *arguments = shlex.split(line, comments=True) or [""]
        assert program in ("sturdygp", "")
        if not program:
            continue
        done = CliRunner().invoke(main, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        printed += done.stdout
    return printed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Pages that do not make a table of their own show commands on this one.
    for name in ("data.csv", "new.csv"):
        (tmp_path / name).write_text(TABLE)
    namespace: dict[str, object] = {}
    for kind, source, shown in BLOCK.findall(page.read_text(encoding="utf-8")):
        printed = run_commands(source) if kind == "sh" else run_python(source, page, namespace)
        # Three dots stand for what depends on the machine.
        same = doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS)
        assert not shown or same, f"the page shows\n{shown}\nbut this was printed:\n{printed}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path, monkeypatch):
    plt.switch_backend("Agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    # An example may set filters of its own.
    with warnings.catch_warnings():
        run_python(path.read_text(encoding="utf-8"), path, {"__name__": "__main__"})
    assert plt.get_fignums()


@pytest.mark.parametrize("module", ["sturdygp", "sturdygp.kernels", "sturdygp.plot", "sturdygp.datasets"])
def test_everything_public_is_on_the_page_of_the_api(module):
    listed = set(re.findall(r"^   (\w+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE))
    # A table of files is data, not a thing to call.
    assert set(importlib.import_module(module).__all__) - listed <= {"FILES"}


def test_tables_are_those_of_the_results():
    spec = importlib.util.spec_from_file_location("refresh_docs", ROOT / "benchmarks" / "refresh_docs.py")
    refresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(refresh)
    tables = refresh.printed()
    for page in refresh.PAGES:
        text = page.read_text(encoding="utf-8")
        assert refresh.TABLE.search(text)
        assert refresh.refreshed(text, tables) == text
