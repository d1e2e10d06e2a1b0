"""The real data sets of the benchmarks, read from the folder that ``STURDYGP_DATA`` names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

MISSING = -200


@dataclass(frozen=True, eq=False)
class Table:
    """Inputs and outputs."""

    X: np.ndarray
    Y: np.ndarray


def folder() -> Path:
    """Where the files are."""
    if "STURDYGP_DATA" not in os.environ:
        raise SystemExit("set STURDYGP_DATA to the folder with the data sets")
    return Path(os.environ["STURDYGP_DATA"])


def air_quality() -> Table:
    """The complete rows: hour of day and sensors against temperature and humidity."""
    frame = pd.read_csv(folder() / "AirQualityUCI.csv", sep=";", decimal=",")
    frame = frame.dropna(axis=1, how="all").dropna(how="all")
    hour = frame["Time"].str[:2].astype(float)
    numbers = frame.drop(columns=["Date", "Time"]).astype(float)
    complete = (numbers != MISSING).all(axis=1).to_numpy()
    inputs = np.column_stack([hour, numbers.iloc[:, :-3]])
    return Table(inputs[complete], numbers.iloc[:, -3:].to_numpy()[complete])


def energy() -> Table:
    """Eight properties of a building against its heating and cooling load."""
    frame = pd.read_excel(folder() / "ENB2012_data.xlsx").dropna(axis=1, how="all").dropna(how="all")
    values = frame.to_numpy(dtype=float)
    return Table(values[:, :8], values[:, 8:10])


def yacht() -> Table:
    """Six properties of a hull against its resistance."""
    values = np.loadtxt(folder() / "yacht_hydrodynamics.data")
    return Table(values[:, :6], values[:, 6:])


def neal() -> Table:
    """Neal's function of one input, with a few outliers of its own."""
    values = np.loadtxt(folder() / "neal_odata_200.txt")
    return Table(values[:, :1], values[:, 1:])


def motorcycle() -> Table:
    """Head acceleration after an impact; the noise changes with time."""
    values = pd.read_csv(folder() / "motorcycle.csv").to_numpy(dtype=float)[:, -2:]
    return Table(values[:, :1], values[:, 1:])


def nab(name: str) -> pd.DataFrame:
    """A temperature series: columns ``timestamp`` and ``value``."""
    return pd.read_csv(folder() / f"nab_{name}.csv", parse_dates=["timestamp"])
