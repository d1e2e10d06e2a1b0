"""Kernels as JSON: ours by their parameters, scikit-learn's if they are on the list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as theirs

from sturdygp.exceptions import ModelFileError
from sturdygp.kernels.base import Composite, Kernel, Product, Sum
from sturdygp.kernels.interop import SklearnKernel
from sturdygp.kernels.leaf import Bounds, LeafKernel, check_bounds
from sturdygp.kernels.other import Constant, Linear, Periodic
from sturdygp.kernels.stationary import (
    Matern12,
    Matern32,
    Matern52,
    RationalQuadratic,
    SquaredExponential,
)
from sturdygp.kernels.temporal import DampedHarmonics, IntegratedNoise
from sturdygp.persistence.archive import Json
from sturdygp.persistence.record import Record, as_number, plain_number

LEAVES: dict[str, type[LeafKernel]] = {
    "SquaredExponential": SquaredExponential,
    "Matern12": Matern12,
    "Matern32": Matern32,
    "Matern52": Matern52,
    "RationalQuadratic": RationalQuadratic,
    "Periodic": Periodic,
    "Linear": Linear,
    "Constant": Constant,
    "DampedHarmonics": DampedHarmonics,
    "IntegratedNoise": IntegratedNoise,
}
# What kernels keep beside positive parameters and their bounds: a word or a number.
WORDS, PLAIN = {"DampedHarmonics": "envelope"}, {"IntegratedNoise": "origin"}
COMPOSITES: dict[str, type[Composite]] = {"Sum": Sum, "Product": Product}
# scikit-learn's kernels that are described by numbers and other kernels alone.
SKLEARN: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "sklearn.ConstantKernel": (theirs.ConstantKernel, ("constant_value", "constant_value_bounds")),
    "sklearn.WhiteKernel": (theirs.WhiteKernel, ("noise_level", "noise_level_bounds")),
    "sklearn.RBF": (theirs.RBF, ("length_scale", "length_scale_bounds")),
    "sklearn.Matern": (theirs.Matern, ("length_scale", "length_scale_bounds", "nu")),
    "sklearn.RationalQuadratic": (
        theirs.RationalQuadratic,
        ("length_scale", "alpha", "length_scale_bounds", "alpha_bounds"),
    ),
    "sklearn.ExpSineSquared": (
        theirs.ExpSineSquared,
        ("length_scale", "periodicity", "length_scale_bounds", "periodicity_bounds"),
    ),
    "sklearn.DotProduct": (theirs.DotProduct, ("sigma_0", "sigma_0_bounds")),
    "sklearn.Sum": (theirs.Sum, ("k1", "k2")),
    "sklearn.Product": (theirs.Product, ("k1", "k2")),
    "sklearn.Exponentiation": (theirs.Exponentiation, ("kernel", "exponent")),
}
ADAPTER = "SklearnKernel"
PARTS = ("k1", "k2", "kernel")
# The power of a kernel may have any sign; other parameters are positive.
EXPONENT = "exponent"
SMOOTHNESS = "nu"
# Sums of sums: deeper than anyone writes, and shallow enough for Python's stack.
DEEPEST = 60


def encode_kernel(kernel: object, depth: int = 0) -> Json:
    """A kernel of ours or of scikit-learn; refuses those that only their own code describes."""
    name = type(kernel).__name__
    if depth > DEEPEST:
        raise ValueError(f"a kernel nested more than {DEEPEST} deep cannot be saved; use fewer parts")
    if isinstance(kernel, Composite) and COMPOSITES.get(name) is type(kernel):
        return {"class": name, "parts": [encode_kernel(part, depth + 1) for part in kernel.parts]}
    if isinstance(kernel, LeafKernel) and LEAVES.get(name) is type(kernel):
        return {"class": name, **encode_leaf(kernel)}
    if type(kernel) is SklearnKernel:
        inner = encode_kernel(kernel.kernel, depth + 1)
        return {"class": ADAPTER, "kernel": inner, "factor": plain_number(kernel.factor)}
    return encode_sklearn(kernel, depth)


def encode_leaf(kernel: LeafKernel) -> Json:
    """Parameters and their bounds."""
    fields: dict[str, object] = {}
    for name in kernel.positive:
        fields[name] = plain_numbers(getattr(kernel, name))
        fields[f"{name}_bounds"] = plain_bounds(getattr(kernel, f"{name}_bounds"))
    word, number = (names.get(type(kernel).__name__) for names in (WORDS, PLAIN))
    if word is not None:
        fields[word] = getattr(kernel, word)
    if number is not None:
        fields[number] = plain_number(getattr(kernel, number))
    return fields


def encode_sklearn(kernel: object, depth: int) -> Json:
    """A scikit-learn kernel on the list, by its constructor's arguments."""
    name = f"sklearn.{type(kernel).__name__}"
    cls, names = SKLEARN.get(name, (None, ()))
    if cls is not type(kernel):
        raise ValueError(
            f"a model with the kernel {kernel!r} cannot be saved: its class is not one of "
            f"{', '.join([*LEAVES, *COMPOSITES, *SKLEARN])}"
        )
    fields: dict[str, object] = {"class": name}
    for each in names:
        value = getattr(kernel, each)
        if each in PARTS:
            fields[each] = encode_kernel(value, depth + 1)
        elif each == EXPONENT and isinstance(value, int):
            # A whole power is computed otherwise than a real one.
            fields[each] = value
        else:
            fields[each] = plain_bounds(value) if each.endswith("_bounds") else plain_numbers(value)
    return fields


