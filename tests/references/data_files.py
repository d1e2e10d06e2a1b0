"""Archives, and the folder with the real data files."""

import io
import os
import zipfile

import pytest

REAL_DATA = os.environ.get("STURDYGP_DATA")


real = pytest.mark.skipif(not REAL_DATA, reason="STURDYGP_DATA names no folder with the data files")


def zipped(**members):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, contents in members.items():
            opened.writestr(name, contents)
    return archive.getvalue()
