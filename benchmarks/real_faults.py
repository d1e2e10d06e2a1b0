"""Known failures in two temperature series of the Numenta Anomaly Benchmark, and what is flagged.

``python benchmarks/real_faults.py`` cuts out the surroundings of each labelled window, thins them to sizes
that an exact Gaussian process takes, fits :class:`~sturdygp.RobustGPRegressor` and writes one picture for
each series to docs/images. The labels mark stretches of time in which something was wrong, wider than the
fault itself; most readings in them are normal. ``STURDYGP_DATA`` may name a folder with the data; otherwise
they are downloaded.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import DateFormatter
from matplotlib.ticker import MaxNLocator

from sturdygp import RobustGPRegressor
from sturdygp.datasets import LabelledSeries, load_nab

IMAGES = Path(__file__).parent.parent / "docs" / "images"
DAYS_AROUND, MOST_READINGS = 7.0, 450
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#6E6E6E"


def surroundings(series: LabelledSeries) -> list[np.ndarray]:
    """For each labelled window the rows in it and around it, evenly thinned."""
    edges = np.flatnonzero(np.diff(series.in_window.astype(int), prepend=0, append=0))
    hours, cuts = series.X[:, 0], []
    for start, end in edges.reshape(-1, 2):
        low, high = hours[start] - 24.0 * DAYS_AROUND, hours[end - 1] + 24.0 * DAYS_AROUND
        rows = np.flatnonzero((hours >= low) & (hours <= high))
        cuts.append(rows[:: int(np.ceil(rows.size / MOST_READINGS))])
    return cuts


def panel(ax: Axes, series: LabelledSeries, rows: np.ndarray) -> str:
    """Readings, what was flagged, the function, the window; a sentence on it."""
    X, y, when = series.X[rows], series.y[rows], series.timestamps[rows]
    model = RobustGPRegressor().fit(X, y)
    grid = np.linspace(X[0], X[-1], 600)
    mean, std = model.predict(grid, return_std=True, include_noise=True)
    dates = when[0] + (3600.0 * (grid[:, 0] - X[0, 0])).astype("timedelta64[s]")
    faulty = model.outlier_proba_ > 0.5
    inside = series.in_window[rows]
    ax.axvspan(when[inside][0], when[inside][-1], color=GREY, alpha=0.15, lw=0, label="labelled window")
    ax.fill_between(dates, mean - 1.96 * std, mean + 1.96 * std, color=BLUE, alpha=0.2, lw=0)
    ax.plot(dates, mean, color=BLUE, lw=1.2, label="fit, 95 % of nominal readings")
    ax.plot(when[~faulty], y[~faulty], ".", color="black", ms=2.5, label="reading")
    ax.plot(when[faulty], y[faulty], "o", color=ORANGE, mfc="none", ms=4.5, label="flagged")
    ax.xaxis.set_major_formatter(DateFormatter("%d %b %Y"))  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.set_ylabel("temperature")
    return (
        f"{series.name}, {str(when[0])[:10]} to {str(when[-1])[:10]}: {rows.size} readings, "
        f"{faulty[inside].sum()} of {inside.sum()} flagged in the window, "
        f"{faulty[~inside].sum()} of {(~inside).sum()} outside"
    )


def main() -> None:
    """One picture for each series."""
    warnings.simplefilter("ignore")
    plt.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False})
    for name in ("ambient_temperature_system_failure", "machine_temperature_system_failure"):
        series = load_nab(name)
        cuts = surroundings(series)
        figure, axes = plt.subplots(len(cuts), 1, figsize=(7.0, 1.9 * len(cuts)), layout="constrained")
        for ax, rows in zip(axes, cuts, strict=True):
            print(panel(ax, series, rows), flush=True)
        axes[0].legend(loc="upper center", bbox_to_anchor=(0.5, 1.3), ncols=4, frameon=False)
        figure.savefig(IMAGES / f"nab-{name.split('_')[0]}.png", dpi=150)


if __name__ == "__main__":
    main()
