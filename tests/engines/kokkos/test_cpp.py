"""The C++ of kernels, and the commands that compile it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from jetpy.engines.kokkos import KokkosBackend
from jetpy.engines.kokkos.cpp import _commands
from jetpy.engines.kokkos.paths import CONFIG, CORE_LIBRARY, NVCC_WRAPPER
from tests.children import run_python
from tests.engines.kokkos.test_engine import DRAW, made
from tests.modules import Load


@pytest.fixture
def kokkos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a fake Kokkos, CuPy and pybind11; return Kokkos's folder."""
    for names in (CONFIG, CORE_LIBRARY, NVCC_WRAPPER):
        (tmp_path / names[0]).parent.mkdir(parents=True)
        (tmp_path / names[0]).touch()
    device = SimpleNamespace(compute_capability="90")
    cuda = SimpleNamespace(Device=lambda: device)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "pybind11", SimpleNamespace(get_include=lambda: "pybind11"))
    monkeypatch.setenv("PK_KOKKOS_LIB_PATH", str(tmp_path / "lib"))
    return tmp_path


@pytest.mark.parametrize("standard", [17, 20])
@pytest.mark.parametrize("spaces", ["SERIAL", "OPENMP CUDA"])
def test_compiler_follows_the_options_of_kokkos(kokkos: Path, spaces: str, standard: int) -> None:
    enabled = (*spaces.split(), f"CXX{standard}")
    lines = [f"#define KOKKOS_ENABLE_{option}\n" for option in enabled]
    (kokkos / CONFIG[0]).write_text("".join(lines))
    compiling, linking = _commands("OpenMP", kokkos / "kernels.cpp")
    for command in (compiling, linking):
        assert {f"-std=c++{standard}", "-ffp-contract=off", "-fPIC"} <= set(command)
    assert {"-Dpk_exec_space=Kokkos::OpenMP", "-Ipybind11"} <= set(compiling)
    assert compiling[-2:] == ["-isystem", str(kokkos / "include" / "kokkos")]
    assert {f"-Wl,-rpath,{kokkos}/lib", f"{kokkos}/lib/libkokkoscore.so"} <= set(linking)
    assert compiling[compiling.index("-o") + 1] in linking
    assert linking[linking.index("-o") + 1] == str(kokkos / "kernels.so")
    on_gpu = {"-arch=sm_90", "-fmad=false", "--expt-extended-lambda", "-Xcompiler"}
    if "CUDA" in spaces:
        assert compiling[0] == linking[0] == str(kokkos / NVCC_WRAPPER[0])
        assert on_gpu <= set(compiling)
    else:
        assert compiling[0] == linking[0] == "g++"
        assert not on_gpu & set(compiling)


FENCES = """
import sys
from pathlib import Path
from pykokkos.core.translators import bindings
from jetpy.engines.kokkos.cpp import translate
copy_back = bindings.generate_copy_back
bindings.generate_copy_back = lambda members: bindings.generate_fence_call() + copy_back(members)
code = translate("Serial", Path(sys.argv[1]))
print(code.count("parallel_for"), code.count("fence"))
"""


def test_launches_do_not_wait(load: Load) -> None:
    backend: KokkosBackend = made("kokkos-serial")
    kernels = load(DRAW.format(1))
    folder = backend._folder(kernels.draw)
    assert run_python(FENCES, str(folder / "draw.py")).stdout == "1 0\n"
