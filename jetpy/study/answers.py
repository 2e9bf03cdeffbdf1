"""How a measurement in a process of its own tells what it found: lines of JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any


def answering() -> Callable[[Any], None]:
    """Return the function by which this process, a child, answers.

    Whatever else it prints, foreign libraries included, goes to standard error from now on.
    """
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(value: Any) -> None:
        print(json.dumps(value), file=stream, flush=True)

    return answer
