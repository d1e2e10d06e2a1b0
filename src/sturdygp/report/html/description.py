"""Description of a fitted model: its kernel, the influence of each input, and how the fit ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import rankdata

from sturdygp._typing import FloatArray
from sturdygp.estimators.base import BaseGPRegressor
from sturdygp.kernels.base import Kernel, Sum
from sturdygp.kernels.stationary import Stationary
from sturdygp.tables.formatting import in_text
from sturdygp.tables.inputs import ClockInput, InputColumn, TimeInput
from sturdygp.tables.model import TableModel, as_columns
from sturdygp.tables.plan import Plan

# Names of effects of an input, each with the smallest such effect; see input_effects.
STRENGTHS = ((0.5, "strong"), (0.2, "moderate"), (0.05, "weak"), (0.0, "hardly any"))
# Readings in the sample from which effects are estimated, and permutations of their inputs.
SAMPLE_SIZE = 300
PERMUTATIONS = 4
# Inputs in a report: nobody reads more, and each one takes time and space.
MOST_INPUTS = 50


def of_output(estimator: BaseGPRegressor, name: str, index: int) -> Any:
    """Return a fitted attribute of one output; with several outputs it is a list or an array."""
    value = getattr(estimator, name)
    several = estimator.weights_.ndim > 1
    return value[index] if several else value


def describe_kernel(model: TableModel, index: int) -> str:
    """Describe the prior of the function."""
    kernel, mean = (of_output(model.estimator, name, index) for name in ("kernel_", "mean_"))
    parts = stationary_parts(kernel)
    if not parts:
        return f"The kernel is {kernel!r}, for inputs of unit scale."
    first, *others = (sqrt(part.variance) for part in parts)
    finer = [f" Finer structure that varies by about {few_digits(each)} is added." for each in others]
    return (
        "The expected value is a smooth function of the inputs "
        f"({spaced(type(parts[0]).__name__)} kernel). It varies by about {few_digits(first)} around "
        f"{in_text(mean, first)}.{''.join(finer)} A length scale is how far an input must change until the "
        "function is another one; the influence says how much of what is expected changes with that input."
    )


def few_digits(value: float) -> str:
    """Format a number with a few significant digits.

    Examples
    --------
    >>> few_digits(123456.0), few_digits(0.0123456)
    ('123000', '0.0123')
    """
    return in_text(value, abs(value))


def stationary_parts(kernel: Kernel) -> tuple[Stationary, ...]:
    """Return the terms of a kernel; none if one of them is not stationary, without a length scale."""
    parts = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    stationary = tuple(part for part in parts if isinstance(part, Stationary))
    return stationary if len(stationary) == len(parts) else ()


def describe_ending(model: TableModel, index: int) -> str:
    """Describe how the fit ended."""
    estimator = model.estimator
    status, steps, note, held = (
        of_output(estimator, name, index) for name in ("status_", "n_iter_", "note_", "at_bounds_")
    )
    sentences = [f"After {steps} iterations the fit {ended(status.message)}."]
    if held:
        names = ", ".join(parameter_name(name, model.plan) for name in held)
        sentences.append(f"Held by a bound: {names}.")
    if note:
        sentences.append(f"{note[0].upper()}{note[1:]}.")
    return " ".join(sentences)


def parameter_name(name: str, plan: Plan) -> str:
    """Spell out the name of a parameter of a kernel, with the name of its feature."""
    part, _, own = name.rpartition(".")
    parameter, _, number = own.removesuffix("]").partition("[")
    feature = f" of {plan.features[int(number)]}" if number else ""
    finer = " in the finer structure" if part not in {"", "parts[0]"} else ""
    return f"{parameter.replace('_', ' ')}{feature}{finer}"


def ended(message: str) -> str:
    """Turn a status into the end of a sentence.

    Examples
    --------
    >>> ended("converged"), ended("no step improves the objective")
    ('converged', 'ended: no step improves the objective')
    """
    return message if message.startswith(("converged", "stopped")) else f"ended: {message}"


def spaced(name: str) -> str:
    """Split the name of a class into words.

    Examples
    --------
    >>> spaced("SquaredExponential")
    'squared exponential'
    """
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


# -------------------------------------------------------------------------------------- influence


@dataclass(frozen=True)
class Influence:
    """Length scale of one feature, and strength of its input's influence, as texts."""

    feature: str
    length_scale: str
    strength: str


