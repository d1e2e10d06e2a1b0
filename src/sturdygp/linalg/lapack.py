"""LAPACK and BLAS routines for large matrices, all from one library, that release the interpreter's lock.

SciPy's Python wrappers hold the lock, so that outputs fitted in threads would wait for each other. SciPy
exports the same routines to compiled code; ctypes calls them without the lock, at a cost that small matrices
do not repay. NumPy may come with a library of its own, whose threads interfere with SciPy's
(``estimators/threads.py``); large products are therefore computed here as well. All arrays are
Fortran-ordered, and the last is overwritten if nothing is returned.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from scipy.linalg import blas, cython_blas, cython_lapack, lapack

from sturdygp._typing import FloatArray

_signature_of = ctypes.pythonapi.PyCapsule_GetName
_signature_of.restype, _signature_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
_address_of = ctypes.pythonapi.PyCapsule_GetPointer
_address_of.restype, _address_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _routine(
    module: ModuleType, name: str, *, release_lock: bool = True
) -> tuple[Callable[..., None], type[Any]]:
    """A routine whose arguments are all pointers, and the type of its integers.

    ``release_lock`` lets other threads run meanwhile. To reacquire the lock may take longer than a short
    routine.
    """
    capsule = module.__pyx_capi__[name]
    signature = _signature_of(capsule)
    prototype = ctypes.CFUNCTYPE if release_lock else ctypes.PYFUNCTYPE
    function = prototype(None, *[ctypes.c_void_p] * signature.count(b"*"))(_address_of(capsule, signature))
    return function, ctypes.c_int if b" int *" in signature else ctypes.c_int64


_dpotrf, _Integer = _routine(cython_lapack, "dpotrf")
_short_dtrtri, _ = _routine(cython_lapack, "dtrtri", release_lock=False)
_dlauum, _ = _routine(cython_lapack, "dlauum")
_dlaset, _ = _routine(cython_lapack, "dlaset")
_dtrsm, _ = _routine(cython_blas, "dtrsm")
_dtrsv, _ = _routine(cython_blas, "dtrsv")
_dtrmm, _ = _routine(cython_blas, "dtrmm")
_short_dtrmm, _ = _routine(cython_blas, "dtrmm", release_lock=False)
_dger, _ = _routine(cython_blas, "dger")
_dsyrk, _ = _routine(cython_blas, "dsyrk")
_dsymv, _ = _routine(cython_blas, "dsymv")
_dgemm, _ = _routine(cython_blas, "dgemm")
# Order below which SciPy's wrappers are used: for matrices, and for matrices with vectors.
SMALL, SMALL_FOR_VECTORS = 250, 250
# Order above which triangles are inverted by halves; the order of the first half is a multiple of STRIPE.
WHOLE, STRIPE = 64, 8
DOUBLE = 8
# Largest block whose release makes glibc keep freed memory instead of returning each matrix to the system and
# requesting it again page by page, which takes a fifth of an evaluation with some hundred observations. It
# keeps at most twice as much. Nothing is written to the block; other systems are not affected.
KEPT_BYTES = (32 << 20) - (1 << 16)
np.empty(KEPT_BYTES, dtype=np.uint8)
_ONE, _MINUS, _ZERO, _STEP = ctypes.c_double(1.0), ctypes.c_double(-1.0), ctypes.c_double(0.0), _Integer(1)
_ref = ctypes.byref


def factorise(a: FloatArray) -> int:
    """Compute the lower Cholesky factor, with zeros above it; return 0 if the matrix is positive definite."""
    order = _square(a)
    if order < SMALL:
        return int(lapack.dpotrf(a, lower=1, clean=1, overwrite_a=1)[1])
    origin, n, info = _address(a), _ref(_Integer(order)), _Integer(0)
    _dpotrf(b"L", n, origin, n, _ref(info))
    rest, above = _ref(_Integer(order - 1)), origin + order * DOUBLE
    _dlaset(b"U", rest, rest, _ref(_ZERO), _ref(_ZERO), above, n)
    return int(info.value)


def invert(a: FloatArray) -> int:
    """Compute the lower triangle of the inverse from a lower factor; return 0 unless that is singular."""
    order = _square(a)
    if order <= WHOLE:
        return int(lapack.dpotri(a, lower=1, overwrite_c=1)[1])
    origin, n, info = _address(a), _ref(_Integer(order)), _Integer(0)
    if not (failed := _invert_triangle(origin, order, order)):
        _dlauum(b"L", n, origin, n, _ref(info))
    return failed


def _invert_triangle(origin: int, order: int, stride: int) -> int:
    """Invert a lower triangle in place, from the inverses of its two halves.

    LAPACK's own routine is slower than matrix products are: at order 300, twice as slow.
    """
    step = _ref(_Integer(stride))
    if order <= WHOLE:
        info = _Integer(0)
        _short_dtrtri(b"L", b"N", _ref(_Integer(order)), origin, step, _ref(info))
        return int(info.value)
    half = order // 2 // STRIPE * STRIPE
    rest, below = order - half, origin + half * DOUBLE
    corner = below + half * stride * DOUBLE
    failed = _invert_triangle(origin, half, stride) or _invert_triangle(corner, rest, stride)
    shape = _ref(_Integer(rest)), _ref(_Integer(half))
    multiply = _short_dtrmm if order < SMALL else _dtrmm
    multiply(b"R", b"L", b"N", b"N", *shape, _ref(_MINUS), origin, step, below, step)
    multiply(b"L", b"L", b"N", b"N", *shape, _ref(_ONE), corner, step, below, step)
    return failed


def solve_triangular(lower: FloatArray, b: FloatArray, *, right: bool, transpose: bool) -> None:
    """``L^-1 b`` or ``b L^-1``, with the factor as it is or transposed."""
    if _square(lower) != _checked(b).shape[1 if right else 0]:
        raise ValueError(f"a factor of {lower.shape} does not fit a matrix of {b.shape}")
    if len(lower) < SMALL:
        blas.dtrsm(1.0, lower, b, side=int(right), lower=1, trans_a=int(transpose), overwrite_b=1)
        return
    rows, columns, order = (_Integer(size) for size in (*b.shape, len(lower)))
    _dtrsm(
        b"R" if right else b"L",
        b"L",
        b"T" if transpose else b"N",
        b"N",
        _ref(rows),
        _ref(columns),
        _ref(_ONE),
        _address(lower),
        _ref(order),
        _address(b),
        _ref(rows),
    )


def solve_vector(lower: FloatArray, b: FloatArray, *, transpose: bool) -> None:
    """``L^-1 b`` for a vector, with the factor as it is or transposed."""
    if b.shape != (_square(lower),) or not _is_plain(b):
        raise ValueError(f"a factor of {lower.shape} does not fit a vector of {b.dtype} {b.shape}")
    if len(lower) < SMALL_FOR_VECTORS:
        blas.dtrsv(lower, b, lower=1, trans=int(transpose), overwrite_x=1)
        return
    n = _ref(_Integer(len(lower)))
    _dtrsv(b"L", b"T" if transpose else b"N", b"N", n, _address(lower), n, _address(b), _ref(_STEP))


def symmetric_product(a: FloatArray, b: FloatArray) -> FloatArray:
    """``a b`` for a symmetric matrix, of which half is read, and a vector."""
    if b.shape != (_square(a),) or not _is_plain(b):
        raise ValueError(f"a vector of {b.dtype} {b.shape} does not fit a matrix of {a.shape}")
    if len(a) < SMALL_FOR_VECTORS:
        return np.asarray(blas.dsymv(1.0, a, b, lower=1))
    c, n = np.empty_like(b), _ref(_Integer(len(a)))
    one, zero, step = _ref(_ONE), _ref(_ZERO), _ref(_STEP)
    _dsymv(b"L", n, one, _address(a), n, _address(b), step, zero, _address(c), step)
    return c


def add_outer(factor: float, b: FloatArray, a: FloatArray) -> None:
    """``a + factor b b'``."""
    if b.shape != (_square(a),) or not _is_plain(b):
        raise ValueError(f"a vector of {b.dtype} {b.shape} does not fit a matrix of {a.shape}")
    if len(a) < SMALL:
        blas.dger(factor, b, b, a=a, overwrite_a=1)
        return
    n, x, step = _ref(_Integer(len(a))), _address(b), _ref(_STEP)
    _dger(n, n, _ref(ctypes.c_double(factor)), x, step, x, step, _address(a), n)


