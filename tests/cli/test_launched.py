"""Detection of MPI launchers, and messages of several processes, with a fake MPI."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import jetpy.distributed
from jetpy.cli import launched
from jetpy.cli.launched import are_several, launcher_started_many, rank_from_environment
from jetpy.cli.processes import MENDED, REPAIR, _naming
from jetpy.distributed import mpi
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.writing import check_target
from jetpy.errors import BackendError, FileFormatError, GraphError, JetpyError, OptionError
from tests.cli.conftest import Run
from tests.distributed.threads import run_on_threads


class Launcher:
    """The environment of a launcher, and a fake MPI."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        for name in (*launched.RANKS, *launched.SIZES, *launched.TASKS):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(launched, "_library", lambda: "an MPI")

    def reports(self, size: int | None, **environment: str) -> None:
        """Set the environment and the size that MPI reports; None if mpi4py is missing."""

        def world() -> SimpleNamespace:
            if size is None:
                raise BackendError("several processes need mpi4py")
            return SimpleNamespace(Get_size=lambda: size, Get_rank=lambda: 0)

        self._patch.setattr(mpi, "world", world)
        for name, value in environment.items():
            self._patch.setenv(name, value)


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch) -> Launcher:
    return Launcher(monkeypatch)


HYDRA = {"PMI_RANK": "0", "PMI_SIZE": "4"}
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "1"}
SRUN = {"SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2"}


@pytest.mark.parametrize(
    ("environment", "size"),
    [
        (HYDRA, 4),
        (OPEN_MPI, 2),
        ({"PMIX_RANK": "0", **SRUN}, 2),
        ({"PMIX_RANK": "1", **SRUN}, 2),  # a rank, not a size
        ({"PMIX_RANK": "1"}, 2),
        ({"PMIX_RANK": "0"}, 2),
    ],
)
def test_launched_processes_are_detected(
    launcher: Launcher, environment: dict[str, str], size: int
) -> None:
    launcher.reports(size, **environment)
    assert are_several()


@pytest.mark.parametrize("size", [1, None])
@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"PMI_RANK": "0", "PMI_SIZE": "1"},
        {"PMI_RANK": "0", "PMI_SIZE": "1", "SLURM_NTASKS": "8"},  # mpiexec -n 1 within a job
        {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1", "PMIX_RANK": "0"},
        {"PMIX_RANK": "0", "SLURM_NTASKS": "1", "SLURM_STEP_NUM_TASKS": "1"},
        {"PMIX_RANK": "0", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "1"},
        {"PMIX_RANK": "0"},
        SRUN,  # srun --mpi=none, or a shell within a job
    ],
)
def test_single_process_is_detected(
    launcher: Launcher, environment: dict[str, str], size: int | None
) -> None:
    launcher.reports(size, **environment)
    assert not are_several()
    assert not launcher_started_many()


@pytest.mark.parametrize(
    "environment", [HYDRA, OPEN_MPI, {"PMIX_RANK": "1"}, {"PMIX_RANK": "0", **SRUN}]
)
def test_launcher_and_mpi_that_disagree_are_an_error(
    launcher: Launcher, environment: dict[str, str]
) -> None:
    launcher.reports(None, **environment)
    with pytest.raises(BackendError, match="need mpi4py"):
        are_several()
    launcher.reports(1, **environment)
    with pytest.raises(BackendError, match=r"different MPI libraries. mpi4py uses an MPI:"):
        are_several()


def test_mpi_library_is_named() -> None:
    pytest.importorskip("mpi4py")
    assert "MPI" in launched._library()


def test_rank_is_read_from_the_environment(
    launcher: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rank_from_environment() is None
    monkeypatch.setenv("PMIX_RANK", "7")
    assert rank_from_environment() == 7
    monkeypatch.setenv("PMIX_RANK", "nonsense")
    assert rank_from_environment() is None


def test_serial_command_warns_in_several_processes(run: Run, launcher: Launcher) -> None:
    words = (
        "jetpy: warning: jetpy evaluate runs in one process; here each process does all the work\n"
    )
    assert words not in run("evaluate", "mesh.graph", "mesh.part").stderr
    launcher.reports(4, **HYDRA)
    assert run("evaluate", "mesh.graph", "mesh.part").stderr == words
    assert "one process" not in run("compile", "--backend", "cpu").stderr
    launcher.reports(4, PMI_RANK="1")
    assert run("evaluate", "mesh.graph", "mesh.part").stderr == ""  # only rank 0 warns


BROKEN = {
    "a self-loop": ([0, 1], [0]),
    "is listed more than once": ([0, 2, 4], [1, 1, 0, 0]),
    "is not symmetric": ([0, 1, 1], [1]),
}


@pytest.mark.parametrize("what", MENDED)
def test_error_of_several_processes_names_the_file_and_repair(what: str) -> None:
    def work(comm: Communicator) -> None:
        indptr, indices = ([0], []) if comm.rank else BROKEN[what]
        block = np.array(indptr), np.array(indices, np.int64)
        with _naming(Path("x.npz")):
            jetpy.distributed.partition(comm, block, 2, backend="cpu", threads=1)

    with pytest.raises(GraphError) as error:
        run_on_threads(2, work)
    assert str(error.value).startswith("x.npz: ")
    assert what in str(error.value)
    assert str(error.value).endswith(REPAIR)


def test_output_must_be_a_regular_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for there in (pipe, tmp_path):
        with pytest.raises(JetpyError, match="is not a regular file; a run"):
            check_target(there)
    for fine in (tmp_path / "new.part", tmp_path / "new.npy"):
        check_target(fine)
    with pytest.raises(JetpyError, match=r"the folder .* does not exist"):
        check_target(tmp_path / "nowhere" / "new.part")
    with pytest.raises(FileFormatError, match=r"several processes writes \.npy"):
        check_target(tmp_path / "new.csv")


def test_only_file_errors_name_the_file() -> None:
    for error in (JetpyError("no"), OptionError("no"), BackendError("no")):
        with pytest.raises(type(error)) as found, _naming(Path("x.npz")):
            raise error
        assert str(found.value) == ("x.npz: no" if type(error) is JetpyError else "no")
