"""The demonstration: what faults do to an ordinary Gaussian process, and to a robust one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.cli.console import echo
from sturdygp.datasets import make_synthetic
from sturdygp.estimators import (
    AsorGPRegressor,
    MixtureGPRegressor,
    OracleGPRegressor,
    RCGPRegressor,
    RobustGPRegressor,
    StudentTGPRegressor,
)
from sturdygp.estimators.base import BaseGPRegressor
from sturdygp.plot.canvas import BLUE, GREY, ORANGE

ORDINARY = "ordinary GP (scikit-learn)"
ROBUST: dict[str, BaseGPRegressor] = {
    "robust (flagship)": RobustGPRegressor(),
    "ASOR-GPR": AsorGPRegressor(),
    "mixture": MixtureGPRegressor(),
    "Student-t (EP)": StudentTGPRegressor(dof="learn"),
    "RCGP": RCGPRegressor(),
}
ORACLE = "oracle (knows the faults)"
FAULT_PROBABILITY = 0.5
EXPLANATION = (
    "RMSE and coverage of 95 % intervals are against the true function, which no model saw.\n"
    "Found: share of the faults that were flagged. False: share of the flags that were wrong."
)


@dataclass(frozen=True, eq=False)
class Case:
    """A contaminated problem whose truth is known."""

    name: str
    X: FloatArray
    y: FloatArray
    faults: BoolArray
    X_test: FloatArray
    f_test: FloatArray


@dataclass(frozen=True, eq=False)
class Result:
    """Predictions and scores of one model for a case."""

    case: str
    model: str
    mean: FloatArray
    std: FloatArray
    seconds: float
    rmse: float
    coverage: float
    outlier_proba: FloatArray | None = None
    precision: float | None = None
    recall: float | None = None


def sensor_series() -> Case:
    """A sensor with a daily rhythm; some of its readings are faults, stuck high or gone low."""
    rng = np.random.default_rng(7)
    X = np.sort(rng.uniform(0.0, 48.0, 120))[:, None]
    X_test = np.linspace(0.0, 48.0, 400)[:, None]

    def truth(x: FloatArray) -> FloatArray:
        return np.asarray(20.0 + 4.0 * np.sin(2 * np.pi * x[:, 0] / 24.0) + 0.05 * x[:, 0])

    y = truth(X) + 0.5 * rng.standard_normal(len(X))
    faults = rng.uniform(size=len(X)) < 0.25
    stuck = np.where(rng.uniform(size=len(X)) < 0.8, 45.0, 2.0) + rng.standard_normal(len(X))
    name = f"sensor, {100.0 * faults.mean():.0f} % faults"
    return Case(name, X, np.where(faults, stuck, y), faults, X_test, truth(X_test))


def paper_problem() -> Case:
    """The paper's synthetic problem with 30 % outliers of U[0, 10]."""
    data = make_synthetic(100, 100, rate=0.3, seed=1)
    return Case("paper's synthetic, 30 %", data.X, data.y, data.outlier_mask, data.X_test, data.f_test)


def run_case(case: Case) -> list[Result]:
    """Fit the ordinary model, the robust ones, and the oracle."""
    results = [assess(case, ORDINARY, partial(ordinary, case))]
    for name, template in ROBUST.items():
        model = clone(template)
        result = assess(case, name, partial(moments, model, case))
        flags = getattr(model, "outlier_proba_", None)
        results.append(result if flags is None else with_flags(result, case.faults, flags))
    return [
        *results,
        assess(case, ORACLE, partial(moments, OracleGPRegressor(), case, outlier_mask=case.faults)),
    ]


