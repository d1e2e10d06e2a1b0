"""How columns of a table become inputs of a model; it is saved with the model and applied to new tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.exceptions import TableError
from sturdygp.persistence.archive import Json
from sturdygp.persistence.record import Record
from sturdygp.tables.cells import Cells
from sturdygp.tables.formatting import listed

Axis: TypeAlias = Literal["linear", "date", "category"]

# Units of time by the least span for which they are used, in seconds.
UNITS: Mapping[str, float] = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}
# A span of this many units is enough to count in them.
ENOUGH_UNITS = 3.0


@dataclass(frozen=True)
class InputColumn(ABC):
    """A column that is an input; final classes say how its cells become numbers."""

    kind: ClassVar[str]
    axis: ClassVar[Axis] = "linear"
    # What a cell has to be, and what several have to be.
    holds: ClassVar[tuple[str, str]] = ("a number", "numbers")
    name: str

    @abstractmethod
    def read(self, cells: Cells) -> FloatArray:
        """Numbers of shape (rows, features), NaN where a cell is missing."""

    @abstractmethod
    def describe(self) -> str:
        """In words, for the person who runs it."""

    @property
    def features(self) -> tuple[str, ...]:
        """A name for each feature."""
        return (self.name,)

    @property
    def title(self) -> str:
        """Name of the axis in a picture."""
        return self.name

    def shown(self, features: FloatArray) -> Sequence[float | str]:
        """Values on the axis of a picture, from features of shape (rows, features) in their own units."""
        return [float(value) for value in features[:, 0]]

    def plain(self) -> Json:
        """As JSON."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class NumberInput(InputColumn):
    """Numbers as they are."""

    kind: ClassVar[str] = "number"

    def read(self, cells: Cells) -> FloatArray:
        """One feature."""
        return cells.numbers()[:, None]

    def describe(self) -> str:
        """Its name is enough."""
        return self.name


@dataclass(frozen=True)
class TimeInput(InputColumn):
    """Timestamps as the time since an origin; ``zoned`` if they came with zones, which makes them UTC."""

    kind: ClassVar[str] = "time"
    axis: ClassVar[Axis] = "date"
    holds: ClassVar[tuple[str, str]] = ("a time", "times")
    time_format: str
    origin: str
    unit: str
    zoned: bool = False

    @classmethod
    def starting(cls, name: str, cells: Cells, time_format: str) -> TimeInput:
        """The origin is the earliest time; the unit suits the span."""
        times = cells.times(time_format)
        first, last = np.nanmin(times), np.nanmax(times)
        span = float((last - first) / np.timedelta64(1, "s"))
        fitting = [unit for unit, seconds in UNITS.items() if span >= ENOUGH_UNITS * seconds]
        unit = fitting[0] if fitting else "seconds"
        return cls(name, time_format, str(np.datetime_as_string(first, unit="s")), unit, cells.have_zones())

    def read(self, cells: Cells) -> FloatArray:
        """One feature."""
        elapsed = (cells.times(self.time_format) - np.datetime64(self.origin)) / np.timedelta64(1, "s")
        return as_before(self.name, cells, np.asarray(elapsed, dtype=np.float64) / UNITS[self.unit])

    def shown(self, features: FloatArray) -> list[str]:
        """Times again, to the millisecond."""
        elapsed = np.round(features[:, 0] * UNITS[self.unit] * 1e3).astype("timedelta64[ms]")
        return [str(each) for each in np.datetime64(self.origin, "ms") + elapsed]

    def describe(self) -> str:
        """Name and meaning of the numbers."""
        origin = self.origin.replace("T00:00:00", "").replace("T", " ")
        return f"{self.name} ({self.unit} since {origin}{' UTC' * self.zoned})"

    @property
    def title(self) -> str:
        """Its name, and the zone in which a picture has it."""
        return f"{self.name}{' (UTC)' * self.zoned}"

    def plain(self) -> Json:
        """As JSON; times without zones as ever."""
        fields = super().plain()
        return fields if self.zoned else {key: value for key, value in fields.items() if key != "zoned"}


@dataclass(frozen=True)
class ClockInput(InputColumn):
    """Times of day as hours since midnight."""

    kind: ClassVar[str] = "clock"
    holds: ClassVar[tuple[str, str]] = ("a time of day", "times of day")
    clock_format: str

    def read(self, cells: Cells) -> FloatArray:
        """One feature."""
        return as_before(self.name, cells, cells.clocks(self.clock_format))

    def describe(self) -> str:
        """Name and meaning of the numbers."""
        return f"{self.name} (hour of the day)"

    @property
    def title(self) -> str:
        """With its unit."""
        return self.describe()


@dataclass(frozen=True)
class CategoryInput(InputColumn):
    """Texts as one feature for each category, which is 1 where the cell has it."""

    kind: ClassVar[str] = "category"
    axis: ClassVar[Axis] = "category"
    holds: ClassVar[tuple[str, str]] = ("a category", "categories")
    categories: tuple[str, ...]

    def read(self, cells: Cells) -> FloatArray:
        """A feature for each category."""
        texts = cells.texts()
        unknown = sorted(set(texts[cells.given]) - set(self.categories))
        if unknown:
            raise TableError(
                f"column {self.name!r} has categories that the model does not know: {listed(unknown)}; "
                f"it knows {listed(self.categories)}"
            )
        features: FloatArray = (texts[:, None] == np.array(self.categories, dtype=object)).astype(np.float64)
        features[~cells.given] = np.nan
        return features

    def shown(self, features: FloatArray) -> list[str]:
        """The category of each row."""
        return [self.categories[index] for index in features.argmax(axis=1)]

    def describe(self) -> str:
        """Which categories there are."""
        return f"{self.name} ({len(self.categories)} categories: {listed(self.categories)})"

    @property
    def features(self) -> tuple[str, ...]:
        """A name for each feature."""
        return tuple(f"{self.name}={category}" for category in self.categories)


def as_before(name: str, cells: Cells, values: FloatArray) -> FloatArray:
    """One feature; it is an error if more than some times are written otherwise than where it was fitted."""
    odd = cells.given & np.isnan(values)
    if odd.any() and not cells.are_remarks(odd):
        raise TableError(
            f"column {name!r} has times that are written otherwise than where the model was fitted "
            f"(for example {cells.example(odd)!r}); write all alike, or tell what stands for a missing one "
            "with --missing"
        )
    return values[:, None]


def decode_input(record: Record) -> InputColumn:
    """Read back what :meth:`InputColumn.plain` described."""
    build = DECODERS.get(record.text("kind"))
    if build is None:
        raise record.fail("kind", "one of " + ", ".join(DECODERS))
    return build(record)


def decode_time(record: Record) -> TimeInput:
    """Timestamps; the origin must be one itself."""
    unit, origin = record.text("unit"), record.text("origin")
    if unit not in UNITS:
        raise record.fail("unit", "one of " + ", ".join(UNITS))
    np.datetime64(origin)
    zoned = record.given("zoned") and record.flag("zoned")
    return TimeInput(record.text("name"), record.text("time_format"), origin, unit, zoned)


DECODERS: dict[str, Callable[[Record], InputColumn]] = {
    "number": lambda record: NumberInput(record.text("name")),
    "time": decode_time,
    "clock": lambda record: ClockInput(record.text("name"), record.text("clock_format")),
    "category": lambda record: CategoryInput(record.text("name"), record.texts("categories")),
}
