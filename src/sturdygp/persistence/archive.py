"""The file itself: which members it may have, how large they may be, and arrays as bytes."""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from sturdygp.exceptions import ModelFileError

AnyArray: TypeAlias = NDArray[Any]
Json: TypeAlias = Mapping[str, object]

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
DOCUMENT = "model.json"
# The field of the document that holds the checksum of everything else.
CHECKSUM = "sha256"
ARRAY_NAME = re.compile(r"arrays/(?:0|[1-9][0-9]{0,4})\.npy")
MOST_MEMBERS = 20_000
LARGEST_DOCUMENT = 8 << 20
ENCRYPTED = 0x1
# What the zip module raises, depending on which of its bytes are damaged.
DAMAGED = (BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError, OverflowError)


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


@dataclass
class ArrayStore:
    """Arrays to be written; equal ones are written once."""

    contents: list[bytes] = field(default_factory=list)
    known: dict[bytes, int] = field(default_factory=dict)

    def add(self, array: AnyArray) -> int:
        """The number under which the array will be found again."""
        content = array_to_bytes(array)
        key = sha256(content).digest()
        if key not in self.known:
            self.known[key] = len(self.contents)
            self.contents.append(content)
        return self.known[key]


@dataclass(frozen=True, eq=False)
class Archive:
    """Content of a file: a JSON document that refers to arrays by number, and the checksum of both."""

    document: Json
    arrays: Sequence[AnyArray]
    checksum: str

    def check_content(self, *, required: bool) -> None:
        """Refuse content that was not written like that; files of old formats have nothing to tell it by."""
        if CHECKSUM not in self.document:
            if required:
                raise ModelFileError("it has no checksum: it was changed after it was saved")
        elif self.document[CHECKSUM] != self.checksum:
            raise ModelFileError(
                "its content does not match its checksum: it was damaged, or changed after it was saved"
            )


def write_archive(path: Path, document: Json, store: ArrayStore) -> None:
    """Write a file that appears whole or not at all; the same content gives the same bytes."""
    sealed = {**document, CHECKSUM: checksum(document, store.contents)}
    text = json.dumps(sealed, allow_nan=False, indent=1).encode("utf-8")
    if len(text) > LARGEST_DOCUMENT or len(store.contents) >= MOST_MEMBERS:
        raise ValueError("the model is too large for one file; save its outputs as separate models")
    members = {DOCUMENT: text, **{array_name(i): content for i, content in enumerate(store.contents)}}
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.absolute().parent} to write {path.name} to")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with ZipFile(temporary, "w", ZIP_STORED) as archive:
            for name, content in members.items():
                # A fixed date instead of the clock's.
                archive.writestr(ZipInfo(name), content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def checksum(document: Json, contents: Sequence[bytes]) -> str:
    """SHA-256 of a document and its arrays, however the document is laid out; but for its own checksum.

    It tells files that were damaged or edited. It is no signature: whoever edits a file can make it anew.
    """
    plain = {name: value for name, value in document.items() if name != CHECKSUM}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":")).encode("utf-8")
    hashed = sha256()
    for part in (text, *contents):
        # The length keeps bytes from moving from one part to the next unseen.
        hashed.update(len(part).to_bytes(8, "little"))
        hashed.update(part)
    return hashed.hexdigest()


def array_name(index: int) -> str:
    """The member that holds an array."""
    return f"arrays/{index}.npy"


def read_archive(path: Path) -> Archive:
    """Read a file; nothing in it is trusted, nothing is written to disk.

    Raises
    ------
    ModelFileError
        The file is not one that :func:`write_archive` wrote.
    """
    content = path.read_bytes()
    try:
        with ZipFile(BytesIO(content)) as archive:
            members = check_members(archive.infolist(), len(content))
            texts = [archive.read(member) for member in members]
    except ModelFileError:
        raise
    except (*DAMAGED, struct.error) as error:
        raise ModelFileError(f"it is not a zip archive, or a damaged one ({error})") from error
    document = parse_document(texts[0])
    arrays = [array_from_bytes(text) for text in texts[1:]]
    try:
        return Archive(document, arrays, checksum(document, texts[1:]))
    except (RecursionError, UnicodeEncodeError) as error:
        raise ModelFileError(f"its document cannot be checked ({error})") from error


def check_members(members: Sequence[ZipInfo], file_size: int) -> list[ZipInfo]:
    """The document and the arrays in order, after their names and sizes were found to be as we write them."""
    if len(members) > MOST_MEMBERS:
        raise ModelFileError(f"it has {len(members)} members, more than the {MOST_MEMBERS} allowed")
    for member in members:
        if member.filename != DOCUMENT and ARRAY_NAME.fullmatch(member.filename) is None:
            raise ModelFileError(f"it has a member {member.filename!r} that sturdygp does not write")
        # Nothing is compressed, so nothing can grow when it is read.
        if member.compress_type != ZIP_STORED or member.compress_size != member.file_size:
            raise ModelFileError(f"its member {member.filename!r} is compressed, which sturdygp does not do")
        if member.flag_bits & ENCRYPTED:
            raise ModelFileError(f"its member {member.filename!r} is encrypted")
    # Members that share bytes could still add up to more than the file holds.
    if sum(member.file_size for member in members) > file_size:
        raise ModelFileError("its members claim to be larger than the file")
    return in_order(members)


def in_order(members: Sequence[ZipInfo]) -> list[ZipInfo]:
    """The document, then the arrays by number; each must be there exactly once."""
    by_name = {member.filename: member for member in members}
    names = [DOCUMENT, *(array_name(index) for index in range(len(members) - 1))]
    if set(names) != set(by_name) or len(by_name) != len(members):
        raise ModelFileError("members are missing or doubled")
    if by_name[DOCUMENT].file_size > LARGEST_DOCUMENT:
        raise ModelFileError(f"its document is larger than the {LARGEST_DOCUMENT} bytes allowed")
    return [by_name[name] for name in names]


def parse_document(text: bytes) -> Json:
    """The JSON document: one object."""
    try:
        document = json.loads(text.decode("utf-8"), parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its document is not JSON ({error})") from error
    if not isinstance(document, dict):
        raise ModelFileError("its document is not a JSON object")
    return document


def refuse_constant(name: str) -> object:
    """NaN and infinities are not JSON, though Python reads them."""
    raise ValueError(f"it has the number {name}")
