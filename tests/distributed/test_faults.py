"""Faults of one of several processes: one error on all, or the end of all, and whole files."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

import jetpy
from jetpy import distributed
from jetpy.distributed.communicator import Communicator, SelfCommunicator
from jetpy.distributed.watching import this_process, watching
from tests.children import run_python
from tests.distributed.launching import launchers, start
from tests.distributed.threads import run_on_threads
from tests.distributed.wrong_calls import error_of, wrong_calls

MAX_SECONDS = 10
"""Maximum time from a fault to the end of all processes."""
PATIENCE = 100
FAILING = str(Path(__file__).with_name("failing.py"))
FULL_MEMORY = "jetpy: process 1 of 2 failed: Unable to allocate"
FULL_DISK = "process 1: cube.part: cannot be written: File too large"
OLD = "parts of an earlier run\n"
WATCHING = """
import subprocess, time
from jetpy.distributed.watching import Process, this_process, watching

child = subprocess.Popen(["sleep", "100"])
own = this_process()
with watching([own, Process(own.where, child.pid)], 0, lambda rank: print(rank, "has ended")):
    child.kill()
    time.sleep(100)
"""


@pytest.fixture(params=["MPICH", pytest.param("Open MPI", marks=pytest.mark.slow)])
def mpi(request: pytest.FixtureRequest) -> str:
    """Return the name of an MPI library."""
    pytest.importorskip("mpi4py")
    name: str = request.param
    if name not in launchers():
        pytest.skip(f"there is no mpiexec of {name}")
    return name


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("name", wrong_calls(SelfCommunicator()))
def test_wrong_call_of_one_process_is_one_error(
    name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(comm: Communicator) -> tuple[str, str]:
        call, message = wrong_calls(comm)[name]
        return error_of(call), message

    [(found, message)] = set(run_on_threads(size, run))
    assert found.startswith(message)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("size", [1, 3])
def test_empty_blocks_everywhere_are_no_fault(size: int) -> None:
    def run(comm: Communicator) -> int:
        return len(distributed.partition(comm, ([0], []), 4, backend="cpu", threads=1).parts)

    assert run_on_threads(size, run) == [0] * size


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_wrong_call_of_one_mpi_process_is_one_error(mpi: str, size: int, tmp_path: Path) -> None:
    with start(mpi, size, "-m", "tests.distributed.wrong_calls", cwd=tmp_path) as process:
        printed, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert printed.count("finished") == size


def fail(mpi: str, folder: Path, fault: str, stage: str, mode: str, *more: str) -> tuple[int, str]:
    """Return the exit code and the whole output of two processes; one fails."""
    jetpy.write_graph(folder / "cube.npz", jetpy.generators.cube(40, 40, 40))
    (folder / "cube.part").write_text(OLD)
    with start(mpi, 2, FAILING, fault, stage, mode, more=more, cwd=folder) as process:
        printed, errors = process.communicate(timeout=PATIENCE)
    assert time.time() - (folder / "failed").stat().st_mtime < MAX_SECONDS
    assert "finished" not in printed
    assert (folder / "cube.part").read_text() == OLD
    return process.returncode, printed + errors


def left_over(folder: Path) -> set[str]:
    """Return the names of files that a failed run should not leave."""
    return {file.name for file in folder.iterdir()} - {"cube.npz", "cube.part", "failed"}


@pytest.mark.parametrize("mode", ["call", pytest.param("command", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("fault", "stage", "message"),
    [
        ("raise", "coarsen", "jetpy: process 1 of 2 failed: broken on purpose"),
        pytest.param("memory", "refine", FULL_MEMORY, marks=pytest.mark.slow),
        pytest.param("memory", "write", "process 1: Unable", marks=pytest.mark.slow),
        pytest.param("full", "write", FULL_DISK, marks=pytest.mark.slow),
    ],
)
def test_failure_of_one_process_ends_all(
    mpi: str, mode: str, fault: str, stage: str, message: str, tmp_path: Path
) -> None:
    code, output = fail(mpi, tmp_path, fault, stage, mode)
    assert code == 1
    assert message in output
    assert not left_over(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["call", "command"])
@pytest.mark.parametrize("stage", ["start", "coarsen", "refine", "write"])
def test_killed_process_ends_all(mpi: str, mode: str, stage: str, tmp_path: Path) -> None:
    """The message is that of the launcher."""
    code, output = fail(mpi, tmp_path, "kill", stage, mode)
    assert code != 0
    assert "signal 9" in output


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["coarsen", "write"])
def test_terminated_process_ends_all(mpi: str, stage: str, tmp_path: Path) -> None:
    code, output = fail(mpi, tmp_path, "terminate", stage, "command")
    assert code != 0
    assert "jetpy: interrupted" in output
    assert not left_over(tmp_path)


@pytest.mark.slow
def test_killed_process_is_noticed_if_the_launcher_ignores_it(tmp_path: Path) -> None:
    if "Open MPI" not in launchers():
        pytest.skip("there is no mpiexec of Open MPI")
    _, output = fail("Open MPI", tmp_path, "kill", "coarsen", "call", "--continuous")
    assert "jetpy: process 1 of 2 has ended before the others" in output


def test_block_may_end_after_a_watched_process_has() -> None:
    ended: list[int] = []
    with subprocess.Popen(["sleep", "100"]) as child:
        own = this_process()
        with watching([own, own._replace(pid=child.pid)], 0, ended.append):
            child.kill()
            child.wait()
    assert not ended


def test_end_of_a_watched_process_ends_this_one() -> None:
    done = run_python(WATCHING, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "1 has ended\n"
