"""Arrays as bytes in NumPy's own format, restricted to plain numbers and checked strictly."""

from __future__ import annotations

import re
from io import BytesIO
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sturdygp.exceptions import ModelFileError

AnyArray: TypeAlias = NDArray[Any]

DTYPES: dict[bytes, np.dtype[Any]] = {
    b"<f8": np.dtype("<f8"),
    b"<i8": np.dtype("<i8"),
    b"|b1": np.dtype("|b1"),
}
# What NumPy writes for these types. NumPy's own reader evaluates the header as Python literals and believes
# its shape before it sees the data; a pattern and a comparison of sizes leave nothing to believe.
HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(?P<length>..)(?P<text>\{'descr': '(?P<dtype>[<|][fib][18])', "
    rb"'fortran_order': (?P<fortran>True|False), 'shape': \((?P<shape>(?:[0-9]{1,12},? ?){0,3})\), \} *\n)",
    re.DOTALL,
)


def array_to_bytes(array: AnyArray) -> bytes:
    """The content of a ``.npy`` file; only floats, integers and truth values.

    Examples
    --------
    >>> import numpy as np
    >>> array_from_bytes(array_to_bytes(np.array([1.0, 2.5])))
    array([1. , 2.5])
    """
    if array.dtype not in DTYPES.values():
        raise ValueError(f"arrays of type {array.dtype} cannot be saved; only float64, int64 and bool can")
    buffer = BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def array_from_bytes(data: bytes) -> AnyArray:
    """The array in a ``.npy`` file that :func:`array_to_bytes` made, in the same memory order."""
    header = HEADER.match(data)
    if header is None or int.from_bytes(header["length"], "little") != len(header["text"]):
        raise ModelFileError("an array has a header that sturdygp does not write")
    dtype = DTYPES.get(header["dtype"])
    if dtype is None:
        raise ModelFileError(f"an array has the type {header['dtype'].decode('ascii')}, which is not allowed")
    shape = tuple(int(size) for size in header["shape"].replace(b" ", b"").split(b",") if size)
    if prod(shape) * dtype.itemsize != len(data) - header.end():
        raise ModelFileError(f"an array of shape {shape} does not fit the size of its data")
    if dtype.kind == "b" and max(data[header.end() :], default=0) > 1:
        raise ModelFileError("an array of truth values holds something else")
    flat: AnyArray = np.frombuffer(data[header.end() :], dtype=dtype)
    shaped: AnyArray = flat.reshape(shape, order="F" if header["fortran"] == b"True" else "C")
    return shaped.copy(order="K")
