"""Callbacks and checkpoints: what is reported of a fit while it runs, and the file from which it goes on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import inf, log
from numbers import Real
from pathlib import Path
from typing import TypeAlias

import numpy as np

from sturdygp.estimators.outputs import FittedOutput
from sturdygp.exceptions import ModelFileError
from sturdygp.gp.inputs import Rows
from sturdygp.inference.problem import Problem, ResumeState
from sturdygp.inference.variational import LatentState, resume_state
from sturdygp.methods.fit import Method
from sturdygp.optimise import Step
from sturdygp.persistence.archive import Archive, ArrayStore, read_archive, write_archive
from sturdygp.persistence.record import Record
from sturdygp.status import Status

PathLike: TypeAlias = str | os.PathLike[str]

FORMAT, FORMAT_VERSION = "sturdygp checkpoint", 2
# Seconds between writes.
INTERVAL = 30.0

# Names of latent parts in files, where these differ from those of the classes.
NAMES_IN_FILES = {"inlier_proba": "nominal", "mixing_weight": "share"}
NAMES = {in_file: name for name, in_file in NAMES_IN_FILES.items()}


@dataclass
class Checkpoint:
    """The file of one output, and the fingerprint of the fit that it is of."""

    path: Path
    fingerprint: str
    written: float = -np.inf

    def read(self) -> ResumeState | None:
        """Read the state of the fit; None if there is no file."""
        if not self.path.exists():
            return None
        try:
            archive = read_archive(self.path)
            return self._decode(archive)
        except ModelFileError as error:
            raise ModelFileError(
                f"{self.path} is no checkpoint of this fit: {error}. Delete it to fit afresh"
            ) from error

    def _decode(self, archive: Archive) -> ResumeState:
        record = Record("checkpoint", archive.document, archive.arrays)
        if record.fields.get("format") != FORMAT or record.integer("version") != FORMAT_VERSION:
            raise ModelFileError("it was not written by this version of sturdygp")
        archive.check_content(required=True)
        if record.text("fingerprint") != self.fingerprint:
            raise ModelFileError("it belongs to other data or settings")
        latent = record.child("latent")
        return ResumeState(
            x=record.finite_floats("x", None),
            latent={NAMES.get(name, name): latent.finite_floats(name, ...) for name in latent.fields},
            curvature=record.finite_floats("curvature", None, None) if record.given("curvature") else None,
        )

    def keep(self, step: Step, *, at_once: bool = False) -> None:
        """Write the state of the optimisation, unless that was done a moment ago."""
        now = time.monotonic()
        resumable = step.optimum is not None and isinstance(step.optimum.carry, LatentState)
        if step.optimum is None or not resumable or (now - self.written < INTERVAL and not at_once):
            return
        state, store = resume_state(step.optimum), ArrayStore()
        document = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "fingerprint": self.fingerprint,
            "x": store.add(state.x),
            "latent": {
                NAMES_IN_FILES.get(name, name): store.add(part) for name, part in state.latent.items()
            },
            "curvature": None if state.curvature is None else store.add(state.curvature),
        }
        write_archive(self.path, document, store)
        self.written = now


def fingerprint(problem: Problem, method: Method, settings: str) -> str:
    """Identify a fit: its data, its settings, the arrays given to its method, and its kernel."""
    hashed = sha256(f"{settings} {problem.kernel!r}".encode())
    inputs = () if isinstance(problem.X, Rows) else (problem.X,)
    given = (value for value in vars(method).values() if isinstance(value, np.ndarray))
    for array in (problem.y, *inputs, problem.kernel.theta, problem.kernel.bounds, problem.inducing, *given):
        hashed.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


@dataclass(frozen=True)
class Watch:
    """Tells listeners and the checkpoint of every iteration; the fit ends if a listener says so."""

    pace: Pace
    listeners: Sequence[FitCallback]
    checkpoint: Checkpoint | None

    def __call__(self, step: Step) -> bool:
        """One iteration."""
        progress, stop = self.pace.progress(step), False
        for listener in self.listeners:
            stop = bool(listener(progress)) or stop
        if self.checkpoint is not None:
            self.checkpoint.keep(step, at_once=stop)
        return stop


@dataclass(frozen=True)
class FitHooks:
    """Listeners and checkpoints of the fits of all outputs, and the earlier fits that initialise them.

    ``previous`` are earlier fits, or none.
    """

    n_outputs: int
    listeners: Sequence[FitCallback]
    checkpoint: PathLike | None
    previous: Sequence[FittedOutput]

    def attach(self, problem: Problem, output: int, fingerprint: str) -> Problem:
        """Give a problem its listeners, and its initialisation."""
        if output < len(self.previous):
            problem = warmed(problem, self.previous[output], fingerprint)
        if self.checkpoint is None:
            callback = Watch(Pace(output), self.listeners, None) if self.listeners else None
            return replace(problem, callback=callback)
        path = checkpoint_path(self.checkpoint, output, self.n_outputs)
        checkpoint = Checkpoint(path, fingerprint)
        found = checkpoint.read()
        return replace(
            problem,
            callback=Watch(Pace(output), self.listeners, checkpoint),
            resume=problem.resume if found is None else found,
        )

    def finish(self, outputs: Sequence[FittedOutput]) -> None:
        """Remove checkpoints of fits that are done; one that was stopped may go on."""
        if self.checkpoint is None or any(output.fit.status is Status.STOPPED for output in outputs):
            return
        for output in range(self.n_outputs):
            checkpoint_path(self.checkpoint, output, self.n_outputs).unlink(missing_ok=True)


def warmed(problem: Problem, previous: FittedOutput, fingerprint: str) -> Problem:
    """The problem from where the same fit ended; with other data or settings, from its kernel.

    Weights and outlier probabilities belong to observations: those of others mislead.
    """
    kernel, found = previous.fit.posterior.kernel, previous.fit.resume
    finer, same = problem.finer, kernel.parameter_names == problem.kernel.parameter_names
    known = same or (finer is not None and kernel.parameter_names == finer.kernel.parameter_names)
    if known and found is not None and previous.fingerprint == fingerprint:
        searched = previous.fit.status is not Status.STOPPED
        return replace(problem, resume=replace(found, searched=searched))
    if not same:
        return problem
    theta = np.clip(kernel.theta, *problem.kernel.bounds.T) if kernel.theta.size else kernel.theta
    return replace(problem, kernel=problem.kernel.with_theta(theta))


def checkpoint_path(path: PathLike, output: int, n_outputs: int) -> Path:
    """A file for each output.

    Examples
    --------
    >>> str(checkpoint_path("fit.ckpt", 0, 1)), str(checkpoint_path("fit.ckpt", 2, 4))
    ('fit.ckpt', 'fit.ckpt.2')
    """
    return Path(path) if n_outputs == 1 else Path(f"{os.fspath(path)}.{output}")


def check_hooks(verbose: object, callback: object, checkpoint: object) -> None:
    """Refuse what would only fail once a fit is under way."""
    if not isinstance(verbose, Real | np.bool_):
        raise ValueError(f"verbose must be 0, 1 or 2, got {verbose!r}")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function of a Progress, got {callback!r}")
    if checkpoint is None:
        return
    if not isinstance(checkpoint, str | os.PathLike):
        raise ValueError(f"checkpoint must be the path of a file, got {checkpoint!r}")
    folder = Path(checkpoint).absolute().parent
    if not folder.is_dir():
        raise ValueError(f"checkpoint must be a file in a folder that is there; {folder} is not")


@dataclass(frozen=True)
class Progress:
    """How far a fit is.

    Attributes
    ----------
    output : int
        The column of y.
    iteration : int
        Iterations with all observations so far, from all initialisations.
    bound : float
        The highest bound so far, or evidence, for scaled targets. It may fall where a method goes on with
        another objective: Student-t from variational Bayes to the chosen inference, RCGP with new weights.
    seconds : float
        Time since the first of these iterations.
    seconds_left : float or None
        A rough estimate: derivatives fall by about the same factor with each iteration. None while
        nothing is known.
    """

    output: int
    iteration: int
    bound: float
    seconds: float
    seconds_left: float | None

    def __str__(self) -> str:
        """One line."""
        left = "" if self.seconds_left is None else f", about {self.seconds_left:.0f} s left"
        return f"output {self.output}: iteration {self.iteration}, bound {self.bound:.6f}{left}"


# If it answers True, the fit ends there.
FitCallback: TypeAlias = Callable[[Progress], bool | None]


@dataclass
class Pace:
    """The time that one output still needs."""

    output: int
    clock: Callable[[], float] = time.monotonic
    began: float | None = None
    most: float = field(default=-inf)
    iterations: int = 0

    def progress(self, step: Step) -> Progress:
        """Report a step.

        Examples
        --------
        >>> pace = Pace(0, clock=iter([10.0, 12.0]).__next__)
        >>> print(pace.progress(Step(-50.0, 1e4)))
        output 0: iteration 1, bound -50.000000
        >>> print(pace.progress(Step(-40.0, 1e2)))
        output 0: iteration 2, bound -40.000000, about 2 s left
        """
        now = self.clock()
        if self.began is None:
            self.began = now
        self.iterations += 1
        if step.excess < inf:
            self.most = max(self.most, step.excess)
        seconds = now - self.began
        return Progress(self.output, self.iterations, step.value, seconds, self._left(seconds, step.excess))

    def _left(self, seconds: float, excess: float) -> float | None:
        if excess <= 1.0:
            return 0.0
        return seconds * log(excess) / log(self.most / excess) if excess < self.most else None
