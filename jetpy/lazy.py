"""`cached_property` without the lock that Python 3.11's has.

All objects of a class share that lock, so that threads wait for each other's objects, and a process
forked meanwhile waits for ever.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):
        """A property that is computed once, or once by each of several threads at a time."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Return the value, and keep that which came first."""
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.attrname, self.func(instance))
