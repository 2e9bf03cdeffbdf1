"""CPU threads: how many this process may use, and how long waiting ones spin."""

from __future__ import annotations

import os


def available_threads() -> int:
    """Return how many processors this process may run on."""
    return len(os.sched_getaffinity(0))


def limit_spinning() -> None:
    """Let waiting OpenMP threads spin for some 50 us, not for milliseconds.

    On a busy machine that is the difference between a launch of 10 us and one of a whole time
    slice. To be called before an OpenMP runtime is loaded; what the user has set stays.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
