"""`cached_property` without the lock of Python 3.11's version.

That lock is shared by all objects of a class. Threads therefore wait for each other's objects, and
a process that is forked while the lock is held deadlocks.
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
        """A property that is computed once, or once in each of several concurrent threads."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Return the value; the first one computed is kept."""
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.attrname, self.func(instance))
