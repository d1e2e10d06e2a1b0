"""``cached_property`` without the lock that Python has around it before version 3.12.

That lock is one for all instances: where outputs are fitted by threads, each would wait while another works.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    cached_property = functools.cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801
        """Computed at the first use, then kept."""

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            """The value; two threads may both compute it, with the same result."""
            if instance is None:
                return self
            kept = vars(instance)
            if self.attrname not in kept:
                kept[self.attrname] = self.func(instance)
            return kept[self.attrname]


__all__ = ["cached_property"]
