"""Cached properties of different instances are computed side by side."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from sturdygp._caching import cached_property

# Both threads must be inside the property at once; a lock around it would keep the second outside.
BOTH = Barrier(2)


class Slow:
    count = 0

    @cached_property
    def value(self):
        """Waits for the other instance."""
        self.count += 1
        BOTH.wait(timeout=10.0)
        return id(self)


def test_cached_property_computes_instances_side_by_side_and_once():
    first, second = Slow(), Slow()
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda each: each.value, (first, second)))
    assert found == [id(first), id(second)]
    assert [first.value, second.value] == found
    assert first.count == second.count == 1
    assert isinstance(Slow.value, cached_property)
