"""Suites: experiments as lists of tasks, trials outermost, so that a stopped run has complete trials."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from sturdygp.experiments.task import Baselines, Fault, NoiseConvention, Task, check_member

RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
N_TRAIN = 100
COMPARED = ("oracle", "standard", "rcgp", "student-t", "mixture", "asor")
FIGURE_METHODS = (*COMPARED, "robust", "robust-many", "oracle-centred")
FIELD_METHODS = ("standard", "rcgp", "student-t", "mixture", "asor", "robust", "oracle-centred")

SIZES = (200, 400, 600, 800, 1000)
TABLE_METHODS = (*COMPARED, "asor-single", "robust")
# Algorithm 1 as printed in the paper takes minutes for one fit.
GEM_SIZE, GEM_TRIALS = 200, 3

SYNTHETIC_FAULTS = (
    Fault("normal", (0, 10)),
    Fault("normal", (0, 50)),
    Fault("uniform", (0, 15)),
    Fault("uniform", (-15, 0)),
    Fault("uniform", (-10, 10)),
)
REAL_FAULTS = (
    Fault("uniform", (-5, 5)),
    Fault("normal", (0, 10)),
    Fault("uniform", (0, 15)),
    Fault("uniform", (-15, 0)),
)

SHIFT = (3.0, 9.0)
FIELD_RATE = 0.1
# The benchmark has twice as many asymmetric outliers in its synthetic data.
SYNTHETIC_ONE_SIDED_RATE = 0.2


@dataclass(frozen=True)
class Suite:
    """Experiment: ``trial`` makes the tasks of one trial; ``serial`` tasks are timed, so run one by one."""

    name: str
    description: str
    trials: int
    methods: tuple[str, ...]
    trial: Callable[[Task], list[Task]]
    serial: bool = False

    def tasks(
        self,
        *,
        trials: int | None = None,
        convention: NoiseConvention = "text",
        baselines: Baselines = "best",
        methods: Iterable[str] | None = None,
    ) -> list[Task]:
        """Make all tasks; fewer ``trials`` or ``methods`` make some of the same tasks.

        Examples
        --------
        >>> len(suite("fig1a").tasks()), len(suite("fig1a").tasks(trials=1, methods=["asor"]))
        (2430, 9)
        """
        count = self.trials if trials is None else trials
        if count < 1:
            raise ValueError(f"trials must be at least 1, got {trials!r}")
        wanted = self._chosen(methods)
        # The suite itself chooses the other fields.
        blank = Task(
            suite=self.name, dataset="", method="", trial=0, convention=convention, baselines=baselines
        )
        every = [task for index in range(count) for task in self.trial(replace(blank, trial=index))]
        return [task for task in every if task.method in wanted]

    def _chosen(self, methods: Iterable[str] | None) -> tuple[str, ...]:
        chosen = self.methods if methods is None else tuple(methods)
        for name in chosen:
            check_member(f"each method of {self.name}", name, self.methods)
        return chosen


def for_methods(problem: Task, methods: Iterable[str]) -> list[Task]:
    """Make the tasks of one problem for several methods."""
    return [replace(problem, method=method) for method in methods]


def sweep(problem: Task, rates: Iterable[float], methods: Iterable[str]) -> list[Task]:
    """Make the tasks of one problem at several rates, for several methods."""
    return [task for rate in rates for task in for_methods(replace(problem, rate=rate), methods)]


def smoke(blank: Task) -> list[Task]:
    """Make a small synthetic problem for every method, with and without outliers."""
    problem = replace(blank, dataset="synthetic", n_train=20, fault=Fault("uniform", (0, 10)))
    return sweep(problem, (0.0, 0.3), FIGURE_METHODS)


def fig1a(blank: Task) -> list[Task]:
    """Make the tasks of figure 1a: synthetic data with U[0,10] added."""
    return figure(blank, "synthetic", Fault("uniform", (0, 10)))


def fig1b(blank: Task) -> list[Task]:
    """Make the tasks of figure 1b: Air Quality with U[-5,15] added."""
    return figure(blank, "air-quality", Fault("uniform", (-5, 15)))


def fig1c(blank: Task) -> list[Task]:
    """Make the tasks of figure 1c: Energy Efficiency with N(0,25) added."""
    return figure(blank, "energy", Fault("normal", (0, 25)))


def figure(blank: Task, dataset: str, fault: Fault) -> list[Task]:
    """Make the tasks of one data set and one contamination at all rates."""
    return sweep(replace(blank, dataset=dataset, fault=fault, n_train=N_TRAIN), RATES, FIGURE_METHODS)


def table1(blank: Task) -> list[Task]:
    """Make the tasks of table I: synthetic data of several sizes, with N(0,10) added to 40 % of the entries.

    Algorithm 1 runs at the smallest size only.
    """
    problem = replace(blank, dataset="synthetic", fault=Fault("normal", (0, 10)), rate=0.4)
    tasks = [task for n in SIZES for task in for_methods(replace(problem, n_train=n), TABLE_METHODS)]
    if blank.trial < GEM_TRIALS:
        tasks.append(replace(problem, n_train=GEM_SIZE, method="asor-gem"))
    return tasks


def supplement(blank: Task) -> list[Task]:
    """Make the tasks of the supplement: the data of the figures with other contaminations."""
    pairs = [("synthetic", fault) for fault in SYNTHETIC_FAULTS]
    pairs += [(dataset, fault) for dataset in ("air-quality", "energy") for fault in REAL_FAULTS]
    return [task for dataset, fault in pairs for task in figure(blank, dataset, fault)]


def field(blank: Task) -> list[Task]:
    """Make the tasks of the published benchmark: three contaminated data sets, and two clean ones."""
    tasks = []
    for dataset in ("gp-sample", "energy-heating", "yacht"):
        one_sided = SYNTHETIC_ONE_SIDED_RATE if dataset == "gp-sample" else FIELD_RATE
        for fault, rate in (
            (Fault(), 0.0),
            (Fault("symmetric", SHIFT), FIELD_RATE),
            (Fault("one-sided", SHIFT), one_sided),
            (Fault("focused", (3.0, 0.1)), FIELD_RATE),
        ):
            tasks += for_methods(replace(blank, dataset=dataset, fault=fault, rate=rate), FIELD_METHODS)
    for dataset in ("neal", "motorcycle"):
        tasks += for_methods(replace(blank, dataset=dataset), FIELD_METHODS)
    return tasks


SUITES: dict[str, Suite] = {
    each.name: each
    for each in (
        Suite("smoke", "a minute of everything, to see that it works", 2, FIGURE_METHODS, smoke),
        Suite("fig1a", "the paper's figure 1a: synthetic, U[0,10] added", 30, FIGURE_METHODS, fig1a),
        Suite("fig1b", "the paper's figure 1b: Air Quality, U[-5,15] added", 30, FIGURE_METHODS, fig1b),
        Suite("fig1c", "the paper's figure 1c: Energy Efficiency, N(0,25) added", 30, FIGURE_METHODS, fig1c),
        Suite(
            "table1",
            "the paper's table I: time of a fit, n = 200 to 1000",
            30,
            (*TABLE_METHODS, "asor-gem"),
            table1,
            serial=True,
        ),
        Suite("supplement", "the paper's supplement: other contaminations", 30, FIGURE_METHODS, supplement),
        Suite("field", "the benchmark of RCGP and relevance pursuit", 20, FIELD_METHODS, field),
    )
}


def suite(name: str) -> Suite:
    """Return the suite of a name."""
    check_member("suite", name, tuple(SUITES))
    return SUITES[name]
