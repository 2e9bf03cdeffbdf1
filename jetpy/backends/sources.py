"""A digest of source files, by which compiled kernels are found without reading these."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


@cache
def digest_of_kernels(engine: str) -> str:
    """Return a digest of all kernels, of the kernel language, and of an engine's own folder."""
    digest = hashlib.sha256()
    for folder in ("workloads", "kernel_language", f"backends/{engine}"):
        for file in sorted((_PACKAGE / folder).glob("*.py")):
            digest.update(f"{file.name}/".encode() + file.read_bytes())
    return digest.hexdigest()