def own_product(a: FloatArray) -> FloatArray:
    """``a a'``."""
    rows, columns = (_Integer(size) for size in _checked(a).shape)
    if a.size < SMALL**2:
        return np.asarray(a @ a.T)
    c, n = np.zeros((len(a), len(a)), order="F"), _ref(rows)
    _dsyrk(b"L", b"N", n, _ref(columns), _ref(_ONE), _address(a), n, _ref(_ZERO), _address(c), n)
    c += np.tril(c, -1).T
    return c


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    """``a b``."""
    if _checked(a).shape[1] != _checked(b).shape[0]:
        raise ValueError(f"matrices of {a.shape} and {b.shape} do not fit")
    if b.size < SMALL**2:
        return np.asarray(a @ b)
    c = np.empty((a.shape[0], b.shape[1]), order="F")
    m, k, n = (_ref(_Integer(size)) for size in (*a.shape, b.shape[1]))
    one, zero = _ref(_ONE), _ref(_ZERO)
    _dgemm(b"N", b"N", m, n, k, one, _address(a), m, _address(b), k, zero, _address(c), m)
    return c


def _address(a: FloatArray) -> int:
    return int(a.ctypes.data)


def _square(a: FloatArray) -> int:
    """Return the order of a square matrix."""
    rows, columns = _checked(a).shape
    if rows != columns:
        raise ValueError(f"a square matrix is needed, got {a.shape}")
    return int(rows)


def _checked(a: FloatArray) -> FloatArray:
    """Refuse arrays that the routines would read or write out of bounds."""
    if a.ndim != 2 or not _is_plain(a):
        raise ValueError(f"a Fortran-ordered matrix of doubles is needed, got {a.dtype} {a.shape}")
    return a


def _is_plain(a: FloatArray) -> bool:
    """True for a contiguous array of doubles in Fortran's order."""
    return a.flags.f_contiguous and a.dtype == np.float64 and a.size > 0
