"""The C++ that PyKokkos generates for workunits, and its compilation.

The translation patches PyKokkos, which prints, and ends the process on failure, sometimes with code
0. So it runs in a separate process (`jetpy.engines.workers`). jetpy calls the C++ compiler itself,
because PyKokkos compiles by a script in some versions and by CMake in others.
"""

from __future__ import annotations

import importlib.util
import io
import json
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from jetpy.engines.diagnosis import read_config
from jetpy.engines.kokkos.cpp_text import BLOCKS, COMMON, ENTRY, RANGE
from jetpy.engines.kokkos.paths import CONFIG, CORE_LIBRARY, NVCC_WRAPPER, needed_file
from jetpy.errors import BackendError
from jetpy.kernel_language import Kind, View
from jetpy.kernel_language.reading import read_workunits

LONGEST = 400
"""Maximum line length in error messages, because PyKokkos generates C++ as one much longer line."""
_HEADERS = ("pybind11/pybind11.h", "Kokkos_Core.hpp", "algorithm", "cmath", "cstdint", "cstring")
"""The headers that kernels need; PyKokkos's others, mainly for sorting, cost nvcc a third more."""
_PASSED_VIEW = re.compile(r"(Kokkos::View<[^<>]*>) (\w+)(?=[,)])")
"""A view that a function takes by value, where each copy checks whether views are counted."""
_REMOVED = re.compile(r"pk_exec_space_instance\.fence\(\);|,Kokkos::Experimental::DefaultViewHooks")
"""A wait after each launch, in some versions of PyKokkos, which would prevent CUDA graphs; and the
default of a parameter of views, which Kokkos 5 has renamed."""
_FEW = {Kind.FOR: 1024, Kind.REDUCE: 1024, Kind.SCAN: 16384}
"""Maximum indices for a single CPU thread, because starting all threads takes longer. OpenMP's
scans start the threads twice, and visit the indices twice."""
_STATIC = "Kokkos::parallel_for(pk_kernel_name,Kokkos::RangePolicy<pk_exec_space,"
_DYNAMIC = f"{_STATIC}Kokkos::Schedule<Kokkos::Dynamic>,"
"""Beginnings of launches. Indices take different times, so OpenMP's threads take chunks of them."""


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
        code = [_REMOVED.sub("", line) for line in code]
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
    """Compile workunits as one shared library in a folder; return the library's path.

    Raises
    ------
    BackendError
        If Kokkos is not found, or with the message of the C++ compiler, if it fails.
    """
    source = scratch / "kernels.cpp"
    blocks = [BLOCKS] if space == "OpenMP" else []
    unit = [*(f"#include <{header}>" for header in _HEADERS), COMMON, *blocks, *translations, ""]
    source.write_text("\n".join(unit))
    for command in _commands(space, source):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BackendError(_without_long_lines(done.stderr))
    return source.with_suffix(".so")


def _commands(space: str, source: Path) -> Iterator[list[str]]:
    """Yield the commands that compile a source as an object, and link this as a shared library.

    If Kokkos has its CUDA back end, its headers need nvcc, for kernels on CPUs, too. No option may
    let a compiler round a product and a sum as one, because only some machines can.
    """
    import pybind11

    config = needed_file(CONFIG)
    kokkos = read_config(config.read_text())
    compiler, for_host = "g++", ["-march=native", "-mtune=native", "-fopenmp"]
    options = ["-O3", "-fPIC", "-ffp-contract=off", f"-std=c++{kokkos.standard}"]
    if "CUDA" in kokkos.spaces:
        compiler = str(needed_file(NVCC_WRAPPER))
        for_host = [word for option in for_host for word in ("-Xcompiler", option)]
        capability = importlib.import_module("cupy").cuda.Device().compute_capability
        options += ["-fmad=false", f"-arch=sm_{capability}", "--expt-extended-lambda"]
    call = [compiler, *options, *for_host]
    assembled, libraries = source.with_suffix(".o"), needed_file(CORE_LIBRARY).parent
    headers = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
    yield [
        *(*call, f"-Dpk_exec_space=Kokkos::{space}", "-c", str(source), "-o", str(assembled)),
        *(f"-I{folder}" for folder in sorted({*headers, pybind11.get_include()})),
        *("-isystem", str(config.parent)),
    ]
    yield [
        *(*call, "-shared", str(assembled), "-o", str(source.with_suffix(".so"))),
        *(f"{libraries}/libkokkos{name}.so" for name in ("containers", "core")),
        f"-Wl,-rpath,{libraries}",
    ]


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
    words = _without_long_lines(words)
    match = re.match(r"Error on line (\d+)", words)
    if match is not None:
        line = source.read_text().splitlines()[int(match[1]) - 1]
        return f"{words}: {line.strip()}\n({source})"
    return f"{words}\n{type(error).__name__}: {error}".strip()


def _without_long_lines(words: str) -> str:
    return "\n".join(line for line in words.splitlines() if len(line) < LONGEST).strip()


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
