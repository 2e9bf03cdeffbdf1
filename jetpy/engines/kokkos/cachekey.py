"""Cache folders of compiled kernels, named by a digest of all inputs."""

from __future__ import annotations

import hashlib
import importlib
import platform
import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import ModuleType

from jetpy import kernel_language
from jetpy.engines.cache import MOVE, cache_dirs, check_trusted, make_folders, write_at_once
from jetpy.engines.kokkos.build import BINARY, LIBRARY, is_built
from jetpy.engines.kokkos.paths import CONFIG, CORE_LIBRARY, needed_file
from jetpy.errors import BackendError
from jetpy.kernel_language.pykokkos_printer import print_module
from jetpy.kernel_language.reading import read_workunits


def kernel_folder(space: str, module: ModuleType, workunit: str) -> Path:
    """Return the folder with a workunit's binary; if there is none, a folder with its source.

    Raises
    ------
    BackendError
        If other users may have written the binary, or a missing folder cannot be created.
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
    """Return a digest of all inputs of compiled code except its source.

    These are Python, Kokkos (version, options and location), PyKokkos's translator, jetpy's own
    build code, and the processor or GPU.
    """
    digest = hashlib.sha256(
        repr((space, sys.version, sysconfig.get_config_var("EXT_SUFFIX"), _cpu())).encode()
    )
    if space == "Cuda":
        cupy = importlib.import_module("cupy")
        digest.update(str(cupy.cuda.Device().compute_capability).encode())
    digest.update(str(needed_file(CORE_LIBRARY)).encode())
    digest.update(needed_file(CONFIG).read_bytes())
    translator = Path(str(importlib.import_module("pykokkos.core").__file__)).parent
    for file in sorted(translator.rglob("*.py")):
        digest.update(file.read_bytes())
    ours = [Path(__file__).with_name(name) for name in ("build.py", "cpp.py", "cpp_text.py")]
    ours += sorted(Path(kernel_language.__file__).parent.glob("*.py"))
    for file in ours:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _cpu() -> tuple[str, ...]:
    """Return the properties that distinguish processors with different machine code."""
    kinds = ("model name", "flags", "Features", "CPU implementer", "CPU part")
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return (platform.machine(), *sorted({line for line in lines if line.startswith(kinds)}))
