"""Examination of Kokkos installations, with fake packages and programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jetpy.engines.diagnosis import problems
from jetpy.engines.installation import examine

CONFIG = """
#define KOKKOS_VERSION 40701
#define KOKKOS_ENABLE_SERIAL
#define KOKKOS_ENABLE_CUDA
#define KOKKOS_ENABLE_CXX17
#define KOKKOS_ARCH_HOPPER90
"""
LIBRARY = """
class KokkosView_int32_HostSpace_LayoutRight_1: pass
class KokkosView_int32_CudaSpace_LayoutLeft_1: pass
class KokkosView_int64_HostSpace_LayoutRight_1: pass
class KokkosView_float64_HostSpace_LayoutRight_1: pass
class KokkosView_int64_CudaSpace_LayoutLeft_1: pass
class KokkosView_float64_CudaSpace_LayoutLeft_1: pass
"""
CUPY = """
__version__ = "14.0.0"
class cuda:
    class runtime:
        @staticmethod
        def runtimeGetVersion():
            return 13000
        @staticmethod
        def getDeviceCount():
            return 0
"""
PROGRAMS = {
    "g++": "12.2.0",
    "nvcc": "Cuda compilation tools, release 13.0, V13.0.48",
}


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a complete fake Kokkos that this and other processes find."""
    files = {
        "kokkos/__init__.py": "int8 = 1\n",
        "kokkos/libpykokkos.py": LIBRARY,
        "include/kokkos/KokkosCore_config.h": CONFIG,
        "lib64/libkokkoscore.so": "",
        "bin/nvcc_wrapper": "",
        "cupy.py": CUPY,
        "pybind11.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name, text in PROGRAMS.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\necho '{text}'\n")
        (tmp_path / "bin" / name).chmod(0o755)
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("kokkos", "cupy", "pybind11"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).parents[2]}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("PK_KOKKOS_LIB_PATH", raising=False)
    return tmp_path


def test_complete_installation_is_examined(prefix: Path) -> None:
    found = examine()
    assert found is not None
    assert found.config is not None
    assert (found.config.version, found.config.standard) == ((4, 7, 1), 17)
    assert found.cuda
    assert (found.gxx, found.nvcc) == ((12, 2, 0), (13, 0))
    assert (found.cupy, found.cupy_cuda) == ("14.0.0", (13, 0))
    assert list(problems(found)) == []


def test_missing_kokkos_gives_none(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kokkos", None)
    assert examine() is None


def test_missing_components_are_listed(prefix: Path) -> None:
    for name in ("bin/g++", "bin/nvcc", "bin/nvcc_wrapper", "lib64/libkokkoscore.so"):
        (prefix / name).unlink()
    (prefix / "kokkos" / "__init__.py").write_text("")
    (prefix / "cupy.py").write_text("raise ImportError('libcudart.so.13')")
    found = examine()
    assert found is not None
    assert found.missing == ("g++", "nvcc", "nvcc_wrapper (which Kokkos installs)")
    assert not found.shared
    assert not found.has_int8
    assert found.nvcc == ()
    assert "libcudart.so.13" in found.cupy_error
    assert len(list(problems(found))) == 4


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise ImportError('undefined symbol: omp')", "undefined symbol: omp"),
        ("import sys; sys.exit(0)", "SystemExit(0)"),
        ("import os; os._exit(3)", "the process ended with code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
    ],
)
def test_import_failure_is_described(prefix: Path, code: str, words: str) -> None:
    (prefix / "kokkos" / "libpykokkos.py").write_text(code)
    found = examine()
    assert found is not None
    assert words in found.import_error
    [problem] = [p for p in problems(found) if "CuPy" not in p.what]
    assert words in problem.what


def test_environment_variable_sets_the_library_folder(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (prefix / "other" / "include").mkdir(parents=True)
    (prefix / "other" / "include" / "KokkosCore_config.h").write_text("#define KOKKOS_VERSION 1")
    monkeypatch.setenv("PK_KOKKOS_LIB_PATH", str(prefix / "other" / "lib"))
    found = examine()
    assert found is not None
    assert found.config is not None
    assert found.config.version == (0, 0, 1)
    assert not found.shared
