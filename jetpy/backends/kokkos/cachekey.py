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

from jetpy.backends.kokkos.flatten import flatten
from jetpy.cache import cache_dir, write_if_missing
from jetpy.errors import BackendError


@cache
def kernel_folder(space: str, module: ModuleType, workunit: str) -> Path:
    """Return the folder of one workunit's source and binary; the source is there."""
    source = flatten(module, workunit)
    key = hashlib.sha256(f"{source}{_circumstances(space)}".encode()).hexdigest()[:16]
    folder = cache_dir() / "kokkos" / f"{workunit}-{key}"
    write_if_missing(folder / f"{workunit}.py", source)
    return folder


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
    libraries, headers = _kokkos_paths(space)
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


def _kokkos_paths(space: str) -> tuple[Path, Path]:
    """Return the folders of Kokkos's libraries and headers, as PyKokkos finds them."""
    import pykokkos as pk
    from pykokkos.core.cpp_setup import CppSetup
    from pykokkos.runtime import runtime_singleton

    compiler = runtime_singleton.runtime.compiler.get_compiler()
    try:
        libraries, headers, _ = CppSetup("", []).get_kokkos_paths(
            getattr(pk.ExecutionSpace, space), compiler
        )
    except RuntimeError as error:
        raise BackendError(f"PyKokkos does not find Kokkos's libraries: {error}") from error
    return libraries, headers