def moments(model: BaseGPRegressor, case: Case, **known: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Fit a model and predict the function at the test inputs."""
    mean, std = model.fit(case.X, case.y, **known).predict(case.X_test, return_std=True)
    return mean, std


def ordinary(case: Case) -> tuple[FloatArray, FloatArray]:
    """scikit-learn's regressor, one for each output."""
    span = np.ptp(case.X, axis=0)
    kernel = ConstantKernel(1.0, (1e-4, 1e4)) * RBF(0.2 * span, (0.01, 1e4)) + WhiteKernel(0.1, (1e-6, 1e3))
    columns = [ordinary_output(kernel, case, column) for column in case.y.reshape(len(case.y), -1).T]
    mean, std = (np.stack(part, axis=-1).reshape(case.f_test.shape) for part in zip(*columns, strict=True))
    return mean, std


def ordinary_output(kernel: object, case: Case, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """scikit-learn's regressor, of the function rather than of noisy readings."""
    model = GaussianProcessRegressor(kernel, normalize_y=True).fit(case.X, y)
    mean, std = model.predict(case.X_test, return_std=True)
    # The white kernel is part of scikit-learn's prediction; the function has no noise.
    noise = model.kernel_.k2.noise_level * y.std() ** 2
    return mean, np.sqrt(np.maximum(std**2 - noise, 0.0))


def assess(case: Case, name: str, run: Callable[[], tuple[FloatArray, FloatArray]]) -> Result:
    """Time a model and compare it with the truth."""
    began = time.perf_counter()
    mean, std = run()
    seconds = time.perf_counter() - began
    error = mean - case.f_test
    covered = np.abs(error) <= 1.96 * std
    return Result(
        case.name, name, mean, std, seconds, float(np.sqrt((error**2).mean())), float(covered.mean())
    )


def with_flags(result: Result, faults: BoolArray, proba: FloatArray) -> Result:
    """Add how well the faults were found."""
    flagged = proba > FAULT_PROBABILITY
    hits = float((flagged & faults).sum())
    precision, recall = hits / max(float(flagged.sum()), 1.0), hits / max(float(faults.sum()), 1.0)
    return replace(result, outlier_proba=proba, precision=precision, recall=recall)


def table(results: list[Result]) -> str:
    """A Markdown table for one problem, narrow enough for a terminal."""
    header = ("model", "RMSE", "95 % covers", "found", "false", "seconds")
    rows = [header, tuple("-" * len(h) for h in header)]
    for r in results:
        found = "-" if r.recall is None else f"{100 * r.recall:.0f} %"
        wrong = "-" if r.precision is None else f"{100 * (1 - r.precision):.0f} %"
        rows.append((r.model, f"{r.rmse:.3f}", f"{100 * r.coverage:.0f} %", found, wrong, f"{r.seconds:.2f}"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    lines = [" | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([f"**{results[0].case}**", "", *(f"| {line} |" for line in lines)])


def picture(case: Case, results: list[Result], path: Path) -> None:
    """The ordinary model and the first robust one side by side, on the same scale."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415  after the backend is chosen

    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    for axis, result in zip(axes, results[:2], strict=True):
        draw_fit(axis, case, result)
    axes[0].set_ylabel("temperature")
    handles, labels = axes[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_fit(axis: Axes, case: Case, result: Result) -> None:
    """Readings, truth, fit with its 95 % interval, and what was flagged."""
    x, half = case.X_test[:, 0], 1.96 * result.std
    axis.fill_between(x, result.mean - half, result.mean + half, color=BLUE, alpha=0.2, lw=0)
    axis.plot(x, result.mean, color=BLUE, lw=2, label="fit, 95 % interval")
    axis.plot(x, case.f_test, color="black", lw=1, ls="--", label="truth")
    axis.scatter(case.X[:, 0], case.y, s=14, color=GREY, label="readings", zorder=3)
    if result.outlier_proba is not None:
        bad = result.outlier_proba > FAULT_PROBABILITY
        rings = axis.scatter(
            case.X[bad, 0], case.y[bad], s=50, facecolors="none", edgecolors=ORANGE, zorder=4
        )
        rings.set_label("flagged as outlier")
    axis.set(title=f"{result.model}: RMSE {result.rmse:.2f}", xlabel="hour")
    axis.spines[["top", "right"]].set_visible(False)


def report(case: Case, results: list[Result], text: str) -> str:
    """The report: the table, the picture, and the readings that are probably wrong."""
    proba = next(r.outlier_proba for r in results if r.outlier_proba is not None)
    wrong = np.flatnonzero(proba > FAULT_PROBABILITY)
    lines = [f"| {case.X[i, 0]:.2f} | {case.y[i]:.2f} | {proba[i]:.3f} |" for i in wrong]
    return "\n".join(
        [
            "# sturdygp demonstration",
            "",
            text,
            "",
            EXPLANATION,
            "",
            "![Both fits](demo.png)",
            "",
            f"## Readings of the sensor that are probably wrong ({len(lines)} of {len(case.y)})",
            "",
            "| hour | reading | probability of being an outlier |",
            "|---|---|---|",
            *lines,
            "",
        ]
    )


def run_demo(output: Path) -> None:
    """Run both cases, print the table, write the picture and the report."""
    output.mkdir(parents=True, exist_ok=True)
    sensor = sensor_series()
    results = run_case(sensor)
    text = "\n\n".join([table(results), table(run_case(paper_problem()))])
    picture(sensor, results, output / "demo.png")
    (output / "report.md").write_text(report(sensor, results, text), encoding="utf-8")
    echo(f"{text}\n\n{EXPLANATION}")
    echo(f"\nPicture: {output / 'demo.png'}\nReport:  {output / 'report.md'}")
