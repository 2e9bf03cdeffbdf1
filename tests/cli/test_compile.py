"""`jetpy compile`, run as a program with an empty cache and the kernels of two modules."""

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
from jetpy.engines.cuda.nvrtc import load
from jetpy.errors import BackendError
from jetpy.kernel_language.reading import read_workunits, workunit_names
from jetpy.workloads.multilevel import projection
from jetpy.workloads.refinement import active
from tests.cli.conftest import Run
from tests.modules import modules

PROGRAM = """
import sys
from jetpy import workloads
from jetpy.engines.cpu import ahead
from jetpy.cli.main import main
workloads.MODULES[:] = [m for m in workloads.MODULES if m.__name__ in {modules!r}]
{more}
main(prog_name="jetpy")
"""
FAILING = 'ahead.FUNCTION = "tests.cli.failing_compiler:compile_modules"'
MODULES = [projection.__name__, active.__name__]
KERNELS = 2 * sum(len(read_workunits(module)) for module in (projection, active))
"""Number of kernels of both widths."""


def start(more: str = "") -> subprocess.Popen[str]:
    code = PROGRAM.format(modules=MODULES, more=more)
    return subprocess.Popen(
        [sys.executable, "-c", code, "compile", "--backend", "cpu"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def kernels_of(summary: str) -> str:
    found = re.search(r"^kernels +(.*)$", summary, re.MULTILINE)
    assert found is not None, summary
    return found[1]


@pytest.mark.slow
def test_interrupted_compilation_resumes(empty_cache: Path) -> None:
    process = start()
    while not list(empty_cache.rglob("*_narrow-*.o")):
        assert process.poll() is None
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGINT)
    summary, words = process.communicate(timeout=60)
    assert (process.returncode, words) == (130, "jetpy: interrupted\n")
    assert re.fullmatch(rf"{KERNELS}: (\d+ compiled, )?\d+ left", kernels_of(summary))

    process = start()
    summary, words = process.communicate(timeout=120)
    assert (process.returncode, words) == (0, "")
    assert re.fullmatch(rf"{KERNELS}: \d+ compiled, \d+ found in the cache", kernels_of(summary))
    assert re.search(r"^slowest +\w+( and \d+ more)?, [0-9.]+ s$", summary, re.MULTILINE)
    assert re.search(r"^seconds +[0-9.]+$", summary, re.MULTILINE)
    assert summary.endswith(f"cache folder  {empty_cache}\n")


@pytest.mark.slow
def test_one_failure_does_not_stop_other_kernels(empty_cache: Path) -> None:
    process = start(FAILING)
    summary, words = process.communicate(timeout=120)
    failure = f"compiling workunit {', '.join(workunit_names(active))} failed"
    assert process.returncode == 1
    assert words == f"jetpy: error: {failure}:\nline 7: no such thing as a part\n"
    wide = len(workunit_names(active))
    assert kernels_of(summary) == f"{KERNELS}: {KERNELS - wide} compiled, {wide} FAILED"


def test_second_run_finds_all_kernels_in_the_cache(run: Run) -> None:
    run("compile", "--backend", "cpu")
    summary = run("compile", "--backend", "cpu").stdout
    assert kernels_of(summary) == "all found in the cache"
    assert "slowest" not in summary


@pytest.mark.slow
def test_kernels_compile_for_absent_gpus(
    run: Run, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        load()
    except BackendError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(workloads, "MODULES", workloads.MODULES[:3])
    words = ("compile", "--backend", "cuda", "--arch", "sm_90", "--arch", "sm_80")
    summary = run(*words, "-j", 2).stdout
    assert re.search(r"^back end +cuda, for sm_90, sm_80$", summary, re.MULTILINE)
    kernels = sum(len(read_workunits(module)) for module in modules())
    assert kernels_of(summary) == f"{4 * kernels}: {4 * kernels} compiled"
    next(empty_cache.rglob("*.cubin")).write_bytes(b"damaged")
    found = kernels_of(run(*words).stdout)
    assert re.fullmatch(rf"{4 * kernels}: \d+ compiled, \d+ found in the cache", found)
    assert kernels_of(run(*words).stdout) == "all found in the cache"
    words = run("compile", "--backend", "cuda", "--arch", "sm_1", code=1).stderr
    assert "does not support sm_1; choose one of" in words
    words = run("compile", "--backend", "cuda", "--arch", "hopper", code=2).stderr
    assert "hopper is not a GPU architecture; give one like sm_90" in words
