"""Kernel and fit in words."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.estimators.base import BaseGPRegressor
from sturdygp.kernels.base import Kernel, Sum
from sturdygp.kernels.stationary import Stationary
from sturdygp.report.html.influence import feature_slices, input_shares, leading_inputs, strength
from sturdygp.tables.digits import in_text
from sturdygp.tables.inputs import ClockInput, InputColumn, TimeInput
from sturdygp.tables.model import TableModel
from sturdygp.tables.plan import Plan


@dataclass(frozen=True)
class Influence:
    """What one feature does to the function."""

    feature: str
    length_scale: str
    words: str


def of_output(estimator: BaseGPRegressor, name: str, index: int) -> Any:
    """A fitted attribute of one output; there is a list or an array of them where there are several."""
    value = getattr(estimator, name)
    several = estimator.weights_.ndim > 1
    return value[index] if several else value


def kernel_in_words(model: TableModel, index: int) -> str:
    """What the prior says about the function."""
    kernel, mean = (of_output(model.estimator, name, index) for name in ("kernel_", "mean_"))
    parts = stationary_parts(kernel)
    if not parts:
        return f"The kernel is {kernel!r}, for inputs of unit spread."
    first, *others = (sqrt(part.variance) for part in parts)
    finer = [f" Finer structure that varies by about {few_digits(each)} is added." for each in others]
    return (
        "The expected value is a smooth function of the inputs "
        f"({spaced(type(parts[0]).__name__)} kernel). It varies by about {few_digits(first)} around "
        f"{in_text(mean, first)}.{''.join(finer)} A length scale is how far an input must change until the "
        "function is another one; the influence says how much of what is expected changes with that input."
    )


def few_digits(value: float) -> str:
    """A number that stands for itself.

    Examples
    --------
    >>> few_digits(123456.0), few_digits(0.0123456)
    ('123000', '0.0123')
    """
    return in_text(value, abs(value))


def stationary_parts(kernel: Kernel) -> tuple[Stationary, ...]:
    """The kernel, or what it is the sum of; nothing if that has no length scales."""
    parts = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    stationary = tuple(part for part in parts if isinstance(part, Stationary))
    return stationary if len(stationary) == len(parts) else ()


def influences(model: TableModel, index: int, raw: FloatArray) -> list[Influence]:
    """Every feature with its length scale in its own units, the strongest influence first.

    Of a kernel in several parts, those of the first. The features ``raw`` of readings tell what varies.
    """
    parts, plan = stationary_parts(of_output(model.estimator, "kernel_", index)), model.plan
    if not parts:
        return []
    lengths = np.broadcast_to(np.asarray(parts[0].length_scale, dtype=np.float64), len(plan.features))
    places, slices, features = leading_inputs(model, index, raw), feature_slices(plan), plan.features
    shares = input_shares(model, index, raw, places)
    return [
        Influence(
            features[feature],
            f"{few_digits(lengths[feature] * plan.scales[feature])}{unit(plan.inputs[place])}",
            strength(share),
        )
        for share, place in sorted(zip(shares, places, strict=True), key=lambda row: -float(row[0]))
        for feature in range(len(features))[slices[place]]
    ]


def unit(column: InputColumn) -> str:
    """The unit of an input; numbers do not tell theirs."""
    if isinstance(column, TimeInput):
        return f" {column.unit}"
    return " hours" if isinstance(column, ClockInput) else ""


def ending_in_words(model: TableModel, index: int) -> str:
    """How the fit ended."""
    estimator = model.estimator
    status, steps, note, held = (
        of_output(estimator, name, index) for name in ("status_", "n_iter_", "note_", "at_bounds_")
    )
    words = [f"After {steps} iterations the fit {ended(status.message)}."]
    if held:
        words.append(f"Held by a bound: {', '.join(parameter(name, model.plan) for name in held)}.")
    if note:
        words.append(f"{note[0].upper()}{note[1:]}.")
    return " ".join(words)


def parameter(name: str, plan: Plan) -> str:
    """A parameter of a kernel in words; that of one feature with the name of that feature."""
    part, _, own = name.rpartition(".")
    what, _, number = own.removesuffix("]").partition("[")
    feature = f" of {plan.features[int(number)]}" if number else ""
    finer = " in the finer structure" if part not in {"", "parts[0]"} else ""
    return f"{what.replace('_', ' ')}{feature}{finer}"


def ended(message: str) -> str:
    """A status as the end of a sentence.

    Examples
    --------
    >>> ended("converged"), ended("no step improves the objective")
    ('converged', 'ended: no step improves the objective')
    """
    return message if message.startswith(("converged", "stopped")) else f"ended: {message}"


def spaced(name: str) -> str:
    """The name of a class in words.

    Examples
    --------
    >>> spaced("SquaredExponential")
    'squared exponential'
    """
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
