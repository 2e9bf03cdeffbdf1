"""Diagnosis of CUDA installations on which the back end `cuda` does not work."""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from jetpy.device.backends import get_backend
from jetpy.engines.cuda import WHEELS, diagnosis, installation
from jetpy.engines.cuda.diagnosis import problems
from jetpy.engines.cuda.installation import Installation, examine, examine_apart
from jetpy.errors import BackendError
from tests.engines.test_diagnosis import line_of

SOUND = Installation(
    driver=(13, 0),
    cupy="14.2.0",
    cupy_cuda=(13, 2),
    capabilities=(90, 90),
    nvrtc=(13, 5),
    architectures=(75, 80, 90, 100),
)
CUDA_12 = replace(
    SOUND, driver=(12, 4), cupy_cuda=(12, 9), nvrtc=(12, 9), architectures=(50, 70, 75, 90)
)

WRONG: dict[str, tuple[Installation, str, str]] = {
    "no driver": (replace(SOUND, driver=(), capabilities=()), "no NVIDIA driver", "use cpu"),
    "no CuPy": (
        Installation(driver=(13, 0), nvrtc=(13, 5), architectures=(90,)),
        "CuPy is not installed",
        r"pip install 'cupy-cuda13x>=14' 'nvidia-cuda-nvrtc==13\.\*'",
    ),
    "no CuPy, an older driver": (
        Installation(driver=(12, 4), nvrtc=(12, 9), architectures=(90,)),
        "CuPy is not installed",
        r"pip install 'cupy-cuda12x>=14' nvidia-cuda-nvrtc-cu12",
    ),
    "broken CuPy": (
        replace(SOUND, cupy="", cupy_cuda=(), capabilities=(), cupy_error="ImportError('cudart')"),
        r"CuPy cannot be imported: ImportError\('cudart'\)",
        r"pip uninstall cupy cupy-cuda12x cupy-cuda13x, then pip install 'cupy-cuda13x",
    ),
    "old driver": (
        replace(SOUND, driver=(12, 4)),
        "the driver supports CUDA 12.4, but CuPy 14.2.0 needs CUDA 13.2",
        "newer driver; or pip uninstall cupy-cuda13x, then pip install 'cupy-cuda12x",
    ),
    "no GPU": (
        replace(SOUND, capabilities=(), gpu_error="cudaErrorNoDevice"),
        "CUDA finds no usable GPU: cudaErrorNoDevice",
        "CUDA_VISIBLE_DEVICES",
    ),
    "no NVRTC": (
        replace(CUDA_12, nvrtc=(), architectures=()),
        "NVRTC for CUDA 12 is not installed",
        "nvidia-cuda-nvrtc-cu12",
    ),
    "no headers": (
        replace(SOUND, headers=False),
        "headers .* are not installed",
        "cuda-runtime==13",
    ),
    "old GPU": (
        replace(SOUND, capabilities=(90, 70)),
        "NVRTC 13.5 does not support this GPU .sm_70",
        "pip uninstall cupy-cuda13x, then pip install 'cupy-cuda12x",
    ),
    "new GPU": (
        replace(SOUND, capabilities=(130,)),
        "does not support this GPU .sm_130",
        "pip install --upgrade nvidia-cuda-nvrtc",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_problem_and_its_fix_are_named(name: str) -> None:
    found, what, fix = WRONG[name]
    [problem] = problems(found)
    assert re.search(what, problem.what), problem.what
    assert re.search(fix, problem.fix), problem.fix
    assert problem.fix.endswith(".")


@pytest.mark.parametrize("found", [SOUND, CUDA_12, replace(SOUND, capabilities=(103, 89))])
def test_working_installation_has_no_problem(found: Installation) -> None:
    assert list(problems(found)) == []


def test_every_problem_has_a_case() -> None:
    lines = {line_of(problems(case[0])) for case in WRONG.values()}
    assert len(lines) == inspect.getsource(diagnosis).count("yield Problem(")


def test_wheels_equal_the_extras() -> None:
    file = Path(__file__).parents[3] / "pyproject.toml"
    extras = tomllib.loads(file.read_text())["project"]["optional-dependencies"]
    assert {f"cuda{major}": list(wheels) for major, wheels in WHEELS.items()} == {
        name: wheels for name, wheels in extras.items() if name.startswith("cuda")
    }


# On this machine


def test_missing_driver_ends_the_examination(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_driver", lambda: ())
    monkeypatch.setattr(installation, "_cupy", lambda: pytest.fail("CuPy must not be imported"))
    assert examine() == Installation()
    with pytest.raises(BackendError, match=r"no NVIDIA driver .* use cpu\.$"):
        get_backend("cuda", device=7)


def test_auto_with_an_absent_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` does not fall back to `cpu`."""
    monkeypatch.setattr(installation, "_driver", lambda: ())
    monkeypatch.setattr("jetpy.engines.kokkos.runtime.find_spec", lambda package: None)
    with pytest.raises(BackendError, match="no NVIDIA driver"):
        get_backend("auto", device=6)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise ImportError('libcudart.so.13')", "ImportError('libcudart.so.13')"),
        ("import os; os._exit(3)", "the process ended with code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
    ],
)
def test_import_failure_of_cupy_is_described(
    code: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cupy.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).parents[3]}")
    assert words in examine_apart().cupy_error


CUPY = """
__version__ = "14.0.0"
class cuda:
    class Device:
        def __init__(self, number):
            self.compute_capability = ("90", "100")[number]
    class runtime:
        getDeviceCount = lambda: 2
        runtimeGetVersion = lambda: 13020
"""


def test_working_cupy_is_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cupy.py").write_text(CUPY)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).parents[3]}")
    found = examine_apart()
    assert (found.cupy, found.cupy_cuda, found.cupy_error) == ("14.0.0", (13, 2), "")
    assert found.capabilities == (90, 100)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(installation, "_driver", lambda: (13, 0))
    assert examine().capabilities == (90, 100)
    sys.modules.pop("cupy", None)
