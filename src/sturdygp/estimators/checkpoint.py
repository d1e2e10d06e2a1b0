"""A file from which an interrupted fit goes on: where its climb was, and which fit that is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from sturdygp.exceptions import ModelFileError
from sturdygp.gp.inputs import Rows
from sturdygp.inference.problem import Problem, Resume
from sturdygp.inference.variational import Trail, state_of
from sturdygp.methods.fit import Method
from sturdygp.optimise import Step
from sturdygp.persistence.archive import Archive, ArrayStore, read_archive, write_archive
from sturdygp.persistence.record import Record

FORMAT, FORMAT_VERSION = "sturdygp checkpoint", 2
# Seconds between writes.
INTERVAL = 30.0


@dataclass
class Checkpoint:
    """The file of one output, and the fingerprint of the fit that it is of."""

    path: Path
    fingerprint: str
    written: float = -np.inf

    def read(self) -> Resume | None:
        """Where the fit was; None if there is no file."""
        if not self.path.exists():
            return None
        try:
            archive = read_archive(self.path)
            return self._decode(archive)
        except ModelFileError as error:
            raise ModelFileError(
                f"{self.path} is no checkpoint of this fit: {error}. Delete it to start afresh"
            ) from error

    def _decode(self, archive: Archive) -> Resume:
        record = Record("checkpoint", archive.document, archive.arrays)
        if record.fields.get("format") != FORMAT or record.integer("version") != FORMAT_VERSION:
            raise ModelFileError("it was not written by this version of sturdygp")
        archive.check_content(required=True)
        if record.text("fingerprint") != self.fingerprint:
            raise ModelFileError("it belongs to other data or settings")
        latent = record.child("latent")
        return Resume(
            x=record.finite_floats("x", None),
            latent={name: latent.finite_floats(name, ...) for name in latent.fields},
            curvature=record.finite_floats("curvature", None, None) if record.given("curvature") else None,
        )

    def keep(self, step: Step, *, at_once: bool = False) -> None:
        """Write where the climb is, unless that was done a moment ago."""
        now = time.monotonic()
        climbing = step.optimum is not None and isinstance(step.optimum.carry, Trail)
        if step.optimum is None or not climbing or (now - self.written < INTERVAL and not at_once):
            return
        state, store = state_of(step.optimum), ArrayStore()
        document = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "fingerprint": self.fingerprint,
            "x": store.add(state.x),
            "latent": {name: store.add(part) for name, part in state.latent.items()},
            "curvature": None if state.curvature is None else store.add(state.curvature),
        }
        write_archive(self.path, document, store)
        self.written = now


def fingerprint(problem: Problem, method: Method, settings: str) -> str:
    """What tells a fit from others: its data, what its method was told, its settings, and its kernel."""
    hashed = sha256(f"{settings} {problem.kernel!r}".encode())
    inputs = () if isinstance(problem.X, Rows) else (problem.X,)
    told = (value for value in vars(method).values() if isinstance(value, np.ndarray))
    for array in (problem.y, *inputs, problem.kernel.theta, problem.kernel.bounds, problem.inducing, *told):
        hashed.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()
