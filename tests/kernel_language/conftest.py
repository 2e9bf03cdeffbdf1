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


def expanded(text: str) -> str:
    """Return the snippets with `arithmetic_int32` repeated for the other integers.

    Only signed integers can be -1, by which some quotients overflow.
    """
    start = text.index("@pk.workunit\ndef arithmetic_int32(")
    signed = text[start : text.index("@pk.workunit\n", start + 1)]
    shift = "shift: pk.View1D[pk.int32]"
    copies = {
        "int64": signed,
        **dict.fromkeys(("uint32", "uint64"), signed.replace(" and y != -1", "")),
    }
    return text + "".join(
        "\n\n" + own.replace("int32", name).replace(shift.replace("int32", name), shift)
        for name, own in copies.items()
    )


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """Import the workunits of `snippets.py` under a fixed name, so that caches remain valid."""
    folder = tmp_path_factory.mktemp("snippets")
    text = Path(__file__).with_name("snippets.py").read_text("utf-8")
    (folder / "snippets.py").write_text(expanded(text), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
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
