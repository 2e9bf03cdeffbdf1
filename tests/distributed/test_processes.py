"""Real processes, which mpiexec starts: equal parts, and faults that end all of them."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import jetpy
from jetpy.backends import get_backend
from jetpy.errors import BackendError

pytest.importorskip("mpi4py")
LAUNCHER = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
pytestmark = [
    pytest.mark.usefixtures("compiled"),
    pytest.mark.skipif(LAUNCHER is None, reason="there is no mpiexec"),
]
MOST_SECONDS = 100
FAULTS = Path(__file__).with_name("faults.py")
ON_ONE_GPU = "tests.distributed.on_one_gpu"


def launched(size: int, *command: str) -> subprocess.CompletedProcess[str]:
    assert LAUNCHER is not None
    return subprocess.run(
        [LAUNCHER, "-n", str(size), sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
    )


def test_command_line(tmp_path: Path) -> None:
    graph = jetpy.generators.grid(60, 50)
    file, parts = tmp_path / "mesh.graph", tmp_path / "mesh.part"
    jetpy.write_graph(file, graph)
    command = ["-m", "jetpy", "partition", str(file), "-k", "6", "--backend", "numba"]
    done = launched(2, *command, "--threads", "1", "-o", str(parts), "--json", "-")
    assert done.returncode == 0, done.stderr
    told, _ = json.JSONDecoder().raw_decode(done.stdout)  # codes of a terminal may follow
    expected = jetpy.partition(graph, 6, backend="numba", threads=1)
    assert np.array_equal(jetpy.read_parts(parts), expected.parts)
    assert (told["cut"], told["processes"]) == (expected.cut, 2)


def test_wrong_options(tmp_path: Path) -> None:
    file = tmp_path / "mesh.graph"
    jetpy.write_graph(file, jetpy.generators.grid(6, 5))
    done = launched(2, "-m", "jetpy", "partition", str(file), "-k", "2", "--connected")
    assert "--connected is for one process" in done.stderr


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("block", r"process 1: edge (4000, 4000): a self-loop"),
        ("raise", "process 1 of 2 failed: broken on purpose"),
        ("memory", "process 1 of 2 failed: Unable to allocate"),
        ("kill", ""),
    ],
)
def test_a_fault_ends_all(fault: str, message: str) -> None:
    started = time.perf_counter()
    done = launched(2, str(FAULTS), fault)
    assert done.returncode != 0
    assert message in done.stderr
    assert "finished" not in done.stdout
    assert time.perf_counter() - started < MOST_SECONDS / 2


@pytest.mark.parametrize("size", [2, 3])
def test_nccl(size: int) -> None:
    """Processes talk from GPU to GPU; all have the same one here, as there may be no other."""
    try:
        get_backend("cuda")
    except BackendError as error:
        pytest.skip(f"cuda: {error}")
    if not importlib.import_module("cupy.cuda.nccl").available:
        pytest.skip("CuPy finds no NCCL")
    done = launched(size, "-m", "mpi4py", "-m", ON_ONE_GPU)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == ["equal"] * 6
