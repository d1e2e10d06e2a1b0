"""How figures look, whatever they show."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from matplotlib import style
from matplotlib.figure import Figure

SMALL_TEXT = 7.0
# Legible where a journal prints a column 3.5 inches wide.
LOOK: dict[str, Any] = {
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": SMALL_TEXT,
    "ytick.labelsize": SMALL_TEXT,
    "legend.fontsize": SMALL_TEXT,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.linewidth": 0.3,
    "grid.color": "#D0D0D0",
    # Letters stay letters in a PDF.
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
}


def look() -> AbstractContextManager[None]:
    """The look of figures that are made or saved inside; nothing stays changed for others."""
    return style.context(LOOK)


def save(figure: Figure, path: Path) -> None:
    """Write a figure, PNG or PDF by the ending of the file.

    Raises
    ------
    ValueError
        The ending names no format that figures can be written in.
    """
    with look():
        figure.savefig(path)
