"""The walk of one fit: modules passed and frames on the way from ``fit`` down to LAPACK's ``dpotrf``.

``python tools/walk.py [--modules]`` fits the flagship to sixty observations and prints how many of the
package's modules ran, and the deepest stack above a Cholesky factorisation.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import sturdygp
from sturdygp import RobustGPRegressor

ROOT = Path(sturdygp.__file__).parent
LAST = "cholesky"


def within(frame: FrameType) -> str | None:
    """The module of the package that a frame belongs to; None for others."""
    path = Path(frame.f_code.co_filename)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else None


def stack_of(frame: FrameType | None) -> list[str]:
    """Functions of the package from the outermost to this frame."""
    names = []
    while frame is not None:
        module = within(frame)
        if module is not None:
            names.append(f"{module}:{frame.f_code.co_name}")
        frame = frame.f_back
    return names[::-1]


def walk(run: Callable[[], object]) -> tuple[list[list[str]], set[str]]:
    """All stacks down to a factorisation, and every module that ran."""
    stacks: list[list[str]] = []
    modules: set[str] = set()

    def hear(frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call":
            return
        module = within(frame)
        if module is None:
            return
        modules.add(module)
        if frame.f_code.co_name == LAST and module.startswith("linalg"):
            stacks.append(stack_of(frame))

    sys.setprofile(hear)
    try:
        run()
    finally:
        sys.setprofile(None)
    return stacks, modules


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", action="store_true", help="also list every module that ran")
    arguments = parser.parse_args()
    x = np.linspace(0.0, 6.0, 60)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(60)
    y[::7] += 3.0
    stacks, modules = walk(lambda: RobustGPRegressor().fit(x, y))
    shortest, deepest = min(stacks, key=len), max(stacks, key=len)
    on_the_way = {frame.split(":")[0] for stack in stacks for frame in stack}
    print(f"modules on the stacks down to dpotrf: {len(on_the_way)}; modules that ran at all: {len(modules)}")
    print(f"frames down to dpotrf: {len(shortest)} at least, {len(deepest)} at most; the deepest:")
    print("\n".join(f"  {frame}" for frame in deepest))
    if arguments.modules:
        print("\n".join(sorted(modules)))


if __name__ == "__main__":
    main()
