"""Where a kernel's compiled code is kept, by everything that it depends on."""

from __future__ import annotations

import hashlib
import importlib
import platform
import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import ModuleType

from jetpy.engines.cache import MOVE, cache_dirs, check_trusted, make_folders, write_at_once
from jetpy.engines.kokkos.build import BINARY, LIBRARY, is_built
from jetpy.engines.kokkos.paths import kokkos_paths
from jetpy.errors import BackendError
from jetpy.kernel_language.pykokkos_printer import print_module
from jetpy.kernel_language.reading import read_workunits


def kernel_folder(space: str, module: ModuleType, workunit: str) -> Path:
    """Return the folder of one workunit's binary, or where that belongs; its source is there then.

    Raises
    ------
    BackendError
        If others may have written the binary, or there is none and no folder for it.
    """
    name, source = _kernel(space, module, workunit)
    for top in cache_dirs():
        check_trusted(top, name / BINARY / LIBRARY)
        folder = top / name
        if is_built(folder):
            return folder
    file = folder / f"{workunit}.py"
    try:
        make_folders(top, name)
        if not file.exists() or file.read_bytes() != source:
            write_at_once(file, source)
    except OSError as error:
        raise BackendError(
            f"jetpy cannot create a folder for compiled kernels: {error}; {MOVE}"
        ) from error
    return folder


@cache
def _kernel(space: str, module: ModuleType, workunit: str) -> tuple[Path, bytes]:
    """Return the name of a workunit's folder, below the cache folders, and its source."""
    source = print_module(read_workunits(module)[workunit])
    key = hashlib.sha256(f"{source}{_circumstances(space)}".encode()).hexdigest()[:16]
    return Path("kokkos", f"{workunit}-{key}"), source.encode()


@cache
def _circumstances(space: str) -> str:
    """Return a digest of what else compiled code depends on.

    That is Python, Kokkos (version, options and place), PyKokkos's translator, our own way of
    compiling, and the processor or GPU.
    """
    digest = hashlib.sha256(
        repr((space, sys.version, sysconfig.get_config_var("EXT_SUFFIX"), _cpu())).encode()
    )
    if space == "Cuda":
        cupy = importlib.import_module("cupy")
        digest.update(str(cupy.cuda.Device().compute_capability).encode())
    libraries, headers, _ = kokkos_paths(space)
    digest.update(str(libraries).encode())
    digest.update((headers / "KokkosCore_config.h").read_bytes())
    translator = Path(str(importlib.import_module("pykokkos.core").__file__)).parent
    for file in sorted([*translator.rglob("*.py"), translator / "compile.sh"]):
        digest.update(file.read_bytes())
    for ours in ("build.py", "cpp.py"):
        digest.update(Path(__file__).with_name(ours).read_bytes())
    return digest.hexdigest()


def _cpu() -> tuple[str, ...]:
    """Return what tells apart processors that run different machine code."""
    kinds = ("model name", "flags", "Features", "CPU implementer", "CPU part")
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return (platform.machine(), *sorted({line for line in lines if line.startswith(kinds)}))