def influences(model: TableModel, index: int, raw: FloatArray) -> list[Influence]:
    """Describe each feature, with its length scale in its own units, the strongest influence first.

    A kernel in several parts is described by its first one. ``raw`` holds the features of the readings.
    """
    parts, plan = stationary_parts(of_output(model.estimator, "kernel_", index)), model.plan
    if not parts:
        return []
    lengths = np.broadcast_to(np.asarray(parts[0].length_scale, dtype=np.float64), len(plan.features))
    inputs, slices, features = leading_inputs(model, index, raw), feature_slices(plan), plan.features
    effects = input_effects(model, index, raw, inputs)
    return [
        Influence(
            features[feature],
            f"{few_digits(lengths[feature] * plan.scales[feature])}{unit(plan.inputs[number])}",
            strength(effect),
        )
        for effect, number in sorted(zip(effects, inputs, strict=True), key=lambda row: -float(row[0]))
        for feature in range(len(features))[slices[number]]
    ]


def unit(column: InputColumn) -> str:
    """Return the unit of an input of times; that of a number is unknown."""
    if isinstance(column, TimeInput):
        return f" {column.unit}"
    return " hours" if isinstance(column, ClockInput) else ""


def input_effects(
    model: TableModel, index: int, raw: FloatArray, inputs: Sequence[int] | None = None
) -> FloatArray:
    """Estimate the square root of the total-effect index of each input; 1 if no other input matters.

    ``inputs`` are the numbers of the inputs, by default of all that a report shows. Jansen's estimator (1999)
    permutes the values of one input among the readings. Half the mean square of the change in the expected
    value is the variance that the input accounts for, alone and in interactions with others.
    """
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(raw))[:SAMPLE_SIZE]
    orders = [rng.permutation(rows) for _ in range(PERMUTATIONS)]

    def expected(features: FloatArray) -> FloatArray:
        return as_columns(model.estimator.predict(model.plan.scaled(features)))[:, index]

    original = expected(raw[rows])
    repeated, permuted = np.tile(original, PERMUTATIONS), np.concatenate(orders)
    variance = []
    for number in leading_inputs(model, index, raw) if inputs is None else inputs:
        features = feature_slices(model.plan)[number]
        # One input at a time: all at once would need memory with the square of their number.
        changed = np.tile(raw[rows], (PERMUTATIONS, 1))
        changed[:, features] = raw[permuted, features]
        variance.append(np.mean((expected(changed) - repeated) ** 2) / 2.0)
    return np.asarray(np.sqrt(np.array(variance) / max(original.var(), np.finfo(float).tiny)))


def feature_slices(plan: Plan) -> list[slice]:
    """Return the columns of features of each input."""
    ends = np.cumsum([0, *(len(column.features) for column in plan.inputs)]).tolist()
    return [slice(first, end) for first, end in pairwise(ends)]


def leading_inputs(model: TableModel, index: int, raw: FloatArray) -> list[int]:
    """Return the numbers of the inputs that a report shows: all, or those most correlated with the function.

    Correlations are of ranks, so that a few far values do not matter.
    """
    slices = feature_slices(model.plan)
    if len(slices) <= MOST_INPUTS:
        return list(range(len(slices)))
    rows = np.random.default_rng(0).permutation(len(raw))[:SAMPLE_SIZE]
    expected = as_columns(model.estimator.predict(model.plan.scaled(raw[rows])))[:, index]
    correlation = np.abs(standard_ranks(raw[rows]).T @ standard_ranks(expected[:, None]))[:, 0]
    strongest = [-float(correlation[features].max()) for features in slices]
    return sorted(np.argsort(strongest, kind="stable")[:MOST_INPUTS].tolist())


def standard_ranks(columns: FloatArray) -> FloatArray:
    """Return the ranks in each column, centred and of unit norm; zero if all values are equal."""
    ranks = rankdata(columns, axis=0)
    ranks -= ranks.mean(axis=0)
    return np.asarray(ranks / np.maximum(np.linalg.norm(ranks, axis=0), np.finfo(float).tiny))


def describe_omitted_inputs(shown: int, total: int) -> str:
    """Describe which inputs a report shows; an empty text if it shows all.

    Examples
    --------
    >>> describe_omitted_inputs(50, 700)
    'Shown are 50 of 700 inputs, those that go most with the expected value.'
    """
    if shown == total:
        return ""
    return f"Shown are {shown} of {total} inputs, those that go most with the expected value."


def strength(effect: float) -> str:
    """Name the strength of an effect.

    Examples
    --------
    >>> strength(0.9), strength(0.01)
    ('strong', 'hardly any')
    """
    return next(name for least, name in STRENGTHS if effect >= least)
