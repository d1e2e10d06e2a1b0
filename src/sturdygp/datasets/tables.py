"""Real data sets as arrays; :func:`sturdygp.datasets.find_file` finds their files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.datasets.fetch import DataFileError, find_file
from sturdygp.datasets.files import FILES, DataFile

TimeArray: TypeAlias = NDArray[np.datetime64]

# Marks a missing value in the air quality data.
MISSING = -200.0
SENSORS = (
    "CO(GT)",
    "PT08.S1(CO)",
    "NMHC(GT)",
    "C6H6(GT)",
    "PT08.S2(NMHC)",
    "NOx(GT)",
    "PT08.S3(NOx)",
    "NO2(GT)",
    "PT08.S4(NO2)",
    "PT08.S5(O3)",
)
WEATHER = ("T", "RH", "AH")
BUILDING = (
    "relative compactness",
    "surface area",
    "wall area",
    "roof area",
    "overall height",
    "orientation",
    "glazing area",
    "glazing area distribution",
)
HULL = (
    "longitudinal position of the centre of buoyancy",
    "prismatic coefficient",
    "length-displacement ratio",
    "beam-draught ratio",
    "length-beam ratio",
    "Froude number",
)
SHEET = "xl/worksheets/sheet1.xml"
SHEET_TAG = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"

NabSeries = Literal["ambient_temperature_system_failure", "machine_temperature_system_failure"]
# The windows around labelled anomalies, ends included: combined_windows.json of the benchmark has them.
NAB_WINDOWS: dict[NabSeries, tuple[tuple[str, str], ...]] = {
    "ambient_temperature_system_failure": (
        ("2013-12-15 07:00:00", "2013-12-30 09:00:00"),
        ("2014-03-29 15:00:00", "2014-04-20 22:00:00"),
    ),
    "machine_temperature_system_failure": (
        ("2013-12-10 06:25:00", "2013-12-12 05:35:00"),
        ("2013-12-15 17:50:00", "2013-12-17 17:00:00"),
        ("2014-01-27 14:20:00", "2014-01-29 13:30:00"),
        ("2014-02-07 14:55:00", "2014-02-09 14:05:00"),
    ),
}


@dataclass(frozen=True, eq=False)
class Table:
    """Real data set: inputs of shape (n, d_x), outputs of shape (n,) if there is one, else (n, d_y).

    ``source`` has the licence of the data, the citation, and the address of the file.
    """

    name: str
    X: FloatArray
    y: FloatArray
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    source: DataFile


@dataclass(frozen=True, eq=False)
class LabelledSeries(Table):
    """Time series with anomalies; ``in_window`` marks the observations in a window around one.

    A window is a range of time, wider than the anomaly: most observations inside are normal.
    """

    timestamps: TimeArray
    in_window: BoolArray


def load_air_quality() -> Table:
    """Load the hour of day and ten gas measurements of an Italian street, with temperature and humidity.

    The 827 hours in which no value is missing. Inputs: the hour and the columns up to PT08.S5(O3); outputs:
    temperature, relative and absolute humidity.
    """
    return load("air quality", "AirQualityUCI.csv", read_air_quality, ("hour", *SENSORS), WEATHER)


def load_energy() -> Table:
    """Load eight properties of 768 simulated buildings, with heating and cooling load, free of noise."""
    return load("energy", "ENB2012_data.xlsx", read_sheet, BUILDING, ("heating load", "cooling load"))


def load_yacht() -> Table:
    """Load shape and speed of 22 hulls, with their residuary resistance per unit weight of displacement."""
    return load("yacht", "yacht_hydrodynamics.data", read_numbers, HULL, ("residuary resistance",))


def load_neal(rows: Literal[200, 1100] = 1100) -> Table:
    """Load Neal's function of one input (:func:`neal_function`); about 5 % of the observations are outliers.

    The noise has standard deviation 0.1, or 1 in an outlier; the outliers are not labelled. The files of 200
    and of 1100 rows are different draws, and their author trains on the first 100 rows. The file of 200 rows
    is older, and cannot be downloaded.
    """
    files = {200: "neal_odata_200.txt", 1100: "neal_odata.txt"}
    if rows not in files:
        raise ValueError(f"rows must be 200 or 1100, got {rows!r}")
    return load("Neal", files[rows], read_numbers, ("x",), ("y",))


def neal_function(x: FloatArray) -> FloatArray:
    """Return the true function of :func:`load_neal`: ``0.3 + 0.4 x + 0.5 sin(2.7 x) + 1.1 / (1 + x^2)``."""
    return np.asarray(0.3 + 0.4 * x + 0.5 * np.sin(2.7 * x) + 1.1 / (1.0 + x**2))


def load_motorcycle() -> Table:
    """Load the time after a simulated impact in milliseconds, with the acceleration of the head in g.

    133 observations, some at the same time; the noise is heteroscedastic.
    """
    return load("motorcycle", "motorcycle.csv", read_motorcycle, ("time",), ("acceleration",))


def load_well_log() -> Table:
    """Load the nuclear magnetic response along a well: 4050 observations with jumps and downward spikes."""
    return load("well log", "well_log.txt", read_well_log, ("index",), ("response",))


def load_nab(name: NabSeries) -> LabelledSeries:
    """Load hours since the first observation, with a temperature that shows known failures.

    ``"ambient_temperature_system_failure"`` has 7267 hourly observations of an office, with gaps.
    ``"machine_temperature_system_failure"`` has 22695 observations of a machine, every five minutes; its
    clock steps back by 55 minutes once.
    """
    if name not in NAB_WINDOWS:
        raise ValueError(f"no series is called {name!r}; there are {', '.join(NAB_WINDOWS)}")
    path = find_file(f"nab_{name}.csv")
    with named_in_errors(path):
        times, values = read_nab(path)
    hours = (times - times[0]) / np.timedelta64(1, "h")
    return LabelledSeries(
        name=name,
        X=hours[:, None],
        y=values,
        feature_names=("hours",),
        target_names=("temperature",),
        source=FILES[path.name],
        timestamps=times,
        in_window=within(times, NAB_WINDOWS[name]),
    )


def within(times: TimeArray, windows: tuple[tuple[str, str], ...]) -> BoolArray:
    """Return which times lie in one of the windows."""
    inside = [(times >= np.datetime64(first)) & (times <= np.datetime64(last)) for first, last in windows]
    return np.asarray(np.any(inside, axis=0))


def load(
    name: str,
    file_name: str,
    read: Callable[[Path], FloatArray],
    features: tuple[str, ...],
    targets: tuple[str, ...],
) -> Table:
    """Make a table from a reader that returns inputs and outputs side by side."""
    path = find_file(file_name)
    with named_in_errors(path):
        values = read(path)
        if values.ndim != 2 or values.shape[1] != len(features) + len(targets):
            raise ValueError(f"expected {len(features) + len(targets)} columns, got shape {values.shape}")
    X, y = np.split(values, [len(features)], axis=1)
    y = y[:, 0] if len(targets) == 1 else y
    return Table(name, X.copy(), y.copy(), features, targets, FILES[file_name])


@contextmanager
def named_in_errors(path: Path) -> Iterator[None]:
    """Name the file in the errors of a reader."""
    try:
        yield
    except (ValueError, LookupError, BadZipFile, ElementTree.ParseError) as error:
        raise DataFileError(
            f"{path} does not have the format of {path.name} ({error}): replace or remove it"
        ) from error


def csv_rows(path: Path, delimiter: str = ",") -> list[list[str]]:
    """Read the rows below the header."""
    with path.open(newline="", encoding="utf-8") as lines:
        return [row for row in csv.reader(lines, delimiter=delimiter) if row][1:]


def read_air_quality(path: Path) -> FloatArray:
    """Read hour, gases and weather of the rows in which none is missing.

    Fields end with a semicolon, numbers have a decimal comma, and empty rows follow the data.
    """
    rows = [
        [float(time[:2]), *(float(field.replace(",", ".")) for field in fields[:13])]
        for date, time, *fields in csv_rows(path, ";")
        if date
    ]
    values: FloatArray = np.array(rows)
    complete: BoolArray = (values != MISSING).all(axis=1)
    return values[complete]


def read_sheet(path: Path) -> FloatArray:
    """Read the first ten numbers in each row of the first sheet of a workbook, without rows that have none.

    A workbook is a zip archive of XML files, so one plain table needs no further library.
    """
    with ZipFile(path) as workbook:
        sheet = ElementTree.fromstring(workbook.read(SHEET))
    rows = [row_numbers(row)[:10] for row in sheet.iter(f"{SHEET_TAG}row")]
    return np.array([row for row in rows if row])


def row_numbers(row: ElementTree.Element) -> list[float]:
    """Return the numbers in a row of a sheet, without texts and empty cells."""
    cells = [cell for cell in row if cell.get("t", "n") == "n"]
    return [float(text) for cell in cells if (text := cell.findtext(f"{SHEET_TAG}v"))]


def read_numbers(path: Path) -> FloatArray:
    """Read numbers that are separated by blanks."""
    return np.loadtxt(path, ndmin=2)


def read_motorcycle(path: Path) -> FloatArray:
    """Read time and acceleration."""
    return np.array(csv_rows(path), dtype=float)


def read_well_log(path: Path) -> FloatArray:
    """Read the responses and number them."""
    responses = read_numbers(path)
    return np.column_stack([np.arange(len(responses), dtype=float), responses])


def read_nab(path: Path) -> tuple[TimeArray, FloatArray]:
    """Read timestamps and values."""
    times, values = zip(*csv_rows(path), strict=True)
    return np.array(times, dtype="datetime64[s]"), np.array(values, dtype=float)
