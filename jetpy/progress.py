"""How a run tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total)."""
ProgressOption = Progress | bool | None
"""What callers may ask for: True shows bars, False and None nothing."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Ignore progress."""
