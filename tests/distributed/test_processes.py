"""Processes started by mpiexec: equal parts, and errors that end all processes."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import jetpy
from jetpy.cli.json_summary import stats
from jetpy.device.backends import get_backend
from jetpy.errors import BackendError
from tests.children import MPIEXEC
from tests.meshes import gmsh_files

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec")
MAX_SECONDS = 100
NEVER_READ = """
import os, signal, time
import jetpy.distributed

def read(comm, path):
    open(f"ready-{comm.Get_rank()}", "w").close()
    time.sleep(600)

jetpy.distributed.read = read
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
"""
ON_ONE_GPU = "tests.distributed.on_one_gpu"
COMPILING = Path(__file__).with_name("compiling.py")
ORDERED = Path(__file__).with_name("ordered.py")


def launched(size: int, *command: str) -> subprocess.CompletedProcess[str]:
    assert MPIEXEC is not None
    return subprocess.run(
        [MPIEXEC, "-n", str(size), sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=MAX_SECONDS,
        env={**os.environ, "TERM": "dumb"},  # Open MPI gives process 0 a terminal
    )


def test_command_line_equals_one_process(tmp_path: Path) -> None:
    graph = jetpy.generators.grid(60, 50)
    file, parts = tmp_path / "mesh.graph", tmp_path / "mesh.part"
    jetpy.write_graph(file, graph)
    command = ["-m", "jetpy", "partition", str(file), "-k", "6", "--backend", "cpu"]
    done = launched(2, *command, "--threads", "1", "-o", str(parts), "--json", "-")
    assert done.returncode == 0, done.stderr
    report, _ = json.JSONDecoder().raw_decode(done.stdout)  # escape codes may follow
    expected = jetpy.partition(graph, 6, backend="cpu", threads=1)
    assert np.array_equal(jetpy.read_parts(parts), expected.parts)
    assert (report["cut"], report["processes"], report["transport"]) == (expected.cut, 2, "mpi")
    assert report["graph"] == "mesh"
    assert report["seconds"]["read"] > 0
    alone = stats(expected, 0.0)
    same = "n", "m", "k", "seed", "preset", "limit", "limits", "feasible", "part_weights"
    assert {name: report[name] for name in same} == {name: alone[name] for name in same}
    assert report["levels"][0].keys() == alone["levels"][0].keys()


@pytest.mark.parametrize(
    "options", [{"connected": True}, {"objective": "volume"}, {"within": np.arange(300) // 150}]
)
def test_options_of_the_whole_graph_equal_one_process(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    """The graph has several components, and the file has vertex sizes."""
    grid = jetpy.generators.grid(30, 10)
    sources, heads = grid.sources(0, grid.n), grid.indices
    kept = sources // 60 == heads // 60
    graph = jetpy.as_graph(
        sp.csr_array((np.ones(kept.sum()), (sources[kept], heads[kept])), (300, 300)),
        vertex_sizes=np.arange(300) % 4,
    )
    file, parts, within = (tmp_path / name for name in ("a.graph", "a.part", "within.npy"))
    jetpy.write_graph(file, graph)
    np.save(within, options.get("within", 0))
    more = {
        "connected": ["--connected"],
        "objective": ["--objective", "volume"],
        "within": ["--within", str(within)],
    }[next(iter(options))]
    command = ["-m", "jetpy", "partition", str(file), "-k", "2", "--backend", "cpu"]
    done = launched(3, *command, "--threads", "1", *more, "-o", str(parts), "--json", "-")
    assert done.returncode == 0, done.stderr
    report, _ = json.JSONDecoder().raw_decode(done.stdout)
    expected = jetpy.partition(graph, 2, backend="cpu", threads=1, **options)
    assert np.array_equal(jetpy.read_parts(parts), expected.parts)
    alone = stats(expected, 0.0)
    same = "k", "cut", "limits", "part_weights", "disconnected"
    assert {name: report[name] for name in same} == {name: alone[name] for name in same}
    assert ("communication_volume" in report) == ("objective" in options)
    assert ("parts are not connected" in done.stderr) == bool(expected.disconnected)


@pytest.mark.parametrize("more", [[], pytest.param(["--connected"], marks=pytest.mark.slow)])
def test_parts_of_a_mesh_equal_those_of_one_process(tmp_path: Path, more: list[str]) -> None:
    pytest.importorskip("meshio")
    (tmp_path / "in.msh").write_text(gmsh_files.PLAIN)
    (tmp_path / "work").write_text("0\n0\n3\n1\n1\n1\n")
    options = "--common-nodes", "1", "--cell-weights", str(tmp_path / "work"), "--threads", "1"
    command = ["-m", "jetpy", "mesh", str(tmp_path / "in.msh"), "-k", "2", "--backend", "cpu"]
    for size, name in ((1, "one.part"), (2, "two.part"), (2, "two.npy")):
        done = launched(size, *command, *options, *more, "-o", str(tmp_path / name))
        assert done.returncode == 0, done.stderr
    parts = [jetpy.read_parts(path).tolist() for path in sorted(tmp_path.glob("*.[np]*"))]
    assert parts[0] == parts[1] == parts[2]
    assert len(set(parts[0][2:])) == 2
    assert [parts[0][0], parts[0][1]] == [parts[0][2], parts[0][5]]  # the lines at the ends


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("-o", "out.vtu"), 1, "out.vtu: a run with several processes does not write meshes, only"),
        (
            ("--cell-weights", "load"),
            2,
            "--cell-weights 'load' is not a file; cell data need a run",
        ),
        (("--ghosts",), 2, "--ghosts needs a run with one process"),
    ],
)
def test_options_of_meshes_for_one_process_are_refused(
    tmp_path: Path, options: tuple[str, ...], code: int, message: str
) -> None:
    pytest.importorskip("meshio")
    (tmp_path / "in.msh").write_text(gmsh_files.PLAIN)
    done = launched(2, "-m", "jetpy", "mesh", str(tmp_path / "in.msh"), "-k", "2", *options)
    assert done.stderr.count(message) == 1, done.stderr
    assert done.returncode == code


@pytest.mark.slow
def test_output_must_be_a_regular_file_or_link(tmp_path: Path) -> None:
    file, pipe, link = (tmp_path / name for name in ("mesh.graph", "pipe", "link.part"))
    jetpy.write_graph(file, jetpy.generators.grid(6, 5))
    os.mkfifo(pipe)
    command = ["-m", "jetpy", "partition", str(file), "-k", "2", "--backend", "cpu", "--quiet"]
    done = launched(2, *command, "-o", str(pipe))
    assert f"{pipe} is not a regular file" in done.stderr
    assert (done.returncode, pipe.is_fifo()) == (1, True)
    link.symlink_to(tmp_path / "target.part")
    assert launched(2, *command, "-o", str(link)).returncode == 0
    assert link.is_symlink()
    assert len(jetpy.read_parts(tmp_path / "target.part")) == 30


@pytest.mark.slow
def test_bad_option_is_reported_once(tmp_path: Path) -> None:
    file = tmp_path / "mesh.graph"
    jetpy.write_graph(file, jetpy.generators.grid(6, 5))
    command = "-m", "jetpy", "partition", str(file), "--backend", "cpu"
    done = launched(2, *command, "-k", "2", "--repair")
    assert done.stderr.count("--repair needs a run with one process") == 1
    assert done.returncode == 2
    done = launched(2, *command, "-k", "0")
    assert done.stderr.count("k is 0; k must be in 1..") == 1
    assert done.returncode == 2


@pytest.mark.slow
def test_exit_codes_equal_those_of_one_process(tmp_path: Path) -> None:
    bad, loop, heavy = (tmp_path / f"{name}.graph" for name in ("bad", "loop", "heavy"))
    loop.write_text("3 2\n2 1\n1 3\n2\n")
    bad.write_text("three vertices\n")
    heavy.write_text("3 2 10\n9 2\n1 1 3\n1 2\n")
    command = "-m", "jetpy", "partition", "-k", "2", "--backend", "cpu", "--threads", "1"
    done = launched(2, *command, str(bad))
    assert done.stderr.startswith(f"jetpy: error: {bad}: process 0: line 1: the header is")
    assert done.returncode == 1
    done = launched(2, *command, str(loop))
    assert done.stderr.startswith(
        f"jetpy: error: {loop}: process 0: edge (0, 0) is a self-loop; a single"
    )
    assert done.returncode == 1
    done = launched(2, *command, str(heavy))
    assert done.stderr.count("no balanced partition was found: the heaviest part weighs 9") == 1
    assert done.returncode == 3
    assert "each with cpu, 1 thread\nprocesses    2, communicating through MPI\n" in done.stdout


def test_launcher_with_one_process_allows_serial_options(tmp_path: Path) -> None:
    file = tmp_path / "mesh.graph"
    jetpy.write_graph(file, jetpy.generators.grid(6, 5))
    done = launched(1, "-m", "jetpy", "partition", str(file), "-k", "2", "--repair", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_ends_all_processes(tmp_path: Path, number: signal.Signals, code: int) -> None:
    assert MPIEXEC is not None
    command = f"{NEVER_READ}from jetpy.cli.signals import main; main()", "partition", "x.npz"
    (tmp_path / "x.npz").touch()
    started = [MPIEXEC, "-n", "2", sys.executable, "-c", *command, "-k", "2"]
    with subprocess.Popen(
        started, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while len([*tmp_path.glob("ready-*")]) < 2:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(number)
        _, words = process.communicate(timeout=MAX_SECONDS)
    assert process.returncode == code
    assert {line for line in words.splitlines() if line} == {"jetpy: interrupted"}


@pytest.mark.slow
def test_processes_that_start_together_compile_each_unit_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache is empty; where a wheel has the kernels, none are compiled."""
    monkeypatch.setenv("JETPY_CACHE_DIR", str(tmp_path))
    done = launched(4, str(COMPILING))
    assert done.returncode == 0, done.stderr
    compiled = done.stdout.split()
    assert len(compiled) == len(set(compiled)) == len([*tmp_path.rglob("*.o")])


