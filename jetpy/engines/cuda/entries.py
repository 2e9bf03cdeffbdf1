"""Cache entries: the signatures of a module's workunits, followed by its cubin.

This module does not read kernels, so that a process with a warm cache does not read them either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from jetpy.engines import index
from jetpy.engines.cache import cache_dirs, read_entry
from jetpy.engines.cuda.nvrtc import NVRTC
from jetpy.kernel_language import Signature, Width
from jetpy.kernel_language.signature import signatures_as_text, signatures_from
from jetpy.kernel_language.sources import is_in_digest


class Target(NamedTuple):
    """Compiler and target of modules.

    Attributes
    ----------
    compiler : NVRTC
    architecture : str
        Such as sm_90.
    width : Width
    """

    compiler: NVRTC
    architecture: str
    width: Width = Width.NARROW


def known_entry(module: ModuleType, target: Target) -> bytes | None:
    """Return the entry that the index names for a module; None without an intact entry."""
    name = index.known("cuda", _unit(module, target)) if is_in_digest(module, "cuda") else None
    return read_entry(Path(name)) if name else None


def are_all_known(modules: Iterable[ModuleType], target: Target) -> bool:
    """Return whether the index names entries for all modules, and their files exist.

    A damaged entry is compiled again when it is needed.
    """
    names = [index.known("cuda", _unit(module, target)) for module in modules]
    tops = cache_dirs()
    return all(name is not None and any((top / name).exists() for top in tops) for name in names)


def remember(names: Mapping[ModuleType, Path | None], target: Target) -> None:
    """Add the names of entries to the index; None for a module without workunits."""
    own = {module: name for module, name in names.items() if is_in_digest(module, "cuda")}
    if any(index.known("cuda", _unit(module, target)) is None for module in own):
        index.remember(
            "cuda", {_unit(module, target): str(name or "") for module, name in own.items()}
        )


def join_entry(signatures: Sequence[Signature], cubin: bytes) -> bytes:
    """Return an entry, for `split_entry`."""
    return signatures_as_text(signatures).encode() + b"\0" + cubin


def split_entry(entry: bytes) -> tuple[list[Signature], bytes]:
    """Return the signatures of the workunits in an entry, and the cubin."""
    signatures, _, cubin = entry.partition(b"\0")
    return signatures_from(signatures), cubin


def short_name(module: ModuleType) -> str:
    """Return the name of a module without its package."""
    return module.__name__.rpartition(".")[2]


def _unit(module: ModuleType, target: Target) -> str:
    circumstances = target.width.name, target.architecture, *map(str, target.compiler.version)
    return " ".join([short_name(module), *circumstances])
