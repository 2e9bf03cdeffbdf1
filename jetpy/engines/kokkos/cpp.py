"""The C++ that PyKokkos generates for workunits, and its compilation.

This code patches PyKokkos, which prints, and ends the process on failure, sometimes with code 0. So
it runs in a separate process (`jetpy.engines.workers`).
"""

from __future__ import annotations

import importlib.util
import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from jetpy.engines.kokkos.cpp_text import BLOCKS, COMMON, ENTRY, RANGE
from jetpy.engines.kokkos.paths import kokkos_paths
from jetpy.errors import BackendError
from jetpy.kernel_language import Kind, View
from jetpy.kernel_language.reading import read_workunits

LONGEST = 400
"""Maximum line length in error messages, because PyKokkos generates C++ as one much longer line."""
_HEADERS = ("pybind11/pybind11.h", "Kokkos_Core.hpp", "algorithm", "cmath", "cstdint", "cstring")
"""The headers that kernels need; PyKokkos's others, mainly for sorting, cost nvcc a third more."""
_PASSED_VIEW = re.compile(r"(Kokkos::View<[^<>]*>) (\w+)(?=[,)])")
"""A view that a function takes by value, where each copy checks whether views are counted."""
_FEW = {Kind.FOR: 1024, Kind.REDUCE: 1024, Kind.SCAN: 16384}
"""Maximum indices for a single CPU thread, because starting all threads takes longer. OpenMP's
scans start the threads twice, and visit the indices twice."""
_STATIC = "Kokkos::parallel_for(pk_kernel_name,Kokkos::RangePolicy<pk_exec_space,"
_DYNAMIC = f"{_STATIC}Kokkos::Schedule<Kokkos::Dynamic>,"
"""Beginnings of launches. Indices take different times, so OpenMP's threads take chunks of them."""
_EXACT = "-ffp-contract=off"
"""Prevents compilers from rounding a product and a sum as one, as only some machines can."""


def symbol(folder: Path) -> str:
    """Return the name of the library function that creates a kernel's launching function."""
    return f"launch_{folder.name.replace('-', '_')}"


def translate(space: str, source: Path) -> str:
    """Translate the workunit ``source.stem`` of a file alone in its folder, once per process.

    PyKokkos's dispatch runs, but its compilation, import and call are replaced by functions that
    keep their arguments. The binding that PyKokkos generates looks up each argument by name, which
    takes longer than many kernels; jetpy's binding takes the arguments in order.

    Returns
    -------
    str
        C++ definitions, in a separate namespace.

    Raises
    ------
    BackendError
        With PyKokkos's message, if it fails.
    """
    import pykokkos as pk
    from pykokkos.core import module_setup
    from pykokkos.core.cpp_setup import CppSetup
    from pykokkos.runtime import runtime_singleton

    code: list[str] = []
    arguments: dict[str, Any] = {}

    def keep_code(*given: Any) -> None:
        _setup, _folder, functor, _functor_file, _cast, _cast_file, bindings, *_ = given
        code.extend("\n".join([*functor, *bindings]).splitlines())

    def keep_call(entity: Any, members: Any, given: dict[str, Any], module: str) -> int:
        arguments.update(given)
        return 0

    folder = source.parent
    module_setup.BASE_DIR = str(folder)
    module_setup.ModuleSetup.get_main_path = lambda self: Path("kernel")
    CppSetup.compile = keep_code
    runtime_singleton.runtime.import_module = lambda name, path: name
    runtime_singleton.runtime.call_wrapper = keep_call

    name = f"jetpy_kokkos_{folder.name.replace('-', '_')}"
    with _explained(source):
        module = _import(name, source)
        definition = read_workunits(module)[source.stem]
        parameters = definition.arguments
        dispatch = {
            Kind.FOR: pk.parallel_for,
            Kind.REDUCE: pk.parallel_reduce,
            Kind.SCAN: pk.parallel_scan,
        }[definition.kind]
        policy = pk.RangePolicy(getattr(pk.ExecutionSpace, space), 0, 1)
        dispatch(policy, getattr(module, source.stem), **_samples(space, parameters))
        *lines, binding, _module = (line for line in code if line and not line.startswith("#"))
        lines = [_PASSED_VIEW.sub(r"const \1& \2", line) for line in lines]
        call, few, few_in_program = _call(binding, arguments, parameters), "", ""
        if space == "OpenMP" and importlib.import_module("kokkos").get_device_available("Serial"):
            lines[-1:] = [_shared(lines[-1]), _serial(lines[-1])]
            is_few = f"argument<int>(passed[0]) <= {_FEW[definition.kind]}"
            are_tasks = f"count > {1 + len(parameters)}"
            few = f"if (space == Py_None || ({is_few} && !({are_tasks}))) return {_serial(call)};"
            few_in_program = f"if ({is_few}) return {_serial(call)};"
        lines.append(ENTRY.format(call=call, few=few, symbol=symbol(folder)))
        if space != "Cuda":
            few, call = (
                text.replace("argument<pk_exec_space>(space)", "pk_exec_space()")
                for text in (few_in_program, call)
            )
            lines.append(RANGE.format(call=call, few=few, symbol=symbol(folder)))
    return "\n".join([f"namespace {name} {{", *lines, "}"])


