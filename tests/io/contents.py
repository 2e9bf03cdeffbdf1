"""Contents of files in memory."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any


def saved(save: Callable[..., object], *arguments: Any, **arrays: Any) -> bytes:
    """Return the bytes that `save`, for example `np.save`, writes to a file."""
    content = io.BytesIO()
    save(content, *arguments, **arrays)
    return content.getvalue()
