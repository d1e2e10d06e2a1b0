"""What robust methods do where nothing is wrong: the guard against seeing outliers everywhere.

``python -m benchmarks.clean [--trials N] [--kinds KIND ...] [--methods METHOD ...] [--n-jobs N]`` fits data
of every kind without outliers (``clean_data.py``) and counts how many observations are flagged; errors and
densities are compared with those of an ordinary process on the same data. Every fit is kept in
docs/results/clean.json soon after it is done, so that a run that was stopped goes on; ``--again`` fits anew
what is asked for. ``--table`` prints what is kept, ``--variants`` one row for each variant of a kind.
BoTorch's relevance pursuit runs if asked for and installed (``pip install 'sturdygp[peers]'``), on few small
data sets.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import norm
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.clean_data import KINDS, VARIANTS, CleanData, Variant
from benchmarks.contenders import fitted_relevance_pursuit
from sturdygp import (
    AsorGPRegressor,
    MixtureGPRegressor,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
    metrics,
)
from sturdygp.estimators.base import FlaggingGPRegressor
from sturdygp.estimators.outputs import Scaling
from sturdygp.experiments.store import environment
from sturdygp.report.table import Table

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "clean.json"
SIZES, TRIALS = (20, 30, 60, 100, 300), 15
# Data sets of more rows than that take most of the time; a third of the trials, rounded up, has to do.
MANY_ROWS, FEWER = 100, 3
# A data set with a larger share of flagged observations is misread.
MISREAD = 0.05
# In standard deviations of the observations; nobody needs to tell smaller errors apart.
SMALLEST_ERROR = 1e-3
STORE_EVERY_SECONDS = 10.0
REFERENCE = "standard"

Array: TypeAlias = np.ndarray
Json: TypeAlias = dict[str, Any]
# Title of the variant, n, trial.
Key: TypeAlias = tuple[str, int, int]


class Scores(NamedTuple):
    """What is kept of a fit; errors are in standard deviations of the observations."""

    flagged: float | None
    rmse: float
    nlpd: float
    coverage: float
    seconds: float


# Of a fit that failed, its error.
Outcome: TypeAlias = Scores | str
Results: TypeAlias = dict[Key, dict[str, Outcome]]


# ----------------------------------------------------------------------------------------- contenders


class Fitted(Protocol):
    """What is asked of a fitted model."""

    def flagged(self) -> float | None:
        """Share of the observations that it takes for outliers, if it tells them."""

    def function(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the function."""

    def log_density(self, X: Array, y: Array) -> Array:
        """Log density of new observations."""


@dataclass(frozen=True, eq=False)
class Ours:
    """A fitted estimator of this library."""

    model: Any

    def flagged(self) -> float | None:
        """Those more probably outliers than not."""
        if not isinstance(self.model, FlaggingGPRegressor):
            return None
        return float(np.mean(self.model.outlier_proba_ > 0.5))

    def function(self, X: Array) -> tuple[Array, Array]:
        """As predicted."""
        mean, std = self.model.predict(X, return_std=True)
        return mean, std

    def log_density(self, X: Array, y: Array) -> Array:
        """Of inliers and outliers, as often as the model expects them."""
        may_be_outliers = {"allow_outliers": True} if isinstance(self.model, FlaggingGPRegressor) else {}
        return np.asarray(self.model.log_predictive_density(X, y, **may_be_outliers))


@dataclass(frozen=True, eq=False)
class RelevancePursuit:
    """A fitted model of BoTorch, in robust units."""

    model: Any
    scaling: Scaling

    def flagged(self) -> float | None:
        """Those that were given a variance of their own."""
        return float(np.mean(self.model.likelihood.noise_covar.rho.detach().numpy() > 0.0))

    def function(self, X: Array) -> tuple[Array, Array]:
        """In the units of the observations."""
        return self._predicted(X, noise=False)

    def log_density(self, X: Array, y: Array) -> Array:
        """Of inliers: its outliers have no distribution that new ones could have."""
        mean, std = self._predicted(X, noise=True)
        return np.asarray(norm.logpdf(y, mean, std))

    def _predicted(self, X: Array, *, noise: bool) -> tuple[Array, Array]:
        import torch  # noqa: PLC0415

        with torch.no_grad():
            posterior = self.model.posterior(torch.from_numpy(X), observation_noise=noise)
            mean, variance = (np.asarray(each[:, 0]) for each in (posterior.mean, posterior.variance))
        return self.scaling.centre + self.scaling.scale * mean, self.scaling.scale * np.sqrt(variance)


