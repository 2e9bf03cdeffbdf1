"""Compiles one workunit by PyKokkos and records how to call the result.

Runs in a process of its own (`jetpy.backends.workers`): PyKokkos is patched there, prints, and
ends the process where it fails. A kernel's folder holds its source, and once it is compiled a
folder `binary` that appears at once and complete: whatever stops a compilation, and however many
processes compile the same kernel, no half-built one is ever found.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from jetpy.backends.numba_engine.translate import Kind, View, read_module
from jetpy.errors import BackendError

FUNCTION = f"{__name__}:build"
BINARY, LIBRARY, RECIPE = "binary", "kernel.so", "launcher.json"
LONGEST = 400
"""Longest line of an error message; the C++ that PyKokkos generates is one line, much longer."""
_PER_LAUNCH = {"pk_exec_space_instance", "pk_threads_begin", "pk_threads_end"}
_EXACT = "-ffp-contract=off"
"""Lets no compiler round a product and a sum as one, which only some machines can do."""
_SWITCHES = {"PK_FUSION", "PK_RESTRICT", "PK_LOOP_FUSE", "PK_MEM_FUSE", "DEBUG"}
"""Environment variables that make PyKokkos generate other code."""


def is_built(folder: Path) -> bool:
    """Whether a kernel's folder holds its compiled library."""
    return (folder / BINARY / RECIPE).exists()


def build_environment() -> dict[str, str]:
    """Return the environment in which `build` works.

    Raises
    ------
    BackendError
        If a program that compiling takes is missing.
    """
    environment = {k: v for k, v in os.environ.items() if k not in _SWITCHES}
    programs = str(Path(sys.executable).parent)
    environment["PATH"] = os.pathsep.join([programs, environment.get("PATH", os.defpath)])
    environment |= {"KOKKOS_NUM_THREADS": "1", "OMP_PROC_BIND": "false"}
    needed = ("bash", "g++", "patchelf")
    missing = [p for p in needed if shutil.which(p, path=environment["PATH"]) is None]
    if importlib.util.find_spec("pybind11") is None:
        missing.append("pybind11 (a Python package)")
    if missing:
        raise BackendError(f"PyKokkos compiles kernels with {', '.join(missing)}: not found")
    return environment


def build(space: str, folder: str, workunit: str) -> None:
    """Compile ``folder/workunit.py`` into ``folder/binary``.

    Raises
    ------
    BackendError
        With the words of PyKokkos or of the C++ compiler, if that fails. PyKokkos prints them
        and calls `sys.exit`, at times with code 0.
    """
    with TemporaryDirectory(prefix="build-", dir=folder) as scratch:
        _patch_pykokkos(scratch)
        binary = Path(scratch, BINARY)
        binary.mkdir()
        source = Path(folder, f"{workunit}.py")
        said = io.StringIO()
        try:
            with redirect_stdout(said):
                recipe = _compile(space, source, binary / LIBRARY)
        except (Exception, SystemExit) as error:
            raise BackendError(_explain(error, said.getvalue(), source)) from error
        (binary / RECIPE).write_text(json.dumps(recipe))
        try:
            binary.rename(Path(folder, BINARY))
        except OSError:
            if not is_built(Path(folder)):
                raise


def _explain(error: BaseException, said: str, source: Path) -> str:
    """Return what went wrong, in the words of whoever failed, and the line that it is about."""
    words = re.sub(r"\x1b\[\d*m", "", said).partition("DEBUG AST:")[0]
    words = "\n".join(line for line in words.splitlines() if len(line) < LONGEST).strip()
    match = re.match(r"Error on line (\d+)", words)
    if match is not None:
        line = source.read_text().splitlines()[int(match[1]) - 1]
        return f"{words}: {line.strip()}\n({source})"
    return f"{words}\n{type(error).__name__}: {error}".strip()


def _patch_pykokkos(scratch: str) -> None:
    """Let PyKokkos build in an empty folder of ours, and with exact floating-point operations."""
    from pykokkos.core import module_setup
    from pykokkos.core.cpp_setup import CppSetup
    from pykokkos.runtime import runtime_singleton

    compiler = runtime_singleton.runtime.compiler.get_compiler()
    options = f"-fmad=false {_EXACT}" if compiler == "nvcc" else _EXACT

    def copy_script(self: Any, output_dir: Path) -> None:
        script = Path(output_dir, self.script)
        script.write_text(self.script_path.read_text().replace("-O3", f"-O3 {options}"))
        script.chmod(0o755)

    module_setup.BASE_DIR = scratch
    module_setup.ModuleSetup.get_main_path = lambda self: Path("kernel")
    CppSetup.copy_script = copy_script


def _compile(space: str, source: Path, library: Path) -> dict[str, Any]:
    """Let PyKokkos dispatch the workunit, up to the call of the compiled kernel, and keep that.

    Returns what `jetpy.backends.kokkos.launcher` needs to make the call itself.
    """
    import pykokkos as pk
    from pykokkos.runtime import runtime_singleton

    module = _import_source(source)
    definition = read_module(module)[source.stem]
    dispatch = {
        Kind.FOR: pk.parallel_for,
        Kind.REDUCE: pk.parallel_reduce,
        Kind.SCAN: pk.parallel_scan,
    }[definition.kind]
    parameters = definition.arguments
    recipe: dict[str, Any] = {}

    def keep_call(
        entity: Callable[..., None], members: Any, arguments: dict[str, Any], compiled: ModuleType
    ) -> int:
        shutil.copy(str(compiled.__file__), library)
        fixed = {k: v for k, v in arguments.items() if k not in {*parameters, *_PER_LAUNCH}}
        recipe.update(module=compiled.__name__, fixed=fixed)
        return 0

    runtime_singleton.runtime.call_wrapper = keep_call
    policy = pk.RangePolicy(getattr(pk.ExecutionSpace, space), 0, 1)
    dispatch(policy, getattr(module, source.stem), **_samples(space, parameters))
    return recipe


def _import_source(path: Path) -> ModuleType:
    """Import a workunit's source as a module of a name of its own."""
    name = f"jetpy_kokkos_{path.parent.name.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _samples(space: str, parameters: dict[str, str | View]) -> dict[str, Any]:
    """Return an argument of the right type for each parameter."""
    xp = importlib.import_module("cupy" if space == "Cuda" else "numpy")
    return {
        name: xp.zeros(1, kind.element)
        if isinstance(kind, View)
        else 0.0
        if kind.startswith("float")
        else 0
        for name, kind in parameters.items()
    }
