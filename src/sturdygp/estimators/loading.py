"""Saved models back from their files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

from sturdygp.estimators.base import BaseGPRegressor, FlaggingGPRegressor
from sturdygp.estimators.callbacks import check_hooks
from sturdygp.estimators.gaussian import OracleGPRegressor
from sturdygp.estimators.registry import estimator_named
from sturdygp.estimators.saving import FIRST_SEALED, FORMAT, FORMAT_VERSION, ModelState, decode_state
from sturdygp.exceptions import ModelFileError
from sturdygp.persistence.archive import read_archive
from sturdygp.persistence.record import Record

# Arguments that older files do not have, with the values that they were written under.
EARLIER: dict[str, dict[str, object]] = {"RobustGPRegressor": {"faults": "many"}}


def load(path: str | os.PathLike[str]) -> BaseGPRegressor:
    """Load a model that was written by its ``save``.

    The file is not trusted: it holds numbers and names, which are checked, and no code.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    model : estimator
        It predicts exactly what the saved one did.

    Raises
    ------
    ModelFileError
        The file is not a saved model, or is damaged, was changed, or comes from a newer version. Its content
        has to match its checksum, and every number has to be one that a fit can give.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> import sturdygp
    >>> x = np.linspace(0, 6, 30)[:, None]
    >>> model = sturdygp.RobustGPRegressor().fit(x, np.sin(x[:, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.sgp")
    ...     again = sturdygp.load(f"{folder}/model.sgp")
    >>> bool(np.all(again.predict(x) == model.predict(x)))
    True
    """
    return read_model(path)[0]


def read_model(path: str | os.PathLike[str]) -> tuple[BaseGPRegressor, Record | None]:
    """The model in a file, and how the columns of a table become its inputs if the file says so."""
    with naming_file(path):
        archive = read_archive(Path(path))
        document = Record("document", archive.document, archive.arrays)
        archive.check_content(required=checked_version(document) >= FIRST_SEALED)
        model = restore(decode_state(document.child("model")))
        return model, document.child("table") if document.given("table") else None


@contextmanager
def naming_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in whatever is wrong with it."""
    try:
        yield
    except ValueError as error:
        raise ModelFileError(
            f"{os.fspath(path)} is not a model that can be loaded: {error}. "
            "Save the model again, or get the file anew from where it came"
        ) from error


def checked_version(document: Record) -> int:
    """The format of a file; refuses other files, and files of versions to come."""
    if document.fields.get("format") != FORMAT:
        raise ModelFileError("it is not a model of sturdygp")
    version = document.integer("version")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"it has format {version} and this version of sturdygp reads formats up to {FORMAT_VERSION}: "
            "upgrade sturdygp"
        )
    if version < 1:
        raise document.fail("version", "1 or more")
    return version


def restore(state: ModelState) -> BaseGPRegressor:
    """The estimator that a state describes."""
    cls = estimator_named(state.estimator)
    if cls is None:
        raise ModelFileError(f"{state.estimator!r} is not an estimator that this version of sturdygp knows")
    unknown = set(state.parameters) - {each.name for each in fields(cls)}
    if unknown:
        raise ModelFileError(f"{state.estimator} has no parameter {', '.join(sorted(unknown))}")
    if issubclass(cls, FlaggingGPRegressor):
        for output in state.outputs:
            if output.fit.outlier_proba is None or not isinstance(output.fit.likelihood, cls._LIKELIHOOD):
                raise ModelFileError(f"an output lacks the {cls._LIKELIHOOD.__name__} of a {state.estimator}")
    build: Callable[..., BaseGPRegressor] = cls
    model = build(**EARLIER.get(state.estimator, {}) | dict(state.parameters))
    check_parameters(model)
    return model.restore(state)


def check_parameters(model: BaseGPRegressor) -> None:
    """Refuse arguments that a fit would refuse."""
    try:
        check_hooks(model.verbose, model.callback, None)
        model._common()
        # The method of an oracle depends on the outliers it is given.
        if not isinstance(model, OracleGPRegressor):
            model._method()
    except TypeError as error:
        raise ModelFileError(f"an argument of its estimator has the wrong type ({error})") from error
