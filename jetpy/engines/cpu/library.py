"""Precompiled kernels: shared libraries in the wheel, one for each processor level.

A library contains the ranges of all workunits, in both widths, and `scheduler`. jetpy uses it if
this processor has the level's features and the sources of the kernels match the digest in the
library. `python -m jetpy.engines.cpu.library FOLDER` makes the libraries; it needs a C compiler,
which links them.
"""

from __future__ import annotations

import ctypes
import platform
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from jetpy.engines.cpu import llvm
from jetpy.kernel_language.sources import digest_of_kernels

LEVELS = {
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "x86-64-v3": {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"},
}
"""Processor levels, best first, each with its flags in Linux's /proc/cpuinfo."""
KEY = "jetpy_sources"
"""Symbol of the digest in a library."""
FOLDER = Path(__file__).parent


def finder_in_library(symbol: str) -> Callable[[str], int] | None:
    """Return a function that finds symbols in the library, or None if it lacks `symbol`."""
    library = _library()
    if library is None or not hasattr(library, symbol):
        return None
    return lambda other: ctypes.addressof(ctypes.c_char.in_dll(library, other))


def level_in_use() -> str | None:
    """Return the level of the library in use; None if no library is used."""
    library = _library()
    return None if library is None else Path(library._name).stem.removeprefix("kernels-")


@cache
def _library() -> ctypes.CDLL | None:
    flags = _flags()
    for number, level in enumerate(LEVELS):
        path = FOLDER / f"kernels-{level}.so"
        wanted = set().union(*list(LEVELS.values())[number:])
        if wanted <= flags and path.exists():
            library = ctypes.CDLL(str(path))
            digest = digest_of_kernels("cpu").encode()
            stored = (ctypes.c_char * len(digest)).in_dll(library, KEY).raw
            return library if stored == digest else None
    return None


def _flags() -> set[str]:
    """Return the flags of the first processor; empty on systems other than Linux."""
    try:
        with open("/proc/cpuinfo") as lines:
            return set(next((line for line in lines if line.startswith("flags")), "").split())
    except OSError:
        return set()


def build(folder: Path, modules: Sequence[ModuleType]) -> list[Path]:
    """Make the libraries of modules for x86-64; return their files."""
    if platform.machine() != "x86_64":
        raise SystemExit(
            f"this processor is {platform.machine()}; libraries can be made on x86-64 only"
        )
    return [_build(folder / f"kernels-{level}.so", level, modules) for level in LEVELS]


def _build(path: Path, level: str, modules: Sequence[ModuleType]) -> Path:
    from jetpy.engines.cpu.source import all_units, constant

    texts = [unit.text for unit in all_units(modules)]
    texts.append(constant(KEY, digest_of_kernels("cpu")))
    with TemporaryDirectory() as name:
        objects = []
        for number, text in enumerate(texts):
            file = Path(name, f"{number}.o")
            file.write_bytes(llvm.compile_text(text, f"unit {number}", level))
            objects.append(str(file))
        subprocess.run(["cc", "-shared", "-s", "-o", str(path), *objects], check=True)
    return path
