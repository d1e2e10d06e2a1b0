"""Every Python block in README and docs runs, and tables are those of the stored results."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(compile(block, str(page), "exec"), namespace)


def test_tables_are_those_of_the_results():
    spec = importlib.util.spec_from_file_location("refresh_docs", ROOT / "benchmarks" / "refresh_docs.py")
    refresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(refresh)
    tables = refresh.printed()
    for page in refresh.PAGES:
        text = page.read_text(encoding="utf-8")
        assert refresh.TABLE.search(text)
        assert refresh.refreshed(text, tables) == text
