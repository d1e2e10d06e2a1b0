"""Small matrices written out do what the same loops over arrays do, and what Python does."""

import logging

import numpy as np
import pytest

from sturdygp import _compiled
from sturdygp._compiled import LARGEST, Static, inlined, set_known, static, written_out


@static
def upper(d):
    return [[None if j >= i else 0.0 for j in range(d)] for i in range(d)]


@inlined
def times_transposed(d: Static, A, B, out):
    """``A B'``, put where ``A`` may be."""
    room = np.zeros((d, d), out.dtype)
    for i in range(d):
        for j in range(d):
            total = A[i, 0] * B[j, 0]
            for c in range(1, d):
                total += A[i, c] * B[j, c]
            room[i, j] = total
    out[:] = room


@inlined
def trace(d: Static, A):
    total = 0.0
    for i in range(d):
        total += A[i, i]
    return total, -total


@written_out
def powers(d: Static, sign: Static, Bs, kept):
    """Products of triangles, one after the other; keep each, and add up traces."""
    P, U = np.zeros((d, d), kept.dtype), np.empty((d, d))
    x, sums = np.zeros(d, kept.dtype), 0.0 * kept[0, 0, 0]
    for i in range(d):
        P[i, i] = 1.0
    for t in range(len(Bs)):
        U[:] = Bs[t]
        set_known(U, upper(d))
        times_transposed(d, P, U, P)
        kept[t] = P
        if t % 2 == 1:
            plus, minus = trace(d, P)
            sums += plus if sign > 0 else minus
        for row in range(d):
            x[row] = x[row] * 0.5 + P[row, d - 1 - row]
    if sign > 0:
        sums += x[0]
    else:
        sums -= x[0]
    return sums, x[d - 1]


def in_python(d, sign, Bs):
    P, sums, x, kept = np.eye(d), 0.0, np.zeros(d), []
    for t, B in enumerate(Bs):
        P = P @ np.triu(B).T
        kept.append(P)
        sums += sign * np.trace(P) if t % 2 else 0.0
        x = 0.5 * x + P[:, ::-1].diagonal()
    return sums + sign * x[0], x[-1], np.array(kept)


@pytest.mark.parametrize(
    ("d", "kind"), [*((d, float) for d in (1, 2, 3, LARGEST, LARGEST + 1)), (2, complex)]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_written_out_functions_do_what_python_does(d, sign, kind):
    # Zeros below the diagonal are promised, and are there where nothing is written out.
    Bs = np.triu(np.random.default_rng(d).normal(size=(5, d, d)))
    kept = np.empty((5, d, d), kind)
    found = powers(d, sign, Bs, kept)
    *expected, matrices = in_python(d, sign, Bs)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_allclose(kept, matrices, rtol=1e-13, atol=1e-15)


def test_small_matrices_become_variables_and_large_ones_stay_arrays():
    small, large = (
        _compiled.ast.unparse(_compiled.specialise(powers.function, (d, 1))) for d in (2, LARGEST + 1)
    )
    assert "np.zeros" not in small
    assert "P_1_0" in small
    assert "np.zeros" in large
    # Zeros that are known are left out: the second row of a triangle has one entry.
    assert "U_1_0" not in small.replace("U_1_0 = Bs[t, 1, 0]", "")


def test_compiling_is_told_to_those_who_listen(monkeypatch, caplog):
    monkeypatch.setattr(_compiled, "LONG", 0.0)
    _compiled.specialised.cache_clear()
    with caplog.at_level(logging.INFO, logger="sturdygp"):
        powers(2, 1, np.ones((1, 2, 2)), np.empty((1, 2, 2)))
    assert "compiled powers" in caplog.text


def test_what_is_for_written_out_functions_only_says_so():
    with pytest.raises(TypeError, match="functions that are written out"):
        set_known(np.zeros(2), [0.0, None])
