"""Wrong command lines: the message, the exit code, and no new file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jetpy.engines.cpu.engine import CpuBackend
from tests.cli.conftest import ENGINE, Run

FILES = {
    "rubbish.graph": os.urandom(4000),
    "rubbish.npz": os.urandom(4000),
    "rubbish.mtx": os.urandom(4000),
    "rubbish.graph.xz": os.urandom(4000),
    "text.graph": b"hello\n",
    "short.graph": b"3 2\n2\n",
    "loop.graph": b"1 1\n1 1\n",
    "mesh.vtk": b"# vtk DataFile Version 3.0\n",
    "mesh.foo": b"2 1\n2\n1\n",
    "short.part": b"0\n1\n",
    "words.part": b"zero\n" * 1200,
    "negative.part": b"-1\n" * 1200,
}

GRAPHS = {
    "nothing.graph": (2, "'nothing.graph' does not exist"),
    ".": (2, "'.' is a directory without indptr.npy and indices.npy"),
    "mesh.foo": (1, "'.foo' is not a graph format"),
    "mesh.vtk": (1, "for a mesh, use jetpy mesh"),
    "rubbish.graph": (1, "rubbish.graph: "),
    "rubbish.npz": (1, "rubbish.npz: "),
    "rubbish.mtx": (1, "rubbish.mtx: "),
    "rubbish.graph.xz": (1, "rubbish.graph.xz: damaged or cut short"),
    "text.graph": (1, "text.graph: line 1"),
    "short.graph": (1, "short.graph: "),
    "loop.graph": (1, "loop.graph: "),
}

OPTIONS = {
    "": (2, "-k is missing; give the number of parts, or --max-weights without it"),
    "-k 0": (2, "k is 0; k must be in 1.."),
    "-k -3": (2, "k is -3"),
    "-k 99999999": (2, "k is 99999999"),
    "-k four": (2, "'four' is not a valid integer"),
    "-k 2.5": (2, "'2.5' is not a valid integer"),
    "-k 2 --imbalance -1": (2, "imbalance is -1.0"),
    "-k 2 --imbalance nan": (2, "imbalance is nan"),
    "-k 2 --imbalance inf": (2, "imbalance is inf"),
    "-k 2 --imbalance 3": (2, "imbalance is 3.0 (300 %); it must be below 1"),
    "-k 2 --imbalance 1 -o out.part": (2, "unless large_imbalance=True (--large-imbalance)"),
    "-k 2 --imbalance 3%": (2, "'3%' is neither a number"),
    "-k 2 --imbalance 0.1,0.2": (2, "imbalance has 2 numbers; give one number"),
    "-k 2 --imbalance 0.1,-1": (2, "imbalance is -1.0"),
    "-k 2 --imbalance 0.1,0.2 --session s.npz": (
        2,
        "cannot be combined with several imbalances",
    ),
    "-k 2 --seed -1": (2, "seed is -1"),
    "-k 2 --seed 2147483648": (2, "seed is 2147483648"),
    "-k 2 --preset slow": (2, "'slow' is not one of 'default', 'fast', 'ultra', 'max', 'jet'"),
    "-k 2 --generations 0": (2, "generations is 0; it must be an integer in 1.."),
    "-k 2 --generations 1.5": (2, "'1.5' is not a valid integer"),
    "-k 2 --preset max --time-limit 0": (2, "time_limit is 0.0; it must be a positive number"),
    "-k 2 --time-limit -1": (2, "time_limit is -1.0"),
    "-k 2 --time-limit nan": (2, "time_limit is nan"),
    "-k 2 --time-limit 10s": (2, "'10s' is not a valid float"),
    "-k 2 --coarsening pairs": (2, "'pairs' is not one of 'two-hop', 'union-find', 'constrained'"),
    "-k 2 --refinement fm": (2, "'fm' is not one of 'jet', 'independent-set'"),
    "-k 2 --backend gpu": (2, "'gpu' is not one of 'auto', 'cpu', 'cuda'"),
    "-k 2 --backend cpu --device 0": (
        2,
        "device is given, but cpu runs on CPUs; leave device out, or use cuda or kokkos-cuda",
    ),
    "-k 2 --backend kokkos-openmp --device 0": (2, "kokkos-openmp runs on CPUs"),
    "-k 2 --backend cuda --device -1": (2, "device is -1; device must be at least 0"),
    "-k 2 --device one": (2, "'one' is not a valid integer"),
    "-k 2 --backend cpu --threads 0": (2, "threads is 0"),
    "-k 2 --threads two": (2, "'two' is not a valid integer"),
    "-k 2 --colour": (2, "No such option"),
    "-k 2 -o nowhere/out.part": (1, "nowhere/out.part: cannot be written: No such file"),
    "-k 2 -o .": (1, ".: cannot be written: Is a directory"),
    "-k 2 -o mesh.graph/out.part": (1, "mesh.graph/out.part: cannot be written: Not a directory"),
    "-k 2 -o out.mtx": (2, "out.mtx: jetpy does not write partitions as .mtx; use .npy, .npz"),
    "-k 2 -o out.graph.gz": (2, "or another name, for example mesh.part, for text"),
    "-k 2 -o -": (2, "'-' (standard output) is allowed for --json only"),
    "-k 2 --profile -": (2, "'-' (standard output) is allowed for --json only"),
    "-k 2 --profile nowhere/trace.json": (1, "nowhere/trace.json: cannot be written"),
    "-k 2 --profile mesh.graph": (2, "mesh.graph is given twice"),
    "-k 2 --profile x --json x": (2, "x is given twice"),
    "-k 2 -o x --profile x": (2, "x is given twice"),
    "-k 2 -o ./mesh.graph": (2, "mesh.graph is given twice"),
    "-k 2 -o out --json out": (2, "out is given twice"),
    "-k 2 --json nowhere/out.json": (1, "nowhere/out.json: cannot be written"),
}

OTHERS = {
    "": (2, "Usage: jetpy"),
    "part mesh.graph": (2, "No such command 'part'"),
    "partiton mesh.graph": (2, "No such command 'partiton'. Did you mean 'partition'?"),
    "partition mesh.graph -k 2 --quite": (2, "Did you mean '--quiet'?"),
    "generate delauney 9 -o x.graph": (2, "Did you mean 'delaunay'?"),
    "--foo": (2, "No such option '--foo'; see jetpy --help"),
    "evaluate mesh.graph": (2, "Missing argument 'PARTS'"),
    "evaluate mesh.foo mesh.part": (1, "mesh.foo: '.foo' is not a graph format"),
    "mesh mesh.graph -k 2": (
        1,
        "mesh.graph: the suffix is that of a graph, not of a mesh; use jetpy partition",
    ),
    "mesh mesh.graph -k 2 -o x.foo": (1, "x.foo: meshio does not write files with this"),
    "evaluate mesh.graph nothing.part": (2, "'nothing.part' does not exist"),
    "evaluate mesh.graph short.part": (
        1,
        "short.part: the file has 2 part ids, but the graph has 1200",
    ),
    "evaluate mesh.graph words.part": (1, "words.part: line 1"),
    "evaluate mesh.graph negative.part": (1, "negative.part: line 1: part -1 is negative"),
    "evaluate mesh.graph mesh.part -k 3": (1, "vertex 900 is in part 3"),
    "evaluate mesh.graph mesh.part -k 0": (2, "k must be at least 1"),
    "evaluate mesh.graph mesh.part --json mesh.part": (2, "mesh.part is given twice"),
    "evaluate mesh.graph mesh.part --cut-matrix m.txt": (
        2,
        "m.txt: the suffix of a cut matrix must be one of",
    ),
    "evaluate mesh.graph mesh.part --cut-matrix -": (
        2,
        "'-' (standard output) is allowed for --json",
    ),
    "evaluate mesh.graph mesh.part --cut-matrix no/m.csv": (1, "no/m.csv: cannot be written"),
    "evaluate mesh.graph mesh.part --cut-matrix m.csv --json m.csv": (2, "m.csv is given twice"),
    "generate": (2, "Usage: jetpy generate"),
    "generate torus 3 -o x.graph": (2, "No such command 'torus'"),
    "generate grid 3 -o x.graph": (2, "Missing argument 'COLS'"),
    "generate grid 3 3": (2, "Missing option '-o'"),
    "generate grid 0 3 -o x.graph": (2, "each side is 0; it must be at least 1"),
    "generate grid 3 3 -o x.foo": (2, "x.foo: the suffix must be one of .graph, "),
    "generate grid 3 3 -o nowhere/x.graph": (1, "nowhere/x.graph: cannot be written"),
    "generate delaunay ten -o x.graph": (2, "'ten' is not a valid integer"),
    "compile --backend cpu --device 1": (2, "cpu runs on CPUs"),
    "compile --arch sm_90": (2, "--arch needs --backend cuda, and cannot be combined with"),
    "compile --backend cuda --device 0 --arch sm_90": (2, "cannot be combined with --device"),
    "demo --backend cpu --device 1": (2, "cpu runs on CPUs"),
    "compile --backend cpu -j 0": (2, "0 is not in the range x>=1"),
}

CASES = {
    **{f"partition {name} -k 2 -o out.part": case for name, case in GRAPHS.items()},
    **{f"partition mesh.graph {options}": case for options, case in OPTIONS.items()},
    **OTHERS,
}


@pytest.mark.parametrize("line", CASES)
def test_bad_command_line_is_refused(run: Run, folder: Path, line: str) -> None:
    code, words = CASES[line]
    for name, content in FILES.items():
        Path(name).write_bytes(content)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    arguments = line.split()
    if arguments[:1] == ["partition"] and "--backend" not in arguments:
        arguments += ["--backend", "cpu"]
    result = run(*arguments, code=code)
    assert words in " ".join(result.stderr.split())
    assert result.stdout == ""
    if not result.stderr.startswith("Usage: "):  # without a command, click prints the help
        assert result.stderr.startswith("jetpy: error: ")
        assert result.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root has all permissions")
def test_missing_permission_is_an_error(run: Run, folder: Path) -> None:
    locked = folder / "locked"
    locked.mkdir(mode=0o500)
    words = run("generate", "grid", 3, 3, "-o", locked / "x.graph", code=1).stderr
    assert "cannot be written: Permission denied" in words
    Path("mesh.part").chmod(0)
    words = run("evaluate", "mesh.graph", "mesh.part", code=2).stderr
    assert "'mesh.part' is not readable" in words


def test_out_of_memory_is_an_error_without_traceback(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GPU without free memory raises its own MemoryError when an array is allocated."""

    class OutOfMemoryError(MemoryError):
        pass

    def fail(self: CpuBackend, n: int, dtype: object = None) -> None:
        raise OutOfMemoryError(f"Out of memory allocating {4 * n} bytes")

    monkeypatch.setattr(CpuBackend, "empty", fail)
    before = sorted(folder.iterdir())
    words = run("partition", "mesh.graph", "-k", 2, "-o", "out.part", *ENGINE, code=1).stderr
    assert words.startswith("jetpy: error: not enough memory: Out of memory allocating")
    assert "Traceback" not in words
    assert sorted(folder.iterdir()) == before
