"""How long fits and predictions take, as ratios to a peer in the same run.

``python benchmarks/speed.py ratios`` runs both sides of each ratio in turn, each in a process of its own, on
the same data with the same number of BLAS threads, and prints the ratio of the medians beside the errors of
both. Peers other than scikit-learn come with ``pip install 'sturdygp[peers]'``; what is not installed is left
out. ``scaling`` fits 100 to 4000 readings, ``shares`` tells what the time goes into. ``--store`` keeps what
was found in docs/results/speed.json, ``--table`` prints it again, ``figure`` draws docs/images/scaling.png.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from sturdygp.experiments.store import environment
from sturdygp.report.runtime import power_law
from sturdygp.report.table import Table, number

FOLDER = Path(__file__).parent
RESULTS = FOLDER.parent / "docs" / "results" / "speed.json"
IMAGE = FOLDER.parent / "docs" / "images" / "scaling.png"
REPEATS = 5
THREADS = (1, 2)
SIZES = (100, 200, 400, 700, 1000, 2000, 4000)
# Larger fits of these would take many minutes.
SCALED = {"scikit-learn": 2000, "standard": 4000, "asor": 4000, "robust": 4000}
SHARED = (100, 400, 1000)
SCALING_REPEATS = 3
BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Ratio:
    """Two contenders, the numbers of their data, what is compared, and what is aimed at."""

    first: str
    second: str
    n: int
    target: str
    quantity: str = "fit_seconds"
    repeats: int = REPEATS
    options: dict[str, int] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What stands in the table."""
        what = "" if self.quantity == "fit_seconds" else f", predict {self.options['n-test']} points"
        return f"{self.first} / {self.second}, n = {self.n}{what}"


RATIOS = (
    Ratio("asor", "scikit-learn", 1000, "<= 0.35"),
    Ratio("asor", "scikit-learn", 400, "<= 0.5"),
    Ratio("asor", "scikit-learn", 100, "<= 2"),
    Ratio("robust", "scikit-learn", 1000, "<= 0.8"),
    Ratio("robust", "scikit-learn", 100, ""),
    Ratio("standard", "scikit-learn", 1000, "<= 0.3"),
    Ratio("asor-gem", "asor", 200, ">= 300", repeats=1),
    Ratio("GPy Student-t", "student-t-vb", 400, ">= 10"),
    Ratio("GPyTorch Student-t", "robust", 100, "", repeats=3),
    Ratio("robustgp", "robust", 100, ""),
    Ratio("relevance pursuit", "robust", 100, ">= 50", repeats=3),
    Ratio("asor", "scikit-learn", 1000, "<= 0.7", "predict_seconds", 3, {"n-test": 10_000, "predictions": 5}),
    Ratio("asor-4-outputs-2-jobs", "asor-4-outputs", 600, "<= 0.6", repeats=15, options={"outputs": 4}),
    Ratio("asor-4-outputs-2-jobs", "asor-4-outputs", 1500, "", options={"outputs": 4}),
)


class MissingPeerError(Exception):
    """A contender is not installed."""