def plain_numbers(value: Any) -> object:
    """A number, or lists of them."""
    return plain_number(value) if np.ndim(value) == 0 else [plain_numbers(each) for each in value]


def plain_bounds(bounds: Any) -> object:
    """The word "fixed", a pair, or a list of pairs."""
    return bounds if isinstance(bounds, str) else plain_numbers(bounds)


def decode_kernel(record: Record) -> Kernel:
    """A kernel of ours; one of scikit-learn's only inside its adapter."""
    kernel = decode_any_kernel(record)
    if not isinstance(kernel, Kernel):
        raise record.fail("class", "a kernel of sturdygp")
    return kernel


def decode_any_kernel(record: Record, depth: int = 0) -> object:
    """Read back what :func:`encode_kernel` described."""
    name = record.text("class")
    if depth > DEEPEST:
        raise ModelFileError(f"{record.where} is nested more than {DEEPEST} deep")
    if name in LEAVES:
        return decode_leaf(LEAVES[name], record)
    if name in COMPOSITES:
        parts = [decode_any_kernel(part, depth + 1) for part in record.children("parts")]
        return COMPOSITES[name](tuple(ours(part, record) for part in parts))
    if name == ADAPTER:
        inner = decode_any_kernel(record.child("kernel"), depth + 1)
        if not isinstance(inner, theirs.Kernel):
            raise record.fail("kernel", "a kernel of scikit-learn")
        return SklearnKernel(inner, record.finite("factor", above=0.0))
    if name in SKLEARN:
        return decode_sklearn(name, record, depth)
    raise record.fail("class", "the name of a kernel that sturdygp knows")


def ours(part: object, record: Record) -> Kernel:
    """A part of one of our sums or products, of which there must be some."""
    if not isinstance(part, Kernel):
        raise record.fail("parts", "kernels of sturdygp")
    return part


def decode_leaf(cls: type[LeafKernel], record: Record) -> LeafKernel:
    """One of our kernels; it checks its parameters itself."""
    build: Callable[..., LeafKernel] = cls
    fields: dict[str, object] = {}
    for name in cls.positive:
        fields[name] = record.numbers(name)
        fields[f"{name}_bounds"] = bounds_of(record, f"{name}_bounds")
    word, number = (names.get(cls.__name__) for names in (WORDS, PLAIN))
    if word is not None:
        fields[word] = record.text(word)
    if number is not None:
        fields[number] = record.finite(number)
    return build(**fields)


def decode_sklearn(name: str, record: Record, depth: int) -> object:
    """One of scikit-learn's kernels, which do not check their parameters."""
    cls, names = SKLEARN[name]
    fields: dict[str, object] = {}
    for each in names:
        if each in PARTS:
            fields[each] = decode_any_kernel(record.child(each), depth + 1)
            if not isinstance(fields[each], theirs.Kernel):
                raise record.fail(each, "a kernel of scikit-learn")
        elif each.endswith("_bounds"):
            fields[each] = bounds_of(record, each)
            check_bounds(each, bounds_of(record, each), np.size(record.numbers(each.removesuffix("_bounds"))))
        else:
            fields[each] = exponent(record) if each == EXPONENT else positive(record, each)
    return cls(**fields)


def exponent(record: Record) -> float:
    """The power of a kernel, whole or not."""
    whole = isinstance(record.fields.get(EXPONENT), int)
    return record.integer(EXPONENT) if whole else record.finite(EXPONENT)


def positive(record: Record, name: str) -> Any:
    """A positive number, or an array of them; a Matérn kernel may be infinitely smooth."""
    value = np.asarray(record.numbers(name))
    if not (value.size and np.all(value > 0.0) and (name == SMOOTHNESS or np.isfinite(value).all())):
        raise record.fail(name, "positive and finite")
    return float(value) if value.ndim == 0 else value


def as_numbers(value: object, wrong: ModelFileError) -> float | list[float]:
    """A number, infinite ones included, or a list of them."""
    return [as_number(each, wrong) for each in value] if isinstance(value, list) else as_number(value, wrong)


def bounds_of(record: Record, name: str) -> Bounds:
    """The word "fixed", a pair, or a tuple of pairs."""
    value = record.fields.get(name)
    if value == "fixed":
        return "fixed"
    wrong = record.fail(name, 'a pair, a list of pairs, or "fixed"')
    try:
        pairs = np.array([as_numbers(row, wrong) for row in record.items(name)])
    except ValueError:
        raise wrong from None
    if pairs.shape == (2,):
        return float(pairs[0]), float(pairs[1])
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise wrong
    return tuple((float(low), float(high)) for low, high in pairs)