@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_orders_are_equal(size: int) -> None:
    done = launched(size, str(ORDERED))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(size)] * 2


@pytest.mark.parametrize("method", ["order", "nested-dissection", "minimum-degree"])
def test_the_command_line_orders_as_one_process(tmp_path: Path, method: str) -> None:
    """The matrix has a diagonal, and the files count rows from 1."""
    grid = jetpy.generators.grid(30, 20)
    matrix = sp.csr_array((np.full(len(grid.indices), -0.5), grid.indices, grid.indptr))
    scipy.io.mmwrite(tmp_path / "grid.mtx", matrix + sp.eye_array(600))
    groups, last = np.arange(600) // 2, np.arange(40, 50)
    start = np.random.default_rng(3).permutation(600)
    for name, values in (("start", start + 1), ("last", last + 1), ("groups", groups)):
        np.save(tmp_path / f"{name}.npy", values)
    files = {"--last": "last.npy", "--together": "groups.npy"}
    if method != "minimum-degree":
        files["--start"] = "start.npy"
    options = [word for name, file in files.items() for word in (name, str(tmp_path / file))]
    options += ["--method", method, "--base", "1", "--threads", "1", "--json", "-"]
    command = "-m", "jetpy", "order", str(tmp_path / "grid.mtx"), "-o", str(tmp_path / "perm.npy")
    done = launched(2, *command, *options)
    assert done.returncode == 0, done.stderr
    if method == "minimum-degree":
        expected = jetpy.minimum_degree(grid, last=last, together=groups)
    else:
        find = jetpy.order if method == "order" else jetpy.nested_dissection
        expected = find(grid, start=start, last=last, together=groups, threads=1)
    assert np.array_equal(np.load(tmp_path / "perm.npy"), expected.perm + 1)
    report, _ = json.JSONDecoder().raw_decode(done.stdout)
    own = report["method"], report["processes"], report["threads"], report["fill"]
    threads = 1 if method == "minimum-degree" else 2  # those of both processes
    assert own == (method, 2, threads, expected.fill)


