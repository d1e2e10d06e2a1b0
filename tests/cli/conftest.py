"""The command line, driven as a user would."""

import pytest
from click.testing import CliRunner

from sturdygp.cli.main import main


@pytest.fixture
def command():
    return lambda *arguments: CliRunner().invoke(main, [str(each) for each in arguments])
