"""Progress of a run on a terminal; nothing where there is none."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TextIO

from sturdygp.estimators.callbacks import Progress as FitProgress

WIDTH = 30
# Drawing for every one of many short tasks would cost more than it tells.
REDRAW_SECONDS = 0.2


@dataclass
class Progress:
    """A bar with the time left, judged by the mean time of what this run has done so far."""

    total: int
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    done: int = 0
    failed: int = 0
    started: float = field(default_factory=time.monotonic)
    drawn: float = float("-inf")

    def advance(self, *, failed: bool) -> None:
        """One more task is done."""
        self.done += 1
        self.failed += failed
        now = time.monotonic()
        if self.stream.isatty() and (now - self.drawn > REDRAW_SECONDS or self.done == self.total):
            self.drawn = now
            end = "\n" if self.done == self.total else ""
            # Back to the first column of the line, and clear it.
            self.stream.write(f"\r\x1b[K{self.line(now - self.started)}{end}")
            self.stream.flush()

    def line(self, elapsed: float) -> str:
        """The bar.

        Examples
        --------
        >>> Progress(total=40, done=10, failed=1).line(60.0)
        '[#######-----------------------]  10/40  3 min left, 1 failed'
        """
        filled = WIDTH * self.done // self.total
        bar = "#" * filled + "-" * (WIDTH - filled)
        left = elapsed / self.done * (self.total - self.done)
        failures = f", {self.failed} failed" if self.failed else ""
        return f"[{bar}]  {self.done}/{self.total}  {in_words(left)} left{failures}"


@dataclass
class Waiting:
    """Message meanwhile: no time that is left, since a fit may optimise from several initialisations."""

    message: str
    targets: int = 1
    started: float = field(default_factory=time.monotonic)
    heard: FitProgress | None = None

    def update(self, progress: FitProgress) -> None:
        """A fit is further."""
        self.heard = progress

    def line(self, now: float) -> str:
        """The time that has passed, and how far the fit is if that is known.

        Examples
        --------
        >>> heard = FitProgress(output=0, iteration=31, bound=-5.0, seconds=6.0, seconds_left=20.0)
        >>> Waiting("Fitting 9 rows", targets=2, started=0.0, heard=heard).line(7.0)
        'Fitting 9 rows, 7 s, target 1 of 2, iteration 31'
        """
        words = [self.message, in_words(now - self.started)]
        if self.heard is not None:
            several = [f"target {self.heard.output + 1} of {self.targets}"] if self.targets > 1 else []
            words += [*several, f"iteration {self.heard.iteration}"]
        return ", ".join(words)


@contextmanager
def waiting(state: Waiting, stream: TextIO | None = None, *, quiet: bool = False) -> Iterator[Waiting]:
    """A line that shows on a terminal that something goes on."""
    shown = stream or sys.stderr
    if quiet or not shown.isatty():
        yield state
        return
    done = Event()

    def tick() -> None:
        while not done.wait(REDRAW_SECONDS):
            shown.write(f"\r\x1b[K{state.line(time.monotonic())}")
            shown.flush()

    ticking = Thread(target=tick, daemon=True)
    ticking.start()
    try:
        yield state
    finally:
        done.set()
        ticking.join()
        shown.write("\r\x1b[K")
        shown.flush()


def in_words(seconds: float) -> str:
    """A duration as one would say it.

    Examples
    --------
    >>> in_words(42.0), in_words(600.0), in_words(9000.0)
    ('42 s', '10 min', '2 h 30 min')
    """
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