def relevance_pursuit(X: Array, y: Array) -> Fitted:
    """In robust units, as the other peers."""
    scaling = Scaling.of(y, "robust")
    return RelevancePursuit(fitted_relevance_pursuit(X, scaling.forward(y)), scaling)


@dataclass(frozen=True, eq=False)
class Contender:
    """A method, what a reader knows it as, and where it runs."""

    name: str
    fit: Callable[[Array, Array], Fitted]
    sizes: tuple[int, ...] = SIZES
    most_trials: int = 1000
    by_default: bool = True

    def runs(self, n: int, trial: int) -> bool:
        """Whether it takes part."""
        return n in self.sizes and trial < self.most_trials


def ours(name: str, estimator: Any) -> Contender:
    """One of our estimators."""
    return Contender(name, lambda X, y: Ours(clone(estimator).fit(X, y)))


def contenders() -> dict[str, Contender]:
    """All of them, in the order of the tables."""
    return {
        "robust": ours("robust", RobustGPRegressor()),
        "robust-many": ours("robust, faults=many", RobustGPRegressor(faults="many")),
        "asor": ours("ASOR", AsorGPRegressor(n_starts=7)),
        "mixture": ours("mixture", MixtureGPRegressor()),
        "student-t": ours("Student-t EP", StudentTGPRegressor()),
        "relevance-pursuit": Contender(
            "relevance pursuit", relevance_pursuit, sizes=(30, 60), most_trials=1, by_default=False
        ),
        REFERENCE: ours("ordinary", StandardGPRegressor()),
    }


METHODS = contenders()


# ---------------------------------------------------------------------------------------------- fits


def outcome(method: str, data: CleanData) -> Outcome:
    """Scores of a method, or what went wrong."""
    scale = float(data.y.std()) or 1.0
    try:
        # Of the processor, so that others who use the machine do not count.
        seconds = -time.process_time()
        fitted = METHODS[method].fit(data.X, data.y)
        seconds += time.process_time()
        mean, std = fitted.function(data.X_test)
        scores = Scores(
            flagged=fitted.flagged(),
            rmse=digits(metrics.rmse(data.truth, mean) / scale),
            nlpd=digits(-float(np.mean(fitted.log_density(data.X_test, data.y_test)))),
            coverage=metrics.coverage(data.truth, mean, std),
            seconds=digits(seconds),
        )
    except ModuleNotFoundError:  # a peer that is not installed has not failed
        raise
    except Exception as error:
        return repr(error)
    if not np.isfinite([each for each in scores if each is not None]).all():
        return "the predictions are not finite"
    return scores


def digits(value: float) -> float:
    """As many as are worth keeping."""
    return float(f"{value:.5g}")


def outcomes(variant: Variant, n: int, trial: int, methods: Sequence[str]) -> dict[str, Outcome]:
    """Some methods on one data set."""
    data = variant.data(n, trial)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return {method: outcome(method, data) for method in methods}


