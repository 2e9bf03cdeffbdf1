"""Kernels of jetpy read like the papers: words for numbers, groups for lists of arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetpy import workloads
from jetpy.kernel_language import read_module

FILES = [Path(str(module.__file__)) for module in workloads.MODULES]
PLAIN = range(-1, 3)
"""Numbers that need no name."""
MOST_LINES = 2


def functions(file: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            yield node


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_numbers_have_names(file: Path) -> None:
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
        if length > MOST_LINES * 100:
            long.append(f"{function.name}: {length} characters")
    assert long == []


def test_every_function_is_read() -> None:
    for module, file in zip(workloads.MODULES, FILES, strict=True):
        assert list(read_module(module)) == [function.name for function in functions(file)]
