"""Compiling loops that NumPy cannot express; what is compiled is kept on disk for later processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile at the first call for each kind of arguments; division by zero gives infinity, as in NumPy."""
    made: F = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})(function)
    return made
