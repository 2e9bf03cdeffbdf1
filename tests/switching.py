"""Frequent switches between Python threads, so that races show."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_INTERVAL = 1e-5
"""Seconds between switches of Python threads."""


@contextmanager
def switching_often() -> Iterator[None]:
    """Switch between Python threads more often than by default."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
