"""The engines that the snippets run on."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from jetpy.device.backends import get_backend
from jetpy.engines.kokkos.engine import KokkosBackend
from jetpy.errors import BackendError
from jetpy.kernel_language.reading import read_workunits
from tests.kernel_language.cpp_engine import CppEngine
from tests.modules import import_kernels

ENGINES = ("cpu-1", "cpu-2", "cpu-3", "cuda-printed", "cuda", "kokkos-serial", "kokkos-cuda")
"""Back ends, `cpu` with each number of threads, and CUDA C compiled for the host."""


@pytest.fixture(scope="module")
def kernels() -> Iterator[ModuleType]:
    """Import the workunits of `snippets.py` under a fixed name, so that caches remain valid."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        module = import_kernels("snippets")
        patch.setitem(sys.modules, "snippets", module)
        yield module


@pytest.fixture(params=ENGINES, scope="module")
def engine(
    request: pytest.FixtureRequest, kernels: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    if request.param == "cuda-printed":
        if shutil.which("g++") is None:
            pytest.skip("no g++ to compile C++ with")
        return CppEngine(kernels, tmp_path_factory.mktemp("cpp"))
    name, _, threads = request.param.partition("-" if "cpu" in request.param else " ")
    try:
        backend = get_backend(name, int(threads) if threads else None)
    except (BackendError, ValueError) as error:
        pytest.skip(str(error))
    if isinstance(backend, KokkosBackend):
        backend.prepare(getattr(kernels, workunit) for workunit in read_workunits(kernels))
    return backend
