"""What results were made with: versions, processor, settings."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from threadpoolctl import threadpool_info

from sturdygp.experiments.task import Json
from sturdygp.experiments.trial import BLAS_THREADS

PACKAGES = ("sturdygp", "numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "distributed")
CPU_INFO = Path("/proc/cpuinfo")


def environment() -> Json:
    """Versions and hardware of this process; nothing that names the machine or its user."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu_name(),
        "packages": {name: found for name in PACKAGES if (found := installed(name)) is not None},
        "blas": sorted({f"{each['internal_api']} {each['version']}" for each in threadpool_info()}),
        "blas_threads": BLAS_THREADS,
    }


def installed(package: str) -> str | None:
    """The version of a package, if it is there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def cpu_name() -> str:
    """What the processor calls itself, as far as the system tells."""
    if CPU_INFO.is_file():
        for line in CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
