"""An index of the cache: which object files come from the sources of this process.

With it, a process with a warm cache neither reads nor prints kernels. The names of object files
have a digest of the text that LLVM compiles; the index has these digests, by unit, and is found by
a digest of source files.
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


def known_digest(unit: str) -> str | None:
    """Return the digest of the text of a unit; None if it was not known at the first call."""
    return _known().get(unit)


def remember(unit: str, digest: str) -> None:
    """Keep the digest of the text of a unit, unless source files have been edited meanwhile.

    Where the cache cannot be written to, nothing is kept. Of processes that write at the same time,
    one may lose what another has kept; a later process keeps it again.
    """
    if are_unchanged("cpu"):
        with suppress(OSError):
            write_entry(_name(), json.dumps({**_read(), unit: digest}).encode())


@cache
def _known() -> Mapping[str, str]:
    return _read()


def _read() -> dict[str, str]:
    content = read_entry(_name())
    found: dict[str, str] = json.loads(content) if content else {}
    return found


def _name() -> Path:
    """Return the name of the index, by all that texts depend on."""
    origin = digest_of_kernels("cpu"), sys.implementation.cache_tag, platform.machine()
    return Path("cpu", f"index-{hashlib.sha256(repr(origin).encode()).hexdigest()[:16]}.json")
