"""Console output: lines for a person, or one JSON document for a program."""

from __future__ import annotations

import json
import os
import re
import sys
from textwrap import fill
from typing import Any

import click

WIDTH = 80
INDENT = 10
# Control characters but for tabs and ends of lines, marks that turn the direction of writing, and halves of
# characters, which stand for bytes of file names that are no text.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Console:
    """Collects what there is to say: a person sees it at once, a program at the end."""

    def __init__(self, as_json: bool, quiet: bool, document: dict[str, Any]) -> None:
        self._as_json = as_json
        self._quiet = quiet
        self._document = document

    def line(self, heading: str, text: str, **values: Any) -> None:
        """Print a paragraph with its heading in the margin; the values are for the document."""
        self.add(**values)
        if not (self._as_json or self._quiet):
            echo(paragraph(heading, text))

    def items(self, heading: str, texts: tuple[str, ...], name: str) -> None:
        """A paragraph for each text."""
        self.add(**{name: list(texts)})
        for index, text in enumerate(texts):
            self.line("" if index else heading, text)

    def add(self, **values: Any) -> None:
        """For the document alone."""
        self._document.update(values)

    def finish(self) -> None:
        """Print the document if the user wants JSON."""
        if self._as_json:
            echo(json.dumps(self._document, indent=1))


def echo(text: str, *, err: bool = False) -> None:
    """Print a text; if nobody reads any more, as with ``| head -1``, the command goes on in silence."""
    try:
        click.echo(printable(text), err=err)
    except OSError as error:
        # The stream itself has to lead elsewhere, since what it still holds is written when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())
        if not isinstance(error, BrokenPipeError):
            raise OSError(
                f"what the command prints cannot be written ({error.strerror}); send it elsewhere"
            ) from error


def printable(text: str) -> str:
    r"""A text without what a terminal obeys or cannot show, which is written as in programs.

    Names and cells of a table may hold anything, also what clears a screen or changes the order of letters.

    Examples
    --------
    >>> print(printable("red\x1b[31m and \u202egnp.exe"))
    red\x1b[31m and \u202egnp.exe
    """
    return OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def paragraph(heading: str, text: str) -> str:
    """Text within the width of a terminal, its heading in the margin.

    Examples
    --------
    >>> text = "time (hours since 2024-01-01), temperature, humidity, air pressure, light"
    >>> print(paragraph("Inputs", text))
    Inputs    time (hours since 2024-01-01), temperature, humidity, air pressure,
              light
    """
    return fill(
        printable(text),
        WIDTH,
        initial_indent=heading.ljust(INDENT),
        subsequent_indent=" " * INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
