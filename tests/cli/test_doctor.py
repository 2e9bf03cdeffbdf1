"""`jetpy doctor` with fake self-checks and installations."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from jetpy.cli.docs_path import guide
from jetpy.device.selfcheck import Outcome, check_apart
from jetpy.engines.cache import write_entry
from jetpy.engines.cuda.installation import Installation as Cuda
from jetpy.engines.diagnosis import Installation
from jetpy.engines.kokkos.runtime import check_present
from jetpy.errors import BackendError
from tests.cli.conftest import Run
from tests.engines.test_diagnosis import MDSPAN_20, SOUND

MISSING = Outcome("PyKokkos is missing; install [it] from its repository")
CPU = Outcome(threads=2)


class Machine:
    """The fake findings of the doctor."""

    def __init__(self) -> None:
        self.outcomes = {"cpu": CPU}
        self.kokkos: Installation | None = None
        self.cuda = Cuda()

    def check(self, name: str) -> Outcome:
        return self.outcomes.get(name, MISSING)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr("jetpy.device.selfcheck.check_apart", made.check)
    monkeypatch.setattr("jetpy.engines.installation.examine", lambda: made.kokkos)
    monkeypatch.setattr("jetpy.engines.cuda.installation.examine_apart", lambda: made.cuda)
    return made


def test_machine_with_cpu_only(run: Run, machine: Machine) -> None:
    words = run("doctor").stdout
    assert words.count("PyKokkos is missing; install [it] from its repository") == 4
    assert "cpu            works  2 threads" in words
    assert "auto takes         cpu" in words
    assert "CUDA               no driver, no CuPy's, no NVRTC" in words
    assert "Kokkos             not installed for this Python" in words
    for name in ("python", "llvmlite", "numpy", "scipy", "pymetis", "cupy", "cache folder", "GPU"):
        assert f"\n{name} " in words
    assert "docs/kokkos.md" in words


def test_report_as_json(run: Run, machine: Machine) -> None:
    machine.kokkos = replace(SOUND, config=MDSPAN_20)
    machine.cuda = Cuda(driver=(13, 0), nvrtc=(13, 5), architectures=(75, 90))
    machine.outcomes["kokkos-openmp"] = Outcome(wrong=["the total is 1, not 2"])
    found = json.loads(run("doctor", "--json", "-", code=1).stdout)
    assert found["auto"] == "cpu"
    assert found["back_ends"]["cpu"] == {
        "works": True,
        "missing": "",
        "wrong": [],
        "threads": 2,
    }
    assert found["back_ends"]["kokkos-openmp"]["works"] is False
    assert found["back_ends"]["cuda"]["missing"] == MISSING.missing
    assert found["cuda"] == {
        "driver": "13.0",
        "cupy": "",
        "nvrtc": "13.5",
        "architectures": [75, 90],
    }
    assert found["kokkos"]["version"] == "4.7.1"
    assert found["packages"]["llvmlite"] == version("llvmlite")
    assert found["threads"] == len(os.sched_getaffinity(0))
    assert found["cache"]["folders"][0]["files"] > 0
    assert {problem["what"][:6] for problem in found["problems"]} == {"Kokkos", "CuPy i"}
    run("doctor", "--json", "facts.json", "--quiet", code=1)
    assert json.loads(Path("facts.json").read_text()) == found


def test_quiet_prints_nothing(run: Run, machine: Machine) -> None:
    assert run("doctor", "--quiet").output == ""


def test_cache_folders_are_described(
    run: Run, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prints(words: str) -> bool:
        """Return whether the doctor prints the text, ignoring line breaks."""
        return "".join(words.split()) in "".join(run("doctor").stdout.split())

    cache, own = tmp_path / "cache", tmp_path / "home" / "jetpy"
    monkeypatch.setenv("JETPY_CACHE_DIR", str(cache))
    monkeypatch.setenv("XDG_CACHE_HOME", str(own.parent))
    assert prints(f"cache folder {cache} (0 files of kernels, 0.0 MB)")

    for name in "abc":
        write_entry(Path("cpu", f"{name}.o"), b"code")
    assert prints(f"{cache} (3 files of kernels, 0.0 MB)")
    (cache / "cpu" / "a.o").write_bytes(b"")
    (cache / "kokkos" / "put-0123" / "binary").mkdir(parents=True)
    assert prints("(4 files of kernels, 0.0 MB; 2 DAMAGED; jetpy recompiles them when needed)")

    monkeypatch.setattr("jetpy.engines.cache.is_writable", lambda folder: folder != cache)
    assert prints(f"{cache}, read-only (4 files of kernels")
    assert prints(f"for new kernels {own} (0 files of kernels")
    for module in ("engines.cache", "device.doctor"):
        monkeypatch.setattr(f"jetpy.{module}.is_writable", lambda folder: False)
    assert prints(f"NOT WRITABLE {own}; every run compiles new kernels")


def test_cache_that_others_can_write_is_reported(
    run: Run, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JETPY_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o777)
    words = "".join(run("doctor").stdout.split())  # ignores line breaks
    assert f"{tmp_path}:NOTUSED,jetpydoesnotload" in words
    outcome = check_apart("cpu")
    assert (outcome.threads, outcome.wrong) == (0, [])
    assert "other users can write to it" in outcome.missing


def test_working_back_ends_are_listed(run: Run, machine: Machine) -> None:
    machine.kokkos = SOUND
    machine.outcomes |= {
        "kokkos-cuda": Outcome(threads=1),
        "kokkos-openmp": Outcome(threads=16),
        "kokkos-serial": Outcome(threads=1),
    }
    words = run("doctor").stdout
    assert "auto takes         kokkos-cuda" in words
    assert "kokkos-openmp  works  16 threads" in words
    assert "kokkos-cuda    works  on a GPU" in words
    assert "4.7.1, C++17, CUDA OPENMP SERIAL, views without mdspan, shared libraries" in words
    assert "compilers          g++ 13.3.0, nvcc 13.0" in words
    assert "WRONG" not in words
    assert "docs/kokkos.md" not in words


def test_each_problem_has_a_fix(run: Run, machine: Machine) -> None:
    machine.kokkos = replace(SOUND, config=MDSPAN_20, gxx=(), missing=("g++",))
    words = " ".join(run("doctor").stdout.split())
    assert "compilers no g++, nvcc 13.0" in words
    assert words.count("WRONG: ") == words.count("FIX: ") == 2
    assert "WRONG: Kokkos was built as C++20 with views on mdspan for CUDA 13.0: " in words
    assert "FIX: Rebuild Kokkos with -DCMAKE_CXX_STANDARD=17" in words
    assert f"To install the Kokkos back ends, see {guide('kokkos')}" in words


def test_missing_cupy_is_a_problem_only_with_a_driver(run: Run, machine: Machine) -> None:
    machine.cuda = Cuda(nvrtc=(13, 5), architectures=(75, 90))
    words = run("doctor").stdout
    assert "CUDA               no driver, no CuPy's, NVRTC 13.5 (sm_75 to sm_90)" in words
    assert "WRONG" not in words
    machine.cuda = replace(machine.cuda, driver=(13, 0))
    words = " ".join(run("doctor").stdout.split())
    assert "CUDA driver 13.0, no CuPy's" in words
    assert "WRONG: CuPy is not installed FIX: pip install 'cupy-cuda13x>=14'" in words


def test_wrong_results_are_an_error(run: Run, machine: Machine) -> None:
    machine.kokkos = replace(SOUND, config=None)
    machine.outcomes["kokkos-cuda"] = Outcome(wrong=["scan over 33 indices: the total is 1, not 2"])
    result = run("doctor", code=1)
    assert "kokkos-cuda    WRONG  scan over 33 indices: the total is 1, not 2" in result.stdout
    assert "Kokkos             headers not found" in result.stdout
    assert result.stderr == "jetpy: error: the self-check of kokkos-cuda failed; do not use it\n"


def test_no_working_back_end_is_an_error(run: Run, machine: Machine) -> None:
    machine.outcomes["cpu"] = Outcome("there is no LLVM")
    result = run("doctor", code=1)
    assert "auto takes         nothing" in result.stdout
    assert result.stderr == "jetpy: error: no back end works\n"


def test_error_of_kokkos_does_not_mention_the_doctor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("jetpy.engines.kokkos.runtime.find_spec", lambda package: None)
    with pytest.raises(BackendError, match=r"as docs/kokkos\.md describes") as error:
        check_present("OpenMP")
    assert "jetpy doctor" not in str(error.value)
