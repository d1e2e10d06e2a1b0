"""Checkpoints: files from which an interrupted fit is resumed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from sturdygp.exceptions import ModelFileError
from sturdygp.gp.inputs import Rows
from sturdygp.inference.problem import Problem, ResumeState
from sturdygp.inference.variational import LatentState, resume_state
from sturdygp.methods.fit import Method
from sturdygp.optimise import Step
from sturdygp.persistence.archive import Archive, ArrayStore, read_archive, write_archive
from sturdygp.persistence.record import Record

FORMAT, FORMAT_VERSION = "sturdygp checkpoint", 2
# Names of latent parts in files, where these differ from those of the classes.
NAMES_IN_FILES = {"inlier_proba": "nominal", "mixing_weight": "share"}
NAMES = {in_file: name for name, in_file in NAMES_IN_FILES.items()}
# Seconds between writes.
INTERVAL = 30.0


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
                f"{self.path} is no checkpoint of this fit: {error}. Delete it to fit from the beginning"
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
