"""`jetpy compile`, run as a program with an empty cache and the kernels of one module."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jetpy import workloads
from jetpy.backends.cuda.kernels import modules
from jetpy.backends.cuda.nvrtc import load
from jetpy.errors import BackendError
from jetpy.kernel_language import read_workunits
from jetpy.workloads import projection
from tests.cli.conftest import Run

PROGRAM = """
import sys
from jetpy import workloads
from jetpy.backends.cpu import compiling
from jetpy.cli import main
workloads.MODULES[:] = [m for m in workloads.MODULES if m.__name__ == {module!r}]
compiling.COMPILE = sys.argv.pop(1)
main(prog_name="jetpy")
"""
COMPILER = """
from jetpy.backends.cpu import compiling
from jetpy.errors import BackendError

def compile_all(*entries):
    if any(workunit == "inject" for *_, workunit in entries):
        raise BackendError("line 7: no such thing as a part")
    compiling.compile_all(*entries)
"""
ENGINE = "jetpy.backends.cpu.compiling:compile_all"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JETPY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def start(jobs: int, compiler: str = ENGINE) -> subprocess.Popen[str]:
    code = PROGRAM.format(module=projection.__name__)
    options = ["compile", "--backend", "cpu", "-j", str(jobs)]
    return subprocess.Popen(
        [sys.executable, "-c", code, compiler, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def kernels_of(summary: str) -> str:
    found = re.search(r"^kernels +(.*)$", summary, re.MULTILINE)
    assert found is not None, summary
    return found[1]


def test_interrupted_and_resumed(cache: Path) -> None:
    process = start(1)
    while not list(cache.rglob("*.kernel")):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    summary, words = process.communicate(timeout=60)
    assert (process.returncode, words) == (130, "jetpy: interrupted\n")
    assert re.fullmatch(r"5: (1 compiled, )?[45] left", kernels_of(summary))

    process = start(2)
    summary, words = process.communicate(timeout=120)
    assert (process.returncode, words) == (0, "")
    assert re.fullmatch(r"5: [34] compiled, [12] found in the cache", kernels_of(summary))
    assert re.search(r"^slowest +\w+, [0-9.]+ s$", summary, re.MULTILINE)
    assert re.search(r"^seconds +[0-9.]+$", summary, re.MULTILINE)
    assert summary.endswith(f"cache folder  {cache}\n")


def test_one_failure_does_not_stop_the_others(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "compiler_of_test.py").write_text(COMPILER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    process = start(2, "compiler_of_test:compile_all")
    summary, words = process.communicate(timeout=120)
    assert process.returncode == 1
    assert words == (
        "jetpy: error: compiling workunit inject failed:\nline 7: no such thing as a part\n"
    )
    assert kernels_of(summary) == "5: 4 compiled, 1 FAILED"


def test_all_are_ready(run: Run) -> None:
    run("compile", "--backend", "cpu")
    summary = run("compile", "--backend", "cpu", "-j", 1).stdout
    assert kernels_of(summary) == "all found in the cache"
    assert "slowest" not in summary


def test_for_gpus_that_are_not_here(run: Run, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        load()
    except BackendError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(workloads, "MODULES", workloads.MODULES[:6])
    words = ("compile", "--backend", "cuda", "--arch", "sm_90", "--arch", "sm_80")
    summary = run(*words, "-j", 2).stdout
    assert re.search(r"^back end +cuda, for sm_90, sm_80$", summary, re.MULTILINE)
    kernels = sum(len(read_workunits(module)) for module in modules())
    assert kernels_of(summary) == f"{2 * kernels}: {2 * kernels} compiled"
    next(cache.rglob("*.cubin")).write_bytes(b"damaged")
    found = kernels_of(run(*words).stdout)
    assert re.fullmatch(rf"{2 * kernels}: \d+ compiled, \d+ found in the cache", found)
    assert kernels_of(run(*words).stdout) == "all found in the cache"
    words = run("compile", "--backend", "cuda", "--arch", "sm_1", code=1).stderr
    assert "does not compile for sm_1, but for" in words
    words = run("compile", "--backend", "cuda", "--arch", "hopper", code=2).stderr
    assert "hopper is no architecture of GPUs; sm_90 is one" in words
