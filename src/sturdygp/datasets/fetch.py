"""Search for a data file: in the user's folder, in the cache, or at its source."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from http.client import HTTPException
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from zipfile import BadZipFile, ZipFile

from sturdygp.datasets.files import FILES, DataFile

DATA_FOLDER = "STURDYGP_DATA"
CACHE_FOLDER = "STURDYGP_CACHE"
TIMEOUT = 30.0
CHUNK = 1 << 16

Progress: TypeAlias = Callable[[int, int | None], None]


class DataFileError(OSError):
    """Failure to obtain or to read a data file; the message says why and what to do."""


def find_file(name: str, *, progress: Progress | None = None, timeout: float = TIMEOUT) -> Path:
    """Return the path of a data file, which is downloaded into the cache if necessary.

    The search begins in the folder that the environment variable ``STURDYGP_DATA`` names. Then comes the
    cache: the folder that ``STURDYGP_CACHE`` names, else the usual place of the platform. A file that is
    there is trusted: one with other line ends, for example, can be used. A download is checked against its
    sha256.

    Parameters
    ----------
    name : str
        A key of ``FILES``.
    progress : callable, optional
        Called during a download with the bytes received and their total, which is None if the server does
        not send it.
    timeout : float
        Seconds to wait for the server each time.

    Raises
    ------
    DataFileError
        The file does not exist and cannot be downloaded; no part of it is kept.
    """
    if name not in FILES:
        raise ValueError(f"no data file is called {name!r}; there are {', '.join(FILES)}")
    cache = cache_folder()
    for folder in (user_folder(), cache):
        if folder is not None and (folder / name).is_file():
            return folder / name
    return download(FILES[name], cache, progress=progress, timeout=timeout)


def user_folder() -> Path | None:
    """Return the folder that the environment variable names, if it is set."""
    given = os.environ.get(DATA_FOLDER)
    if not given:
        return None
    # A mistyped folder must not be taken for a missing file, which would be downloaded.
    if not Path(given).is_dir():
        raise DataFileError(f"{DATA_FOLDER} must name a folder, but there is none at {given}")
    return Path(given)


def cache_folder() -> Path:
    """Return the folder of downloads, which need not exist yet."""
    given = os.environ.get(CACHE_FOLDER)
    return Path(given) if given else platform_cache(sys.platform, Path.home()) / "sturdygp"


def platform_cache(platform: str, home: Path) -> Path:
    """Return the usual folder for caches on a platform."""
    if platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    if platform == "darwin":
        return home / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")


def download(
    file: DataFile, folder: Path, *, progress: Progress | None = None, timeout: float = TIMEOUT
) -> Path:
    """Download a file into a folder; it appears there complete and checked, or not at all."""
    by_hand = f"Put {file.name} into {folder}, or into a folder that {DATA_FOLDER} names."
    if file.url is None:
        raise DataFileError(
            f"{file.name} is not here, and no address is known to download it from. {by_hand}"
        )
    try:
        data = receive(file.url, progress, timeout)
        contents = unpack(data, file.member) if file.member else data
        check(file, contents)
        return store(contents, folder / file.name)
    except (OSError, HTTPException) as error:
        # The cause is in the message; its own traceback, through the HTTP client, would bury it.
        raise DataFileError(
            f"{file.name} could not be downloaded from {file.url}: {error}. {by_hand}"
        ) from None


def receive(url: str, progress: Progress | None, timeout: float) -> bytes:
    """Download the bytes at an address."""
    data = bytearray()
    try:
        with urlopen(Request(url, headers={"User-Agent": "sturdygp"}), timeout=timeout) as response:
            length = response.headers.get("Content-Length")
            total = None if length is None else int(length)
            while chunk := response.read(CHUNK):
                data += chunk
                if progress is not None:
                    progress(len(data), total)
    except HTTPError as error:
        with error:  # it holds the connection
            raise DataFileError(f"the server answered {error.code} {error.reason}") from error
    if total is not None and len(data) < total:
        raise DataFileError(f"the connection ended after {len(data)} of {total} bytes")
    return bytes(data)


def unpack(archive: bytes, member: str) -> bytes:
    """Extract one file of a zip archive."""
    try:
        with ZipFile(BytesIO(archive)) as opened:
            return opened.read(member)
    except KeyError as error:
        raise DataFileError(f"the archive has no file {member}") from error
    except BadZipFile as error:
        raise DataFileError(f"what came is not a sound zip archive ({error})") from error


def check(file: DataFile, contents: bytes) -> None:
    """Refuse contents whose checksum is not that of the file."""
    found = file.checksum(contents)
    if found != file.sha256:
        raise DataFileError(
            f"what came is not the file: {len(contents)} bytes with sha256 {found}, "
            f"expected {file.size} with {file.sha256}"
        )


def store(contents: bytes, path: Path) -> Path:
    """Write a file in such a way that no other process sees a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent) as scratch:
        part = Path(scratch) / path.name
        part.write_bytes(contents)
        # Within one file system a rename happens at once or not at all.
        return part.replace(path)
