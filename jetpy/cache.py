"""Where compiled kernels are kept: one folder per user, movable by an environment variable."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_dir() -> Path:
    """Return the cache folder: ``$JETPY_CACHE_DIR``, else the platform's place for caches."""
    chosen = os.environ.get("JETPY_CACHE_DIR")
    return Path(chosen) if chosen else user_cache_path("jetpy")


def write_if_missing(path: Path, text: str) -> None:
    """Write `text` to `path` unless it is there; safe against another process doing the same."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.replace(path)
