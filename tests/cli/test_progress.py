"""Progress is shown on terminals."""

import io
import time

from sturdygp.cli.progress import Progress, Waiting, waiting


def test_progress_is_shown_on_terminals_alone():
    quiet, terminal = io.StringIO(), io.StringIO()
    terminal.isatty = lambda: True
    for stream in (quiet, terminal):
        progress = Progress(2, stream)
        progress.advance(failed=True)
        progress.advance(failed=False)
    assert quiet.getvalue() == ""
    assert "1/2" in terminal.getvalue()
    assert terminal.getvalue().endswith("2/2  0 s left, 1 failed\n")


class Terminal:
    def __init__(self):
        self.written = []

    def isatty(self):
        return True

    def write(self, text):
        self.written.append(text)

    def flush(self):
        pass


def test_waiting_is_shown_on_a_terminal_and_cleared(monkeypatch):
    monkeypatch.setattr("sturdygp.cli.progress.REDRAW_SECONDS", 0.01)
    terminal = Terminal()
    with waiting(Waiting("Fitting 9 rows"), terminal):
        while not terminal.written:
            time.sleep(0.001)
    assert "Fitting 9 rows, 0 s" in terminal.written[0]
    assert terminal.written[-1] == "\r\x1b[K"
