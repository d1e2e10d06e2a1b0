"""Fitted estimators as files: what of an estimator is kept, and how it is written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from sturdygp.estimators.outputs import FittedOutput, Scaling
from sturdygp.persistence.archive import ArrayStore, Json, write_archive
from sturdygp.persistence.fits import PRIORS, decode_fit, decode_prior, encode_fit, encode_prior
from sturdygp.persistence.kernels import decode_any_kernel, encode_kernel, plain_numbers
from sturdygp.persistence.record import Record, plain_number

FORMAT = "sturdygp model"
# Raised when files change so that older versions of sturdygp could not read them; older files stay readable.
FORMAT_VERSION = 2
# The first format whose files have a checksum.
FIRST_SEALED = 2


@dataclass(frozen=True, eq=False)
class ModelState:
    """All that makes a fitted estimator: fitted attributes follow from it."""

    estimator: str
    parameters: Mapping[str, object]
    outputs: Sequence[FittedOutput]
    single: bool
    n_features: int
    feature_names: tuple[str, ...] | None


def write_model(path: str | os.PathLike[str], state: ModelState, table: Json | None = None) -> None:
    """Write a model, and how the columns of a table become its inputs if that is known."""
    store = ArrayStore()
    document = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "written_by": f"sturdygp {version('sturdygp')}",
        "model": encode_state(state, store),
        "table": table,
    }
    write_archive(Path(path), document, store)


def encode_state(state: ModelState, store: ArrayStore) -> Json:
    """An estimator."""
    return {
        "estimator": state.estimator,
        "parameters": {key: encode_parameter(key, value) for key, value in state.parameters.items()},
        "single": state.single,
        "n_features": state.n_features,
        "feature_names": None if state.feature_names is None else list(state.feature_names),
        "outputs": [encode_output(output, store) for output in state.outputs],
    }


def encode_parameter(name: str, value: Any) -> object:
    """An argument of an estimator's constructor."""
    plain = value.item() if isinstance(value, np.generic) else value
    plain = os.fspath(plain) if isinstance(plain, os.PathLike) else plain
    if plain is None or isinstance(plain, bool | int | float | str):
        return plain_number(plain) if isinstance(plain, float) else plain
    if name == "kernel":
        return encode_kernel(plain)
    if name == "prior" and type(plain) in PRIORS.values():
        return encode_prior(plain)
    if isinstance(plain, Sequence | np.ndarray):
        return plain_numbers(plain)
    raise ValueError(
        f"a model with {name}={value!r} cannot be saved; give {name} a plain value, "
        f"for example with set_params({name}=None)"
    )


def encode_output(output: FittedOutput, store: ArrayStore) -> Json:
    """One output."""
    return {
        "observed": store.add(output.observed),
        "centre": plain_number(output.scaling.centre),
        "scale": plain_number(output.scaling.scale),
        "fit": encode_fit(output.fit, store),
        "readings": None if output.targets is None else store.add(output.targets),
        "observation": None if output.observation is None else store.add(output.observation.astype(np.int64)),
    }


def decode_state(record: Record) -> ModelState:
    """Read back what :func:`encode_state` described."""
    given, n_features = record.child("parameters"), record.count("n_features", 1)
    outputs = [decode_output(each, n_features) for each in record.children("outputs")]
    names = record.texts("feature_names") if record.given("feature_names") else None
    single = record.flag("single")
    if not outputs or (single and len(outputs) > 1) or len({len(each.observed) for each in outputs}) > 1:
        raise record.fail("outputs", "one or more outputs with the same rows")
    if names is not None and len(names) != n_features:
        raise record.fail("feature_names", f"{n_features} names")
    return ModelState(
        estimator=record.text("estimator"),
        parameters={name: decode_parameter(given, name) for name in given.fields},
        outputs=outputs,
        single=single,
        n_features=n_features,
        feature_names=names,
    )


def decode_parameter(record: Record, name: str) -> object:
    """An argument of an estimator's constructor; a sequence becomes a tuple, a table an array."""
    value = record.fields[name]
    if isinstance(value, dict):
        return decode_prior(record.child(name)) if name == "prior" else decode_any_kernel(record.child(name))
    if isinstance(value, list) and value and isinstance(value[0], list):
        return record.table(name)
    return record.numbers(name) if isinstance(value, list | float) else value


def decode_output(record: Record, n_features: int) -> FittedOutput:
    """One output, with as many targets as rows that were observed; some may be one observation."""
    observed, fit = record.truths("observed", None), decode_fit(record.child("fit"), n_features)
    n, fitted = int(observed.sum()), len(fit.posterior.sites)
    observation = record.integers("observation", n) if record.given("observation") else None
    if observation is None and n != fitted:
        raise record.fail("observed", f"true in {fitted} places")
    if observation is not None and not np.array_equal(np.unique(observation), np.arange(fitted)):
        raise record.fail("observation", f"the numbers of {fitted} observations, each once or more")
    scaling = Scaling(record.finite("centre"), record.finite("scale", above=0.0))
    targets = record.finite_floats("readings", n) if record.given("readings") else None
    return FittedOutput(observed, scaling, fit, targets=targets, observation=observation)