def tasks(
    variants: Iterable[Variant], sizes: Iterable[int], trials: int, methods: Iterable[str]
) -> list[tuple[Variant, int, int, list[str]]]:
    """What each data set is fitted by; a run that is stopped has been at all kinds."""
    wanted = []
    for trial, n, variant in product(range(trials), sizes, variants):
        taking_part = [method for method in methods if METHODS[method].runs(n, trial)]
        if taking_part and (n <= MANY_ROWS or trial < -(-trials // FEWER)):
            wanted.append((variant, n, trial, taking_part))
    return wanted


def run(
    path: Path,
    *,
    variants: Sequence[Variant] = VARIANTS,
    sizes: Sequence[int] = SIZES,
    trials: int = TRIALS,
    methods: Sequence[str],
    n_jobs: int = 1,
    again: bool = False,
) -> Results:
    """Fit what is missing, or all of it again, and keep it; everything that is kept then."""
    results, wanted = stored(path), tasks(variants, sizes, trials, methods)
    if again:
        for variant, n, trial, names in wanted:
            for name in names:
                results.get((variant.title, n, trial), {}).pop(name, None)
    missing = [
        (variant, n, trial, left)
        for variant, n, trial, names in wanted
        if (left := [name for name in names if name not in results.get((variant.title, n, trial), {})])
    ]
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    last = time.monotonic()
    try:
        for key, found in parallel(delayed(keyed)(*task) for task in missing):
            results.setdefault(key, {}).update(found)
            if time.monotonic() - last > STORE_EVERY_SECONDS:
                store(results, path)
                last = time.monotonic()
    finally:
        store(results, path)
    return results


def keyed(variant: Variant, n: int, trial: int, methods: Sequence[str]) -> tuple[Key, dict[str, Outcome]]:
    """Outcomes, and of what."""
    return (variant.title, n, trial), outcomes(variant, n, trial, methods)


# -------------------------------------------------------------------------------------------- results


def store(results: Results, path: Path) -> None:
    """One line for each data set; the file is whole at any time."""
    lines = [
        json.dumps([*key, {method: found[method] for method in sorted(found)}], separators=(",", ":"))
        for key, found in sorted(results.items())
        if found
    ]
    head = json.dumps({"scores": Scores._fields, "environment": environment()}).removesuffix("}")
    whole = path.with_suffix(".part")
    whole.write_text(f'{head}, "data_sets": [\n' + ",\n".join(lines) + "\n]}\n")
    os.replace(whole, path)


def stored(path: Path = RESULTS) -> Results:
    """Everything that was kept."""
    if not path.exists():
        return {}
    return {
        (title, n, trial): {
            method: each if isinstance(each, str) else Scores(*each) for method, each in found.items()
        }
        for title, n, trial, found in json.loads(path.read_text())["data_sets"]
    }


# --------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True, eq=False)
class Summary:
    """A method on a group of data sets, beside the ordinary process on the same ones."""

    done: list[Scores]
    failed: int
    # Only of data sets that both could fit.
    ratios: Array
    differences: Array

    @classmethod
    def of(cls, group: Iterable[dict[str, Outcome]], method: str) -> Summary:
        """Of the outcomes of all methods on some data sets."""
        tried = [found for found in group if method in found]
        done = [scores for found in tried if isinstance(scores := found[method], Scores)]
        pairs = [
            (scores, other)
            for found in tried
            if isinstance(scores := found[method], Scores)
            and isinstance(other := found.get(REFERENCE), Scores)
        ]
        errors = np.array([(scores.rmse, other.rmse) for scores, other in pairs]).reshape(-1, 2)
        own, reference = np.maximum(errors, SMALLEST_ERROR).T
        return cls(
            done,
            len(tried) - len(done),
            own / reference,
            np.array([scores.nlpd - other.nlpd for scores, other in pairs]),
        )

    @property
    def flags(self) -> str:
        """Mean share of flagged observations (share of data sets that are misread)."""
        shares = np.array([scores.flagged for scores in self.done if scores.flagged is not None])
        if not shares.size:
            return "-"
        return f"{100.0 * shares.mean():.1f} % ({100.0 * np.mean(shares > MISREAD):.0f} %)"

    @property
    def error(self) -> str:
        """Geometric mean of the ratios of errors (the largest)."""
        if not self.ratios.size:
            return "-"
        return f"{np.exp(np.mean(np.log(self.ratios))):.2f} ({self.ratios.max():.1f})"

    @property
    def density(self) -> str:
        """Median of the differences of negative log densities (mean)."""
        if not self.differences.size:
            return "-"
        return f"{np.median(self.differences):.2f} ({self.differences.mean():.2f})"

    @property
    def covered(self) -> str:
        """Mean coverage."""
        return f"{np.mean([scores.coverage for scores in self.done]):.2f}" if self.done else "-"

    @property
    def duration(self) -> str:
        """Mean processor seconds of a fit."""
        return f"{np.mean([scores.seconds for scores in self.done]):.2f}" if self.done else "-"


def table(results: Results, *, by_variant: bool = False) -> str:
    """A summary of all methods, and a table by kind for each score."""
    ran = [method for method in METHODS if any(method in found for found in results.values())]
    flagging = [method for method in ran if Summary.of(results.values(), method).flags != "-"]
    compared = [method for method in ran if method != REFERENCE]
    groups = grouped(results, by_variant=by_variant)
    tables = (
        overall(results, ran),
        by_group("observations flagged (data sets with more than 5 %)", groups, flagging, "flags"),
        by_group("RMSE as a ratio to that of an ordinary process (largest)", groups, compared, "error"),
        by_group("NLPD less that of an ordinary process, median (mean)", groups, compared, "density"),
        by_group("the truth within 95 % intervals", groups, ran, "covered"),
    )
    return "\n\n".join(each.markdown() for each in tables)


def grouped(results: Results, *, by_variant: bool) -> dict[str, list[dict[str, Outcome]]]:
    """Data sets by kind or variant, by number of observations, and all together."""
    groups: dict[str, list[dict[str, Outcome]]] = {}
    for variant in VARIANTS:
        label = variant.title if by_variant else variant.kind
        groups.setdefault(label, []).extend(f for key, f in results.items() if key[0] == variant.title)
    for n in sorted({n for _, n, _ in results}):
        groups[f"all, n = {n}"] = [found for key, found in results.items() if key[1] == n]
    groups["all"] = list(results.values())
    return {label: group for label, group in groups.items() if group}


def overall(results: Results, methods: Sequence[str]) -> Table:
    """One row for each method."""
    rows = []
    for method in methods:
        s = Summary.of(results.values(), method)
        cells = (s.flags, s.error, s.density, s.covered, s.duration)
        rows.append((METHODS[method].name, str(len(s.done)), str(s.failed), *cells))
    header = ("method", "data sets", "failed", "flagged", "RMSE", "NLPD", "covers", "s")
    return Table("Clean data, all kinds", header, tuple(rows))


def by_group(
    score: str, groups: dict[str, list[dict[str, Outcome]]], methods: Sequence[str], cell: str
) -> Table:
    """One score by kind and method."""
    rows = tuple(
        (label, str(len(group)), *(getattr(Summary.of(group, method), cell) for method in methods))
        for label, group in groups.items()
    )
    names = (METHODS[method].name for method in methods)
    return Table(f"Clean data: {score}", ("kind", "data sets", *names), rows)


def failures(results: Results) -> str:
    """One line for each fit that failed."""
    return "\n".join(
        f"{METHODS[method].name} failed on {title}, n = {n}, trial {trial}: {found}"
        for (title, n, trial), by_method in results.items()
        for method, found in by_method.items()
        if isinstance(found, str)
    )


def main() -> None:
    """Fit what is missing, print the tables."""
    by_default = [name for name, contender in METHODS.items() if contender.by_default]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--sizes", type=int, choices=SIZES, nargs="*", default=SIZES)
    parser.add_argument("--kinds", choices=KINDS, nargs="*", default=KINDS)
    parser.add_argument("--methods", choices=METHODS, nargs="*", default=by_default)
    parser.add_argument("--n-jobs", type=int, default=2, help="processes, with one BLAS thread each")
    parser.add_argument("--again", action="store_true", help="fit anew what is asked for and kept already")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="only print what is kept, as Markdown")
    parser.add_argument("--variants", action="store_true", help="a row for each variant of a kind")
    arguments = parser.parse_args()
    if not arguments.table:
        run(
            arguments.results,
            variants=[variant for variant in VARIANTS if variant.kind in arguments.kinds],
            sizes=arguments.sizes,
            trials=arguments.trials,
            methods=arguments.methods,
            n_jobs=arguments.n_jobs,
            again=arguments.again,
        )
    results = stored(arguments.results)
    print(table(results, by_variant=arguments.variants), failures(results), sep="\n\n")


if __name__ == "__main__":
    main()
