"""Style of the kernels: named constants, and groups instead of long argument lists."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetpy import workloads
from jetpy.kernel_language.body import RANGE_PARTS
from jetpy.kernel_language.reading import read_module
from tests.children import run_python

FILES = [Path(str(module.__file__)) for module in workloads.MODULES]
PLAIN = range(-1, 3)
"""Values that need no name."""
MAX_LINES = 2


def functions(file: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            yield node


def names(function: ast.FunctionDef) -> list[str]:
    """Return the names of the definitions of a function; a range is read as its parts."""
    is_range = function.returns is not None and ast.unparse(function.returns) == "range"
    return [f"{function.name}{part}" for part in (RANGE_PARTS if is_range else [""])]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_constants_have_names(file: Path) -> None:
    unnamed = [
        f"{function.name}, line {node.lineno}: {node.value}"
        for function in functions(file)
        for node in ast.walk(function)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and node.value not in PLAIN
    ]
    assert unnamed == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_signatures_are_short(file: Path) -> None:
    lines = file.read_text().splitlines()
    long = []
    for function in functions(file):
        start = function.lineno - 1
        body = function.body[0].lineno - 1
        parameters = [line.strip() for line in lines[start:body] if line.strip() not in ("", ")")]
        length = len(" ".join(parameters))
        if length > MAX_LINES * 100:
            long.append(f"{function.name}: {length} characters")
    assert long == []


def test_every_function_is_read() -> None:
    for module, file in zip(workloads.MODULES, FILES, strict=True):
        read = list(read_module(module))
        written = [name for function in functions(file) for name in names(function)]
        assert read == [name for name in written if not name.endswith("_step") or name in read]


def test_concurrent_reading_gives_identical_definitions() -> None:
    """Each definition must exist once, because shared functions are identified by it."""
    code = (
        "import sys\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from jetpy.kernel_language.reading import read_workunits\n"
        "from jetpy.workloads import MODULES\n"
        "def read(first):\n"
        "    modules = MODULES[first:] + MODULES[:first]\n"
        "    return {d for m in modules for d in read_workunits(m).values()}\n"
        "sys.setswitchinterval(1e-6)\n"
        "with ThreadPoolExecutor(4) as readers:\n"
        "    found = list(readers.map(read, range(0, 28, 7)))\n"
        "assert all(own == found[0] for own in found)\n"
    )
    run_python(code, timeout=60)
