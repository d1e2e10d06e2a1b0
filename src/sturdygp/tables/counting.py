"""How many there are of something, in words."""

from __future__ import annotations


def counted(number: int, noun: str, several: str | None = None) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "row"), counted(2, "cell is", "cells are")
    ('1 row', '2 rows', '2 cells are')
    """
    return f"{number} {noun if number == 1 else several or f'{noun}s'}"
