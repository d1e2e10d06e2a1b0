"""Names and colours, the same in every figure and table.

Grey is the standard model; black and silver are the oracles.
"""

from __future__ import annotations

from collections.abc import Iterable

from sturdygp.experiments.methods import METHODS
from sturdygp.plot.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SILVER, SKY, YELLOW

# In the order of legends and rows. Variants of a method share its colour and differ in their markers.
COLOURS: dict[str, str] = {
    "standard": GREY,
    "rcgp": YELLOW,
    "student-t": PURPLE,
    "mixture": GREEN,
    "asor": ORANGE,
    "asor-single": ORANGE,
    "asor-gem": ORANGE,
    "robust": BLUE,
    "robust-many": SKY,
    "oracle": BLACK,
    "oracle-centred": SILVER,
}
MARKERS: dict[str, str] = {
    "standard": "s",
    "rcgp": "v",
    "student-t": "^",
    "mixture": "D",
    "asor": "o",
    "asor-single": "P",
    "asor-gem": "*",
    "robust": "X",
    "robust-many": "x",
    "oracle": "<",
    "oracle-centred": ">",
}
DATASETS: dict[str, str] = {
    "synthetic": "Synthetic",
    "air-quality": "Air Quality",
    "energy": "Energy Efficiency",
    "gp-sample": "Synthetic",
    "energy-heating": "Energy (heating)",
    "yacht": "Yacht",
    "neal": "Neal",
    "motorcycle": "Motorcycle",
}


def label(method: str) -> str:
    """The name of a method for readers."""
    return METHODS[method].label


def in_order(methods: Iterable[str]) -> tuple[str, ...]:
    """Methods in the order of legends and rows, each once."""
    wanted = set(methods)
    return tuple(method for method in COLOURS if method in wanted)


def is_oracle(method: str) -> bool:
    """Whether a method is told what no user knows."""
    return METHODS[method].told != "nothing"
