"""jetpy's orderings and those of other programs, most of them libraries called through ctypes.

All of them get the same pattern in the integer type that they require. All but jetpy and mt-METIS,
whose program is `mtmetis`, run on one thread. METIS is the one in pymetis, and AMD the function
`amd_order` of SuiteSparse.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

import jetpy
from bench.child import Unavailable
from bench.libraries import load_libraries, pointer
from jetpy.choices import OrderingPreset

Permutation = npt.NDArray[Any]
Order = Callable[[int], tuple[Permutation, float]]
"""Called as `order(seed)`; returns the rows in the order of elimination, and the seconds."""


@dataclass(frozen=True, eq=False)
class Job:
    """The graph of a matrix, threads of jetpy and mt-METIS, jetpy's back end, and folders.

    The folders contain libraries and programs.
    """

    graph: jetpy.Graph
    threads: int
    backend: str
    libraries: tuple[Path, ...]


@dataclass(frozen=True)
class Tool:
    """A tool: its preparation, which is not timed, and the seeds of its runs."""

    prepare: Callable[[Job], Order]
    seeds: tuple[int, ...] = (0,)


def _jetpy(function: Callable[..., jetpy.Ordering], preset: OrderingPreset, job: Job) -> Order:
    def order(seed: int, matrix: jetpy.Graph = job.graph) -> tuple[Permutation, float]:
        found = function(matrix, preset=preset, seed=seed, backend=job.backend, threads=job.threads)
        return found.perm, found.seconds

    order(0, jetpy.generators.grid(150, 150))  # warm-up
    return order


def _minimum_degree(matrix: jetpy.Graph, **options: Any) -> jetpy.Ordering:
    return jetpy.minimum_degree(matrix)


def _metis(job: Job) -> Order:
    import pymetis

    adjacency = pymetis.CSRAdjacency(
        job.graph.indptr.astype(np.int64), job.graph.indices.astype(np.int64)
    )

    def order(seed: int) -> tuple[Permutation, float]:
        start = perf_counter()
        perm, _ = pymetis.nested_dissection(adjacency, options=pymetis.Options(seed=seed))
        return np.asarray(perm), perf_counter() - start

    return order


def _amd(job: Job) -> Order:
    library = load_libraries(job.libraries, "libamd.so.2")
    perm = np.empty(job.graph.n, np.int32)
    rows = pointer(job.graph.indptr), pointer(job.graph.indices)

    def order(seed: int) -> tuple[Permutation, float]:
        start = perf_counter()
        status = library.amd_order(job.graph.n, *rows, pointer(perm), None, None)
        seconds = perf_counter() - start
        assert status in (0, 1)  # 1: the rows are not sorted
        return perm, seconds

    return order


def _mt_metis(job: Job) -> Order:
    programs = [file for folder in job.libraries for file in folder.rglob("mtmetis")]
    program = next(iter(programs), shutil.which("mtmetis"))
    if program is None:
        raise Unavailable("there is no program mtmetis")
    folder = TemporaryDirectory()
    graph, columns = (Path(folder.name, name) for name in ("matrix.graph", "columns"))
    jetpy.write_graph(graph, job.graph)

    def order(seed: int, _folder: TemporaryDirectory[str] = folder) -> tuple[Permutation, float]:
        options = ("-p", "nd", "-t", f"-T{job.threads}", f"-s{seed}")
        command = [program, *options, graph, columns]
        answer = subprocess.run(command, capture_output=True, check=True, text=True)
        [seconds] = MT_METIS_TIME.findall(answer.stdout)
        return np.argsort(np.loadtxt(columns, np.int64)), float(seconds)

    return order


MT_METIS = "mt-metis"
MT_METIS_TIME = re.compile(r"Total Time: *([\d.]+)s")
"""The seconds without reading and writing files."""
BASELINE = "metis"
AMD = "amd"
TOOLS = {
    **{
        f"jetpy/{preset}": Tool(partial(_jetpy, jetpy.nested_dissection, preset))
        for preset in get_args(OrderingPreset)
    },
    "jetpy/order": Tool(partial(_jetpy, jetpy.order, "default")),
    "jetpy/minimum_degree": Tool(partial(_jetpy, _minimum_degree, "default")),
    BASELINE: Tool(_metis, (1, 2)),
    AMD: Tool(_amd),
    MT_METIS: Tool(_mt_metis, (1, 2)),
}
"""The tools by name. METIS treats the seeds 0 and 1 as the same."""
DEFAULT = [tool for tool in TOOLS if tool != MT_METIS]
"""The tools that are in packages."""
