"""Who has started a process, and what several processes say and return; MPI is played."""

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
from tests.distributed.threads import side_by_side


class Launcher:
    """What a launcher tells a process, and what MPI says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        for name in (*launched.RANKS, *launched.SIZES, *launched.TASKS):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(launched, "_library", lambda: "an MPI")

    def tells(self, size: int | None, **environment: str) -> None:
        """Let MPI know of so many processes, or be missing."""

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
def test_several(launcher: Launcher, environment: dict[str, str], size: int) -> None:
    launcher.tells(size, **environment)
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
def test_alone(launcher: Launcher, environment: dict[str, str], size: int | None) -> None:
    launcher.tells(size, **environment)
    assert not are_several()
    assert not launcher_started_many()


@pytest.mark.parametrize(
    "environment", [HYDRA, OPEN_MPI, {"PMIX_RANK": "1"}, {"PMIX_RANK": "0", **SRUN}]
)
def test_several_of_which_mpi_does_not_know(
    launcher: Launcher, environment: dict[str, str]
) -> None:
    launcher.tells(None, **environment)
    with pytest.raises(BackendError, match="need mpi4py"):
        are_several()
    launcher.tells(1, **environment)
    with pytest.raises(BackendError, match=r"different MPI libraries. mpi4py uses an MPI:"):
        are_several()


def test_library() -> None:
    pytest.importorskip("mpi4py")
    assert "MPI" in launched._library()


def test_numbers_of_processes(launcher: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rank_from_environment() is None
    monkeypatch.setenv("PMIX_RANK", "7")
    assert rank_from_environment() == 7
    monkeypatch.setenv("PMIX_RANK", "nonsense")
    assert rank_from_environment() is None


def test_other_commands_say_that_they_are_for_one(run: Run, launcher: Launcher) -> None:
    words = (
        "jetpy: warning: jetpy evaluate runs in one process; here each process does all the work\n"
    )
    assert words not in run("evaluate", "mesh.graph", "mesh.part").stderr
    launcher.tells(4, **HYDRA)
    assert run("evaluate", "mesh.graph", "mesh.part").stderr == words
    assert "one process" not in run("compile", "--backend", "cpu").stderr
    launcher.tells(4, PMI_RANK="1")
    assert run("evaluate", "mesh.graph", "mesh.part").stderr == ""  # the first one says so


BROKEN = {
    "a self-loop": ([0, 1], [0]),
    "is listed more than once": ([0, 2, 4], [1, 1, 0, 0]),
    "is not symmetric": ([0, 1, 1], [1]),
}


@pytest.mark.parametrize("what", MENDED)
def test_what_mends_a_graph(what: str, compiled: None) -> None:
    def work(comm: Communicator) -> None:
        indptr, indices = ([0], []) if comm.rank else BROKEN[what]
        block = np.array(indptr), np.array(indices, np.int64)
        with _naming(Path("x.npz")):
            jetpy.distributed.partition(comm, block, 2, backend="cpu", threads=1)

    with pytest.raises(GraphError) as error:
        side_by_side(2, work)
    assert str(error.value).startswith("x.npz: ")
    assert what in str(error.value)
    assert str(error.value).endswith(REPAIR)


def test_only_files_are_replaced(tmp_path: Path) -> None:
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


def test_only_errors_about_files_name_them() -> None:
    for error in (JetpyError("no"), OptionError("no"), BackendError("no")):
        with pytest.raises(type(error)) as found, _naming(Path("x.npz")):
            raise error
        assert str(found.value) == ("x.npz: no" if type(error) is JetpyError else "no")
