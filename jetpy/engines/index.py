"""Index of the cache: the files compiled from this process's sources.

With it, a process with a warm cache neither reads nor prints kernels. The names of compiled files
contain a digest of the compiled text. The index maps units to these names; its own name contains a
digest of source files.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from jetpy.engines.cache import read_entry, write_entry
from jetpy.kernel_language.sources import are_unchanged, digest_of_kernels


def known(engine: str, unit: str) -> str | None:
    """Return the text kept for a unit; None if there was none at the first call."""
    return _known(engine).get(unit)


def remember(engine: str, names: Mapping[str, str]) -> None:
    """Keep a text for each unit, unless source files have been edited meanwhile.

    If the cache is not writable, nothing is kept. If several processes write at the same time, the
    texts of one may be lost; a later process keeps them again.
    """
    if are_unchanged(engine):
        with suppress(OSError):
            write_entry(_name(engine), json.dumps({**_read(engine), **names}).encode())


@cache
def _known(engine: str) -> Mapping[str, str]:
    return _read(engine)


def _read(engine: str) -> dict[str, str]:
    content = read_entry(_name(engine))
    texts: dict[str, str] = json.loads(content) if content else {}
    return texts


def _name(engine: str) -> Path:
    """Return the file name of an engine's index, which depends on all inputs of the texts."""
    origin = digest_of_kernels(engine), sys.implementation.cache_tag, platform.machine()
    return Path(engine, f"index-{hashlib.sha256(repr(origin).encode()).hexdigest()[:16]}.json")
