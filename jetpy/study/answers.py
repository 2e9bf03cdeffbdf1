"""JSON lines by which a measurement in a child process returns its result."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any


def answering() -> Callable[[Any], None]:
    """Return the function by which this process, a child, returns results.

    All other output, also of other libraries, goes to standard error from now on.
    """
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(value: Any) -> None:
        print(json.dumps(value), file=stream, flush=True)

    return answer
