"""The command itself."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from sturdygp.cli.main import main


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(main, arguments, catch_exceptions=False)


def test_main_prints_version_citation_and_help(run):
    assert "sturdygp" in run("--version").output
    assert "@article{majal2026asor" in run("--cite").output
    assert "demo" in run("--help").output


def test_main_is_the_package_as_a_command():
    command = [sys.executable, "-m", "sturdygp", "--version"]
    assert "sturdygp, version" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