def _call(binding: str, arguments: dict[str, Any], parameters: dict[str, str | View]) -> str:
    """Return the call in a binding, with arguments that are passed in order or constant."""
    given = {name: f"passed[{i}]" for i, name in enumerate(["pk_threads_end", *parameters])}
    given["pk_exec_space_instance"] = "space"

    def argument(match: re.Match[str]) -> str:
        name, kind = match.groups()
        return f"argument<{kind}>({given[name]})" if name in given else json.dumps(arguments[name])

    call = binding[binding.index("{") + 1 : binding.rindex(")") + 1].removeprefix("return ")
    return re.sub(r'kwargs\["(\w+)"\]\.cast<(.*?)>\(\)', argument, call)


def _shared(code: str) -> str:
    """Return a launch that threads share: chunks of indices, or blocks with sums of their own."""
    code = code.replace(_STATIC, _DYNAMIC)
    return re.sub(r"Kokkos::parallel_(reduce|scan)\(", r"\1_blocks(", code)


def _serial(code: str) -> str:
    """Return code with the serial execution space in place of the one it was compiled for."""
    code = code.replace("argument<pk_exec_space>(space)", "Kokkos::Serial()")
    return re.sub(r"\bpk_exec_space\b", "Kokkos::Serial", code)


def compile_together(space: str, translations: list[str], scratch: Path) -> Path:
    """Compile workunits as one shared library below a folder; return the library's path.

    Raises
    ------
    BackendError
        With the message of the C++ compiler, if it fails.
    """
    import pykokkos as pk
    from pykokkos.core.cpp_setup import CppSetup
    from pykokkos.runtime import runtime_singleton

    compiler = runtime_singleton.runtime.compiler.get_compiler()
    options = f"-fmad=false {_EXACT}" if compiler == "nvcc" else _EXACT
    folder, file, library = scratch / "cpp", "kernels.cpp", "kernels.so"
    setup = CppSetup(library, [])
    setup.get_kokkos_paths = lambda *_: kokkos_paths(space)
    script = scratch / setup.script
    script.write_text(setup.script_path.read_text().replace("-O3", f"-O3 {options}"))
    script.chmod(0o755)
    setup.script_path = script

    blocks = [BLOCKS] if space == "OpenMP" else []
    unit = [*(f"#include <{header}>" for header in _HEADERS), COMMON, *blocks, *translations, ""]
    with _explained(folder / file):
        setup.compile_raw_source(
            folder, unit, file, getattr(pk.ExecutionSpace, space), False, compiler
        )
    return folder / library


@contextmanager
def _explained(source: Path) -> Iterator[None]:
    """Capture the output of PyKokkos, and raise a BackendError if it fails."""
    said = io.StringIO()
    try:
        with redirect_stdout(said):
            yield
    except (Exception, SystemExit) as error:
        raise BackendError(_explain(error, said.getvalue(), source)) from error


def _explain(error: BaseException, said: str, source: Path) -> str:
    """Return an error message: the output, and the source line that it refers to."""
    words = re.sub(r"\x1b\[\d*m", "", said).partition("DEBUG AST:")[0]
    words = "\n".join(line for line in words.splitlines() if len(line) < LONGEST).strip()
    match = re.match(r"Error on line (\d+)", words)
    if match is not None:
        line = source.read_text().splitlines()[int(match[1]) - 1]
        return f"{words}: {line.strip()}\n({source})"
    return f"{words}\n{type(error).__name__}: {error}".strip()


def _import(name: str, path: Path) -> ModuleType:
    """Import a workunit's source as module `name`."""
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
