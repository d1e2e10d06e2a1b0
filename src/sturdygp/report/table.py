"""Tables as data, formatted as Markdown or LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isnan
from typing import Self

# Characters. A column with longer cells gets a fixed width in LaTeX, which then breaks its lines.
LONG_CELL = 40
WIDTH_OF_LONG_COLUMNS = 0.8
NUMBER = re.compile(r"[<-]?\d")
# Only characters that Markdown would interpret: not those of n_starts and <0.001.
MARKDOWN = re.compile(r"([\\|*`]|(?<!\w)_|_(?!\w)|<(?=[A-Za-z/!?]))")
LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


class Strong(str):
    """Cell in bold."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    r"""Table with a title, a header, rows of as many cells, and notes below.

    Examples
    --------
    >>> table = Table("Errors", ("method", "RMSE"), (("A & B", "0.1"), ("C", Strong("0.05"))), ("30 trials",))
    >>> print(table.markdown())
    **Errors**
    <BLANKLINE>
    | method | RMSE |
    |---|---:|
    | A & B | 0.1 |
    | C | **0.05** |
    <BLANKLINE>
    30 trials
    >>> r"A \& B & 0.1 \\" in table.latex()
    True
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse rows that do not fit under the header."""
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"a row of {self.title!r} has {len(row)} cells, not {len(self.header)}")

    def with_notes(self, notes: Iterable[str]) -> Self:
        """Return the table with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def markdown(self) -> str:
        """Format the table as Markdown."""
        rule = "|".join("---:" if numeric else "---" for numeric in self._numeric_columns())
        lines = [f"**{markdown(self.title)}**", "", bars(self.header), f"|{rule}|"]
        lines += [bars(row) for row in self.rows]
        for note in self.notes:
            lines += ["", markdown(note)]
        return "\n".join(lines)

    def latex(self) -> str:
        """Format the table as LaTeX; the document must load booktabs."""
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex(self.title)}}}",
            rf"\begin{{tabular}}{{{self._latex_columns()}}}",
            r"\toprule",
            ampersands(self.header),
            r"\midrule",
            *map(ampersands, self.rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        # A blank line before each note makes it a paragraph.
        for note in self.notes:
            lines += ["", rf"{{\footnotesize {latex(note)}}}"]
        return "\n".join([*lines, r"\end{table}"])

    def _columns(self) -> list[tuple[str, ...]]:
        return list(zip(*self.rows, strict=True)) if self.rows else [() for _ in self.header]

    def _numeric_columns(self) -> list[bool]:
        return [any(map(is_number, column)) and all(map(is_entry, column)) for column in self._columns()]

    def _latex_columns(self) -> str:
        longest = [max(map(len, column), default=0) for column in self._columns()]
        total = sum(length for length in longest if length > LONG_CELL)
        return "".join(
            rf"p{{{WIDTH_OF_LONG_COLUMNS * length / total:.2f}\linewidth}}"
            if length > LONG_CELL
            else ("r" if numeric else "l")
            for length, numeric in zip(longest, self._numeric_columns(), strict=True)
        )


def is_number(cell: str) -> bool:
    """Return whether a cell begins like a number."""
    return NUMBER.match(cell) is not None


def is_entry(cell: str) -> bool:
    """Return whether a cell may be in a column of numbers."""
    return cell in ("", "-") or is_number(cell)


def bars(row: Iterable[str]) -> str:
    """Format one row of a Markdown table."""
    cells = (f"**{markdown(cell)}**" if isinstance(cell, Strong) else markdown(cell) for cell in row)
    return f"| {' | '.join(cells)} |"


def ampersands(row: Iterable[str]) -> str:
    """Format one row of a LaTeX table."""
    cells = (rf"\textbf{{{latex(cell)}}}" if isinstance(cell, Strong) else latex(cell) for cell in row)
    return " & ".join(cells) + r" \\"


def markdown(text: str) -> str:
    """Escape text for Markdown."""
    return MARKDOWN.sub(r"\\\1", text)


def latex(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(LATEX.get(character, character) for character in text)


def number(value: float) -> str:
    """Format a number with three significant digits; trials differ by more.

    Examples
    --------
    >>> [number(value) for value in (0.09876, 1.0, 12345.6, float("nan"))]
    ['0.0988', '1.00', '12346', '-']
    """
    if isnan(value):
        return "-"
    return f"{value:.0f}" if abs(value) >= 100.0 else f"{value:#.3g}"


def listed(words: Iterable[str]) -> str:
    """Join words into a list.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, thing: str) -> str:
    """Format a number of things.

    Examples
    --------
    >>> counted(1, "trial"), counted(30, "trial")
    ('1 trial', '30 trials')
    """
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def probability(p: float) -> str:
    """Format a p-value.

    Examples
    --------
    >>> [probability(p) for p in (0.5, 0.0123, 0.0002, float("nan"))]
    ['0.500', '0.012', '<0.001', '-']
    """
    if isnan(p):
        return "-"
    return "<0.001" if p < 0.001 else f"{p:.3f}"
