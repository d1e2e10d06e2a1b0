"""Fits of every method to ordinary and odd data: what a change of structure must not change.

``python tools/stored_fits.py store`` writes what all fits give to ``build/stored_fits.npz``; ``check`` fits
again and reports every array that differs by more than 1e-10, relative to its largest number. Numbers depend
on the machine and its libraries: store and check on the same one, with the same versions.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import sturdygp as sg
from sturdygp.datasets import NormalOutliers, UniformOutliers, make_gp_sample, make_synthetic

STORE = Path("build/stored_fits.npz")
TOLERANCE = 1e-10

METHODS: dict[str, Any] = {
    "standard": sg.StandardGPRegressor(n_starts=2),
    "oracle": sg.OracleGPRegressor(),
    "rcgp": sg.RCGPRegressor(),
    "student-t ep": sg.StudentTGPRegressor(),
    "student-t vb": sg.StudentTGPRegressor(inference="vb", dof="learn"),
    "student-t laplace": sg.StudentTGPRegressor(inference="laplace"),
    "mixture": sg.MixtureGPRegressor(),
    "asor": sg.AsorGPRegressor(n_starts=3),
    "asor gem": sg.AsorGPRegressor(solver="gem", max_iter=2),
    "robust": sg.RobustGPRegressor(),
    "robust many": sg.RobustGPRegressor(faults="many"),
    "robust inducing": sg.RobustGPRegressor(inducing=15),
    "asor inducing": sg.AsorGPRegressor(inducing=15),
    "mixture inducing": sg.MixtureGPRegressor(inducing=15),
}
FLAGSHIP = ("robust", "robust many")


def problems() -> dict[str, tuple[np.ndarray, np.ndarray, tuple[str, ...]]]:
    """Inputs, targets, and the methods that are fitted to them."""
    rng = np.random.default_rng(0)
    line = np.linspace(0.0, 6.0, 60)[:, None]
    noise = rng.standard_normal(60)
    wave = np.sin(line[:, 0]) + 0.1 * noise
    every = tuple(METHODS)
    spoiled = make_synthetic(70, 1, rate=0.3, seed=1)
    some = ("standard", "student-t vb", "mixture", "asor", *FLAGSHIP)
    far, zeros, gaps = wave.copy(), wave + 5.0, np.stack([wave, np.cos(line[:, 0])], axis=1)
    far[[5, 30]] = -999.0
    zeros[rng.random(60) < 0.3] = 0.0
    gaps[::7, 1] = np.nan
    peak = 5.0 * np.exp(-0.5 * ((line[:, 0] - 3.0) / 0.15) ** 2) + 0.1 * noise
    level = 5.0 + 4.0 * np.sin(2.0 * line[:, 0])
    many = make_synthetic(450, 1, rate=0.3, seed=2)
    normal = make_synthetic(100, 1, rate=0.6, outliers=NormalOutliers(0.0, 25.0), seed=3)
    most = make_synthetic(100, 1, rate=0.8, outliers=UniformOutliers(-5.0, 15.0), seed=4)
    fine = make_gp_sample(seed=3)
    return {
        "wave": (line, wave, every),
        "one-sided": (spoiled.X, spoiled.y[:, 0], every),
        "noise": (line, noise, some),
        "far": (line, far, some),
        "zeros": (line, zeros, some),
        "gaps": (line, gaps, some),
        "rounded": (line, np.round(3.0 * wave), some),
        "peak": (line, peak, FLAGSHIP),
        "proportional noise": (line, level * (1.0 + 0.15 * noise), FLAGSHIP),
        "uniform noise": (line, np.sin(line[:, 0]) + rng.uniform(-1.0, 1.0, 60), FLAGSHIP),
        "few": (line[:8], wave[:8], some),
        "constant": (line, np.full(60, 3.0), ("standard", "asor", *FLAGSHIP)),
        "repeated rows": (np.repeat(line[:30], 2, axis=0), np.repeat(wave[:30], 2), FLAGSHIP),
        "replicates": (np.repeat(line[::5], 5, axis=0), wave, FLAGSHIP),
        "many": (many.X, many.y[:, 0], ("robust", "asor")),
        "normal": (normal.X, normal.y[:, 0], FLAGSHIP),
        "most": (most.X, most.y[:, 0], FLAGSHIP),
        "fine": (fine.X, fine.f, ("robust",)),
    }


def results(model: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    """What a user sees of a fit, as arrays."""
    low, high = X.min(axis=0), X.max(axis=0)
    Z = low + (high - low) * np.random.default_rng(1).uniform(-0.1, 1.1, (25, X.shape[1]))
    mean, std = model.predict(Z, return_std=True)
    found = {
        "mean": mean,
        "std": std,
        "bound": model.bound_,
        "noise": model.noise_variance_,
        "weights": model.weights_,
        "factorisations": model.n_factorizations_,
        "iterations": model.n_iter_,
        "theta": np.concatenate([k.theta for k in np.atleast_1d(np.array(model.kernel_, dtype=object))]),
    }
    for name in (
        "outlier_proba_",
        "contamination_rate_",
        "contamination_shift_",
        "inlier_std_",
    ):
        if hasattr(model, name):
            found[name] = getattr(model, name)
    return {name: np.asarray(values, dtype=np.float64) for name, values in found.items()}


def fits() -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Fit everything; an error is a result as well."""
    for problem, (X, y, methods) in problems().items():
        for method in methods:
            model, told = clone(METHODS[method]), {}
            if method == "oracle":
                told = {"outlier_mask": np.abs(y - np.median(y)) > 3.0}
            try:
                yield f"{problem}/{method}", results(model.fit(X, y, **told), X)
            except ValueError:
                yield f"{problem}/{method}", {"error": np.ones(1)}


def check(stored: dict[str, np.ndarray]) -> int:
    """How many numbers differ; says which and by how much."""
    differing = 0
    for name, found in fits():
        for key, values in found.items():
            before = stored.get(f"{name}/{key}")
            if before is None or before.shape != values.shape:
                print(f"{name}: {key} is not as it was stored")
                differing += 1
                continue
            scale = max(float(np.nanmax(np.abs(before), initial=0.0)), 1e-300)
            difference = float(np.nanmax(np.abs(values - before), initial=0.0)) / scale
            if difference > TOLERANCE or (np.isnan(before) != np.isnan(values)).any():
                print(f"{name}: {key} differs by {difference:.2g}")
                differing += 1
    return differing


def main() -> None:
    """Store, or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("store", "check"))
    parser.add_argument("--file", type=Path, default=STORE)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.what == "store":
        arguments.file.parent.mkdir(parents=True, exist_ok=True)
        flat = {f"{name}/{key}": values for name, found in fits() for key, values in found.items()}
        np.savez_compressed(arguments.file, **{key.replace("/", "|"): values for key, values in flat.items()})
        print(f"{len(flat)} arrays stored in {arguments.file}")
        return
    with np.load(arguments.file) as file:
        # Files from before attributes were renamed have their old names.
        names = {key.replace("|", "/").replace("nominal_std_", "inlier_std_"): key for key in file.files}
        stored = {name: file[key] for name, key in names.items()}
    differing = check(stored)
    print(f"{differing} of {len(stored)} arrays differ")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
