"""A digest of the source files, which identifies compiled kernels without parsing the sources.

It must cover the text that this process imports. This module is therefore imported before all
modules whose files it reads (`jetpy.kernel_language`); an engine computes the digest on import.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

_PACKAGE = Path(__file__).parents[1]
_FOLDERS = "workloads", "kernel_language"


def _files_in(folder: Path) -> Iterator[str]:
    for here, _, names in os.walk(folder):
        yield from (os.path.join(here, name) for name in names if name.endswith(".py"))


def _digest_of(*folders: str) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(_files_in(_PACKAGE / folder)):
            name = path.rpartition(os.sep)[2]
            digest.update(f"{name}/".encode() + Path(path).read_bytes())
    return digest.hexdigest()


_digest_of_language = _digest_of(*_FOLDERS)


@cache
def digest_of_kernels(engine: str) -> str:
    """Return a digest of all kernels, the kernel language and the engine's own folder."""
    return _combined(_digest_of_language, engine)


def _combined(digest: str, engine: str) -> str:
    return hashlib.sha256(f"{digest}{_digest_of(f'engines/{engine}')}".encode()).hexdigest()


def are_unchanged(engine: str) -> bool:
    """Return whether the files still have that digest, so that the imported modules match it."""
    return _combined(_digest_of(*_FOLDERS), engine) == digest_of_kernels(engine)


def is_in_digest(module: ModuleType, engine: str) -> bool:
    """Return whether the digest covers a module's file."""
    folders = [_PACKAGE / folder for folder in (*_FOLDERS, f"engines/{engine}")]
    return module.__file__ is not None and not {*folders}.isdisjoint(Path(module.__file__).parents)
