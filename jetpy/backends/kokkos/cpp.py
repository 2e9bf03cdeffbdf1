"""The C++ that PyKokkos makes of workunits, and its way of having C++ compiled.

PyKokkos is patched here, prints, and ends the process where it fails, at times with code 0: so
this runs in a process of its own (`jetpy.backends.workers`).
"""

from __future__ import annotations

import importlib.util
import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from jetpy.backends.numba_engine.translate import Kind, View, read_module
from jetpy.errors import BackendError

LONGEST = 400
"""Longest line of an error message; the C++ that PyKokkos generates is one line, much longer."""
_HEADERS = ("pybind11/pybind11.h", "Kokkos_Core.hpp", "cmath")
"""Those that kernels need. PyKokkos's others, for sorting above all, take nvcc a third longer."""
_PER_LAUNCH = {"pk_exec_space_instance", "pk_threads_begin", "pk_threads_end"}
_EXACT = "-ffp-contract=off"
"""Lets no compiler round a product and a sum as one, which only some machines can do."""


@dataclass(frozen=True)
class Translation:
    """A workunit in C++.

    Attributes
    ----------
    code : str
        Definitions, in a namespace of their own.
    module : str
        Name of the Python module that they make, once compiled.
    fixed : dict
        Arguments besides the workunit's own, as far as they are the same in each call.
    """

    code: str
    module: str
    fixed: dict[str, Any]


def translate(space: str, source: Path) -> Translation:
    """Translate the workunit ``source.stem`` of a file alone in its folder, once in a process.

    PyKokkos dispatches it, but does not compile, import and call: what it would is kept.

    Raises
    ------
    BackendError
        With PyKokkos's words, if it cannot.
    """
    import pykokkos as pk
    from pykokkos.core import module_setup
    from pykokkos.core.cpp_setup import CppSetup
    from pykokkos.runtime import runtime_singleton

    kept: dict[str, Any] = {}

    def keep_code(*passed: Any) -> None:
        _setup, _folder, functor, _functor_file, _cast, _cast_file, bindings, *_ = passed
        kept["code"] = "\n".join([*functor, *bindings])

    def keep_call(entity: Any, members: Any, arguments: dict[str, Any], module: str) -> int:
        kept.update(arguments=arguments, module=module)
        return 0

    module_setup.BASE_DIR = str(source.parent)
    module_setup.ModuleSetup.get_main_path = lambda self: Path("kernel")
    CppSetup.compile = keep_code
    runtime_singleton.runtime.import_module = lambda name, path: name
    runtime_singleton.runtime.call_wrapper = keep_call

    name = f"jetpy_kokkos_{source.parent.name.replace('-', '_')}"
    with _explained(source):
        module = _import(name, source)
        definition = read_module(module)[source.stem]
        parameters = definition.arguments
        dispatch = {
            Kind.FOR: pk.parallel_for,
            Kind.REDUCE: pk.parallel_reduce,
            Kind.SCAN: pk.parallel_scan,
        }[definition.kind]
        policy = pk.RangePolicy(getattr(pk.ExecutionSpace, space), 0, 1)
        dispatch(policy, getattr(module, source.stem), **_samples(space, parameters))
    lines = [line for line in kept["code"].splitlines() if not line.startswith("#")]
    return Translation(
        "\n".join([f"namespace {name} {{", *lines, "}"]),
        kept["module"],
        {k: v for k, v in kept["arguments"].items() if k not in {*parameters, *_PER_LAUNCH}},
    )


def compile_together(space: str, translations: list[Translation], scratch: Path) -> Path:
    """Compile workunits as one shared library below a folder, and return its path.

    Raises
    ------
    BackendError
        With the words of the C++ compiler, if it fails.
    """
    import pykokkos as pk
    from pykokkos.core.cpp_setup import CppSetup
    from pykokkos.runtime import runtime_singleton

    compiler = runtime_singleton.runtime.compiler.get_compiler()
    options = f"-fmad=false {_EXACT}" if compiler == "nvcc" else _EXACT
    folder, file, library = scratch / "cpp", "kernels.cpp", "kernels.so"
    setup = CppSetup(library, [])
    script = scratch / setup.script
    script.write_text(setup.script_path.read_text().replace("-O3", f"-O3 {options}"))
    script.chmod(0o755)
    setup.script_path = script

    unit = [*(f"#include <{header}>" for header in _HEADERS), *(t.code for t in translations), ""]
    with _explained(folder / file):
        setup.compile_raw_source(
            folder, unit, file, getattr(pk.ExecutionSpace, space), False, compiler
        )
    return folder / library


@contextmanager
def _explained(source: Path) -> Iterator[None]:
    """Catch what PyKokkos prints, and raise its failure as ours."""
    said = io.StringIO()
    try:
        with redirect_stdout(said):
            yield
    except (Exception, SystemExit) as error:
        raise BackendError(_explain(error, said.getvalue(), source)) from error


def _explain(error: BaseException, said: str, source: Path) -> str:
    """Return what went wrong, in the words of whoever failed, and the line that it is about."""
    words = re.sub(r"\x1b\[\d*m", "", said).partition("DEBUG AST:")[0]
    words = "\n".join(line for line in words.splitlines() if len(line) < LONGEST).strip()
    match = re.match(r"Error on line (\d+)", words)
    if match is not None:
        line = source.read_text().splitlines()[int(match[1]) - 1]
        return f"{words}: {line.strip()}\n({source})"
    return f"{words}\n{type(error).__name__}: {error}".strip()


def _import(name: str, path: Path) -> ModuleType:
    """Import a workunit's source as a module of that name."""
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