def run(name: str, n: int, seed: int, threads: int, options: dict[str, int]) -> dict[str, Any]:
    """One contender in a process of its own."""
    given = {"n": n, "seed": seed, "threads": threads, **options}
    arguments = [str(part) for key, value in given.items() for part in (f"--{key}", value)]
    done = subprocess.run(
        [sys.executable, FOLDER / "contenders.py", name, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **dict.fromkeys(BLAS_VARIABLES, str(threads))},
    )
    if "ModuleNotFoundError" in done.stderr:
        raise MissingPeerError(name)
    if done.returncode:
        raise RuntimeError(f"{name} failed at n = {n}:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(ratio: Ratio, threads: int) -> dict[str, Any]:
    """Both sides in turn, on one problem after the other."""
    rows: dict[str, list[dict[str, Any]]] = {ratio.first: [], ratio.second: []}
    for seed in range(ratio.repeats):
        for name, found in rows.items():
            found.append(run(name, ratio.n, seed, threads, ratio.options))
    sides = [summary(found, ratio.quantity) for found in rows.values()]
    return {
        "label": ratio.label,
        "threads": threads,
        "target": ratio.target,
        "repeats": ratio.repeats,
        "ratio": sides[0]["seconds"] / sides[1]["seconds"],
        "sides": sides,
    }


def summary(found: list[dict[str, Any]], quantity: str) -> dict[str, Any]:
    """Medians over the problems; bounds and factorisations where a contender tells them."""
    keys = [key for key in ("rmse", "bound", "factorisations", "peak_mb") if key in found[0]]
    return {"seconds": median(row[quantity] for row in found)} | {
        key: median(row[key] for row in found) for key in keys
    }


def ratio_table(rows: list[dict[str, Any]]) -> str:
    """All ratios, in the order in which they are named here."""
    labels = [ratio.label for ratio in RATIOS]
    cells = [
        (
            row["label"],
            str(row["threads"]),
            number(row["ratio"]),
            row["target"] or "-",
            *(number(side["seconds"]) for side in row["sides"]),
            *(number(side["rmse"]) for side in row["sides"]),
            str(row["repeats"]),
        )
        for row in sorted(rows, key=lambda row: (row["threads"], labels.index(row["label"])))
    ]
    header = ("ratio", "threads", "measured", "target", "s", "s of peer", "RMSE", "RMSE of peer", "runs")
    return Table("Time of a fit or prediction, medians", header, tuple(cells)).markdown()


def scale(name: str, n: int) -> dict[str, Any]:
    """A contender at one size."""
    found = [run(name, n, seed, 1, {}) for seed in range(SCALING_REPEATS if n < max(SIZES) else 1)]
    return {"name": name, "n": n, "runs": len(found), **summary(found, "fit_seconds")}


def scaling_table(rows: list[dict[str, Any]]) -> str:
    """Seconds, and the exponent of their growth."""
    by_name = times_of(rows)
    cells = []
    for name, times in by_name.items():
        seconds = (number(times[n]) if n in times else "-" for n in SIZES)
        memory = max(row["peak_mb"] for row in rows if row["name"] == name)
        cells.append((name, *seconds, str(power_law(times)), f"{memory:.0f}"))
    header = ("method", *(f"n = {n}" for n in SIZES), "exponent", "most MB")
    return Table("Median seconds of a fit, one thread", header, tuple(cells)).markdown()


def measure_shares() -> list[dict[str, Any]]:
    """What the time of a fit goes into."""
    return [
        {"name": name, "n": n, **run(name, n, 0, 1, {"shares": 1})}
        for name in ("standard", "asor", "robust")
        for n in SHARED
    ]


def shares_table(rows: list[dict[str, Any]]) -> str:
    """Shares in per cent."""
    kinds = tuple(rows[0]["shares"])
    header = ("method", "n", "evaluations", *kinds)
    cells = [
        (row["name"], str(row["n"]), str(row["factorisations"]), *(percent(row["shares"][k]) for k in kinds))
        for row in rows
    ]
    return Table("Where the time of a fit goes", header, tuple(cells)).markdown()


def machine_table(found: dict[str, Any]) -> str:
    """Processor and versions."""
    packages = ", ".join(f"{name} {version}" for name, version in found["packages"].items())
    rows = (
        ("processor", found["cpu"]),
        ("system", found["system"]),
        ("Python", found["python"]),
        ("packages", packages),
        ("BLAS", ", ".join(each for each in found["blas"] if "None" not in each)),
    )
    return Table("Measured with", ("", ""), rows).markdown()


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{100.0 * share:.0f} %"


def times_of(rows: list[dict[str, Any]]) -> dict[str, dict[float, float]]:
    """Seconds by contender and number of readings."""
    names = dict.fromkeys(row["name"] for row in rows)
    return {name: {row["n"]: row["seconds"] for row in rows if row["name"] == name} for name in names}


def draw(rows: list[dict[str, Any]]) -> None:
    """The scaling plot."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    from sturdygp.plot.canvas import BLUE, GREY, ORANGE, PURPLE, figure_style, save  # noqa: PLC0415

    colours = {"scikit-learn": GREY, "standard": PURPLE, "asor": ORANGE, "robust": BLUE}
    labels = {
        "scikit-learn": "scikit-learn GPR",
        "standard": "StandardGPRegressor",
        "asor": "AsorGPRegressor",
        "robust": "RobustGPRegressor",
    }
    with figure_style():
        figure = Figure(figsize=(5.0, 3.2), layout="constrained")
        axis = figure.subplots()
        for name, times in times_of(rows).items():
            law = power_law(times)
            exponent = "" if law is None else f", $n^{{{law.exponent:.1f}}}$"
            axis.plot(
                list(times),
                list(times.values()),
                marker="o",
                ms=3.5,
                lw=1.2,
                color=colours[name],
                label=f"{labels[name]}{exponent}",
            )
        axis.set(xscale="log", yscale="log", xlabel="number of readings", ylabel="seconds of a fit")
        axis.set_xticks(SIZES, [str(n) for n in SIZES])
        axis.minorticks_off()
        axis.grid()
        axis.legend(frameon=False)
    save(figure, IMAGE)
    print(f"Figure: {IMAGE}")


TABLES: dict[str, Callable[[Any], str]] = {
    "ratios": ratio_table,
    "scaling": scaling_table,
    "shares": shares_table,
    "environment": machine_table,
}


def stored() -> dict[str, Any]:
    """What was kept."""
    contents: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return contents


def identity(row: dict[str, Any]) -> tuple[object, ...]:
    """What was measured."""
    return tuple(row.get(key) for key in ("label", "name", "n", "threads"))


def keep(part: str, rows: list[dict[str, Any]]) -> None:
    """Replace what is kept of the same measurements."""
    measured = {identity(row) for row in rows}
    others = [row for row in stored().get(part, []) if identity(row) not in measured]
    contents = {**stored(), part: [*others, *rows], "environment": environment()}
    RESULTS.write_text(json.dumps(contents, indent=1) + "\n")


def measure_ratios(threads: list[int], only: str) -> list[dict[str, Any]]:
    """All ratios whose label contains ``only``."""
    rows = []
    for count in threads:
        for ratio in RATIOS:
            if only not in ratio.label:
                continue
            try:
                rows.append(compare(ratio, count))
            except MissingPeerError as missing:
                print(f"left out, not installed: {missing}", file=sys.stderr)
                continue
            print(f"{rows[-1]['label']:60} {count} {rows[-1]['ratio']:8.3f}  {ratio.target}", flush=True)
    return rows


def measure_scaling() -> list[dict[str, Any]]:
    """Every contender at every size that it is run at."""
    rows = []
    for name, largest in SCALED.items():
        for n in SIZES:
            if n <= largest:
                rows.append(scale(name, n))
                print(
                    f"{name:14} {n:5d} {rows[-1]['seconds']:8.3f} s {rows[-1]['peak_mb']:7.0f} MB", flush=True
                )
    return rows


def main() -> None:
    """Measure, print, and keep if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("ratios", "scaling", "shares", "figure"))
    parser.add_argument("--threads", type=int, nargs="*", default=list(THREADS))
    parser.add_argument("--only", default="", help="only ratios whose name contains this")
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--table", action="store_true", help="print what is kept instead of measuring")
    arguments = parser.parse_args()
    if arguments.part == "figure":
        draw(stored()["scaling"])
        return
    if arguments.table:
        rows = stored()[arguments.part]
    elif arguments.part == "ratios":
        rows = measure_ratios(arguments.threads, arguments.only)
    else:
        rows = measure_scaling() if arguments.part == "scaling" else measure_shares()
    print(TABLES[arguments.part](rows))
    if arguments.store:
        keep(arguments.part, rows)


if __name__ == "__main__":
    main()
