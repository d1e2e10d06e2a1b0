"""The command as a process: the streams that it has, how it ends, and what its errors look like."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from sturdygp.cli.say import printable, tell

# What shells take a process for that Ctrl-C ended: 128 and the number of the signal.
INTERRUPTED = 130
STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}


class Commands(click.Group):
    """A group of commands that may be run without some of its streams, and interrupted."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command."""
        open_streams()
        return super().main(*args, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """What stands before the command."""
        with errors_printable():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """The command and what stands behind it."""
        try:
            with errors_printable():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            tell("Interrupted", err=True)
            ctx.exit(INTERRUPTED)


def open_streams() -> None:
    """Open streams that the shell closed, as with ``2>&-``, to nowhere: else files would take their place."""
    for number, (name, mode) in enumerate(STREAMS.items()):
        if getattr(sys, name) is not None:
            continue
        nowhere = os.open(os.devnull, os.O_RDWR)
        try:
            os.fstat(number)
        except OSError:
            os.dup2(nowhere, number)
        setattr(sys, name, os.fdopen(nowhere, mode))


@contextmanager
def errors_printable() -> Iterator[None]:
    """Errors quote names and cells, in which there may be anything."""
    try:
        yield
    except click.ClickException as error:
        # Click calls it final, and has no other way to say the same error otherwise.
        vars(error)["message"] = printable(error.message)
        raise
