"""Modules of workunits made from text."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from jetpy.device.backends import kernel_modules
from jetpy.engines.cuda.kernels import with_workunits
from jetpy.kernel_language import pykokkos_standin

Load = Callable[[str], ModuleType]
"""Type of the fixture `load`."""
_numbers = itertools.count()
PLACE = """
@pk.workunit
def place(
    i: int, acc: pk.Acc[pk.int64], last_pass: bool, a: pk.View1D[pk.int32], out: pk.View1D[pk.int64]
):
    if last_pass:
        out[i] = acc
    acc += a[i]
"""
"""A scan: the sum of the preceding numbers."""


def modules() -> list[ModuleType]:
    """Return jetpy's modules that have workunits."""
    return with_workunits(kernel_modules())


def import_kernels(name: str) -> ModuleType:
    """Import a module of workunits with the stand-in for PyKokkos."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pykokkos", pykokkos_standin)
        return importlib.import_module(name)


def load_workunits(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import a module with the stand-in for PyKokkos, as `jetpy.workloads` does."""
    name = f"workunits_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(f"import pykokkos as pk\n{text}")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pykokkos", pykokkos_standin)
        spec.loader.exec_module(module)
    return module