def test_files_of_orderings_equal_those_of_one_process(tmp_path: Path) -> None:
    """A session is written, and updated for a matrix with one more row."""
    grid = jetpy.generators.grid(30, 20)
    heads = np.concatenate([grid.indices, [600, 0]])
    tails = np.concatenate([grid.sources(0, 600), [0, 600]])
    more = jetpy.as_graph(sp.csr_array((np.ones(len(heads)), (tails, heads)), (601, 601)))
    for name, graph in (("grid", grid), ("more", more)):
        jetpy.write_graph(tmp_path / f"{name}.npz", graph)
    session, perm, drawing = (str(tmp_path / name) for name in ("s.npz", "p.npy", "d.svg"))
    command = "-m", "jetpy", "order", "--threads", "1", "--json", "-"
    files = "--session", session, "--metis", "--plot", drawing
    done = launched(2, *command, str(tmp_path / "grid.npz"), *files)
    assert done.returncode == 0, done.stderr
    expected = jetpy.order(grid, threads=1)
    assert np.array_equal(jetpy.read_ordering(session).perm, expected.perm)
    report, _ = json.JSONDecoder().raw_decode(done.stdout)
    assert report["fill"] == expected.fill
    assert report["metis"]["fill"] > 0
    assert "<svg" in Path(drawing).read_text()
    done = launched(2, *command, str(tmp_path / "more.npz"), "--update", session, "-o", perm)
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.load(perm), expected.updated(more, threads=1).perm)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--update", "grid.npz", "--tries", "2"), 2, "--tries cannot be combined with --update"),
        (("--update", "grid.npz"), 1, "process 0: grid.npz: this is not an ordering: it has no"),
        (("--plot", "grid.gif"), 2, "process 0: grid.gif: a drawing must be .png, .svg or .pdf"),
        (("--keep-last-order",), 2, "--keep-last-order needs --last"),
        (("--tries", "0"), 2, "tries is 0; it must be an integer in 1..64"),
        (("-o", "perm.csv"), 2, "process 0: perm.csv: .csv is not a format of orderings"),
        (("-o", "grid.npz"), 2, "process 0: grid.npz: .npz is not a format of orderings"),
        (("-o", "none/perm.txt"), 1, "process 0: none/perm.txt: cannot be written"),
        (("--start", "start.txt"), 1, "process 0: start.txt: the file has 2 rows, but the matrix"),
    ],
)
def test_wrong_orders_are_refused_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    jetpy.write_graph("grid.npz", jetpy.generators.grid(6, 5))
    Path("start.txt").write_text("1\n0\n")
    done = launched(2, "-m", "jetpy", "order", "grid.npz", "--threads", "1", *options)
    assert done.stderr.count(message) == 1, done.stderr
    assert done.returncode == code


@pytest.mark.parametrize("size", [2, 3])
def test_parts_are_equal_through_nccl(size: int) -> None:
    """The processes share one GPU, because the machine may have no other."""
    try:
        get_backend("cuda")
    except BackendError as error:
        pytest.skip(f"cuda: {error}")
    if not importlib.import_module("cupy.cuda.nccl").available:
        pytest.skip("CuPy finds no NCCL")
    done = launched(size, "-m", "mpi4py", "-m", ON_ONE_GPU)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == ["equal"] * 13
