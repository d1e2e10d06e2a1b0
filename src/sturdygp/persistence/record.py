"""One JSON object of a saved model, read field by field; whatever is not as expected is an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from types import EllipsisType
from typing import Any

import numpy as np

from sturdygp._typing import BoolArray, FloatArray, IntArray
from sturdygp.exceptions import ModelFileError
from sturdygp.persistence.archive import AnyArray, Json

# JSON has no infinity.
INFINITE = {"inf": inf, "-inf": -inf}


def plain_number(value: float) -> float | str:
    """A number as JSON can hold it; the same bits come back."""
    value = float(value)
    return value if isfinite(value) else str(value)


@dataclass(frozen=True, eq=False)
class Record:
    """An object of the document, with the arrays that it may refer to; ``where`` it is, for messages."""

    where: str
    fields: Json
    arrays: Sequence[AnyArray]

    def fail(self, name: str, expected: str) -> ModelFileError:
        """The error that says what was expected."""
        return ModelFileError(f"{self.where}.{name} should be {expected}")

    def given(self, name: str) -> bool:
        """Tell whether the field is there and not null."""
        return self.fields.get(name) is not None

    def number(self, name: str) -> float:
        """A number, infinite ones included."""
        return as_number(self.fields.get(name), self.fail(name, "a number"))

    def finite(self, name: str, *, above: float = -inf, least: float = -inf, most: float = inf) -> float:
        """A finite number, greater than ``above`` and from ``least`` to ``most``."""
        value = self.number(name)
        if not (isfinite(value) and value > above and least <= value <= most):
            raise self.fail(name, f"a finite number{in_range(above, least, most)}, and is {value:g}")
        return value

    def count(self, name: str, least: int = 0) -> int:
        """A whole number that is not negative, or not less than another."""
        value = self.integer(name)
        if value < least:
            raise self.fail(name, f"{least} or more, and is {value}")
        return value

    def integer(self, name: str) -> int:
        """A whole number."""
        value = self.fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 1 << 53:
            raise self.fail(name, "a whole number")
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self.fields.get(name)
        if not isinstance(value, bool):
            raise self.fail(name, "true or false")
        return value

    def text(self, name: str) -> str:
        """A text."""
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise self.fail(name, "a text")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        items = self.items(name)
        if not all(isinstance(item, str) for item in items):
            raise self.fail(name, "a list of texts")
        return tuple(items)

    def items(self, name: str) -> list[Any]:
        """A list of anything."""
        value = self.fields.get(name)
        if not isinstance(value, list):
            raise self.fail(name, "a list")
        return value

    def numbers(self, name: str) -> float | tuple[float, ...]:
        """A number, or a list of numbers."""
        value = self.fields.get(name)
        wrong = self.fail(name, "a number or a list of numbers")
        return (
            tuple(as_number(item, wrong) for item in value) if isinstance(value, list) else self.number(name)
        )

    def table(self, name: str) -> FloatArray:
        """Rows of finite numbers, as lists in the document."""
        try:
            rows = np.array(self.items(name), dtype=np.float64)
        except (TypeError, ValueError):
            raise self.fail(name, "rows of numbers") from None
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise self.fail(name, "rows of numbers")
        return rows

    def child(self, name: str) -> Record:
        """An object."""
        return self._child(name, self.fields.get(name))

    def children(self, name: str) -> list[Record]:
        """A list of objects."""
        return [self._child(f"{name}[{index}]", item) for index, item in enumerate(self.items(name))]

    def _child(self, name: str, value: object) -> Record:
        if not isinstance(value, dict):
            raise self.fail(name, "an object")
        return Record(f"{self.where}.{name}", value, self.arrays)

    def floats(self, name: str, *shape: int | EllipsisType | None) -> FloatArray:
        """An array of floats of a given shape; None leaves a size open, ``...`` alone all of them."""
        return self._array(name, np.dtype(np.float64), shape)

    def finite_floats(
        self,
        name: str,
        *shape: int | EllipsisType | None,
        above: float = -inf,
        least: float = -inf,
        most: float = inf,
    ) -> FloatArray:
        """An array of finite floats, each greater than ``above`` and from ``least`` to ``most``."""
        values = self.floats(name, *shape)
        good = np.isfinite(values) & (values > above) & (values >= least) & (values <= most)
        if not good.all():
            raise self.fail(
                name, f"finite numbers{in_range(above, least, most)}, and has {values[~good][0]:g}"
            )
        return values

    def ascending(self, name: str, *shape: int | None, least: float = -inf, most: float = inf) -> FloatArray:
        """An array of finite floats, of which none is less than the one before."""
        values = self.finite_floats(name, *shape, least=least, most=most)
        if np.any(np.diff(values) < 0.0):
            raise self.fail(name, "numbers in ascending order")
        return values

    def truths(self, name: str, *shape: int | None) -> BoolArray:
        """An array of truth values of a given shape."""
        return self._array(name, np.dtype(np.bool_), shape)

    def integers(self, name: str, *shape: int | None) -> IntArray:
        """An array of whole numbers of a given shape."""
        return self._array(name, np.dtype(np.int64), shape)

    def _array(
        self, name: str, dtype: np.dtype[Any], shape: tuple[int | EllipsisType | None, ...]
    ) -> AnyArray:
        index = self.integer(name)
        if not 0 <= index < len(self.arrays):
            raise self.fail(name, "the number of an array in the file")
        array = self.arrays[index]
        fits = shape == (...,) or (
            len(shape) == array.ndim
            and all(size in (None, actual) for size, actual in zip(shape, array.shape, strict=True))
        )
        if array.dtype != dtype or not fits:
            raise self.fail(name, f"an array of {dtype} of shape {shape}, and is {array.dtype} {array.shape}")
        return array


def as_number(value: object, wrong: ModelFileError) -> float:
    """A float from JSON, or the error."""
    if isinstance(value, str) and value in INFINITE:
        return INFINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong
    try:
        number = float(value)
    except OverflowError:
        raise wrong from None
    if not isfinite(number):
        raise wrong
    return number


def in_range(above: float, least: float, most: float) -> str:
    """Limits of a number as the end of a sentence.

    Examples
    --------
    >>> in_range(0.0, -inf, inf), in_range(-inf, 0.0, 1.0), in_range(-inf, -inf, inf)
    (' above 0', ' of 0 or more and of 1 or less', '')
    """
    limits = ((above, f"above {above:g}"), (least, f"of {least:g} or more"), (most, f"of {most:g} or less"))
    words = [text for limit, text in limits if isfinite(limit)]
    return f" {' and '.join(words)}" if words else ""
