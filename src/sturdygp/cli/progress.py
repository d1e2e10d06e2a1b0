"""How far a run is, on a terminal; nothing where nobody looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TextIO

from sturdygp.estimators.progress import Progress as FitProgress

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
            # Back to the start of the line, and clear it.
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
    """What is shown meanwhile."""

    message: str
    started: float = field(default_factory=time.monotonic)
    left: float | None = None

    def tell(self, progress: FitProgress) -> None:
        """A fit is further."""
        self.left = progress.seconds_left

    def line(self, now: float) -> str:
        """The time that has passed, and what is left of it if that is known.

        Examples
        --------
        >>> Waiting("Fitting 9 rows", started=0.0, left=20.0).line(7.0)
        'Fitting 9 rows, 7 s, about 20 s left'
        """
        left = "" if self.left is None else f", about {in_words(self.left)} left"
        return f"{self.message}, {in_words(now - self.started)}{left}"


@contextmanager
def waiting(message: str, stream: TextIO | None = None, *, quiet: bool = False) -> Iterator[Waiting]:
    """A line that shows on a terminal that something goes on."""
    shown, state = stream or sys.stderr, Waiting(message)
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
