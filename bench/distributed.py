"""Parts and times of `jetpy.distributed`, compared with `jetpy.partition`.

The program partitions every graph (a file, a cube or an R-MAT graph) by `jetpy.partition`, and by
`jetpy.distributed` with each number of processes, and compares the parts.

Times are wall times of the call, of the slowest process. The column "ratio" is this time divided by
the time of one process with the largest number of threads. "MPI" is the share of the time that the
first process spends in MPI, including waiting. "calls" and "MB" are the number of its MPI calls and
the data that it sends.

With ``--backend cuda``, each process has a GPU, and first runs that are not timed warm up. The
columns "pool" and "other" are then the GiB of the memory pool of the process that needs most, and
the GiB that CUDA and NCCL take on its GPU. ``--alone`` leaves out `jetpy.partition`, for graphs
that are too large for it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from functools import partial
from itertools import groupby, product
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

import numpy as np

import jetpy
import jetpy.distributed
from bench.harness import Experiment, Option
from bench.instances import Instance
from bench.records import Record
from bench.tables import show
from jetpy.distributed import api
from jetpy.distributed.block import Block
from jetpy.distributed.communicator import MpiCommunicator
from jetpy.distributed.levels import PieceLevel
from jetpy.distributed.reading import read_block
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.study.arrays import checksum_of_parts

HEADERS = ["graph", "processes", "threads", "cut", "parts", "s", "ratio", "MPI", "calls", "MB"]
GPU_HEADERS = ["graph", "GPUs", "cut", "parts", "s", "ratio", "pool", "other", "one GPU's pool"]
ON_CPU = "cpu"
LEVEL_HEADERS = ["vertices", "edges", "ghosts", "calls", "MB", "iterations", "calls", "MB"]
"""The first two columns "calls" and "MB" belong to coarsening, the other two to refinement."""
TIMED_METHODS = (
    *("allreduce", "gather", "allgather", "alltoallv", "alltoall", "allgather_objects"),
    "totals",
)
Level = tuple[int, str]
"""Global number of vertices, and stage."""


@dataclass
class Traffic:
    """The number of MPI calls of a process, and the bytes that it has sent."""

    calls: int = 0
    sent_bytes: int = 0


class TimedCommunicator(MpiCommunicator):
    """A communicator that measures its time, and the traffic and ghosts of each level."""

    def __init__(self, comm: Any) -> None:
        self.seconds = 0.0
        self.total = Traffic()
        self.levels: dict[Level, Traffic] = defaultdict(Traffic)
        self.ghosts: dict[int, int] = {}
        super().__init__(comm)

    def count(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Count a call and the bytes of its send buffers, which follow the argument `backend`."""
        buffers = arguments[1:] if name == "allreduce" else arguments[1:2]
        sent_bytes = sum(a.nbytes for a in buffers if isinstance(a, np.ndarray))
        level, piece = level_of(sys._getframe(2))
        if piece is not None:
            self.ghosts[piece.global_n] = piece.n_with_ghosts - piece.n_owned
        for traffic in (self.total, self.levels[level]):
            traffic.calls += 1
            traffic.sent_bytes += sent_bytes

    def __getattribute__(self, name: str) -> Any:
        """Return an attribute. Methods in `TIMED_METHODS` add to `seconds` and to the traffic."""
        method = super().__getattribute__(name)
        if name not in TIMED_METHODS:
            return method

        def timed(*arguments: Any) -> Any:
            started = time.perf_counter()
            self.count(name, arguments)
            try:
                return method(*arguments)
            finally:
                self.seconds += time.perf_counter() - started

        return timed


def level_of(frame: FrameType | None) -> tuple[Level, Any]:
    """Return the level and stage whose code made a call, and its piece, from the call stack."""
    while frame is not None:
        for stage in (PieceLevel.contract, PieceLevel.refine):
            if frame.f_code is stage.__code__:
                piece = frame.f_locals["self"].graph
                return (piece.global_n, stage.__name__), piece
        frame = frame.f_back
    return (0, "rest"), None


def block_of(comm: Any, spec: str, *, weights: bool) -> Block:
    """Return the block of a graph that this process generates or reads. Collective."""
    kind, *sizes = spec.split(":")
    if kind == "cube":
        block = jetpy.distributed.cube(comm, *[int(sizes[0])] * 3)
    elif kind == "rmat":
        block = jetpy.distributed.rmat(comm, *map(int, sizes))
    else:
        block = read_block(api.communicator(comm), spec)
    return with_weights(comm, block) if weights else block


def whole_graph(spec: str, *, weights: bool) -> Graph:
    """Return, unchecked, the graph whose blocks `block_of` returns."""
    block = block_of(None, spec, weights=weights)
    kind = np.int64 if len(block.indices) > INT32_MAX else np.int32
    return Graph(
        block.indptr.astype(kind, copy=False),
        block.indices.astype(np.int32, copy=False),
        block.edge_weights.astype(np.int32, copy=False),
        block.vertex_weights.astype(np.int32, copy=False),
    )


@dataclass
class GpuMemory:
    """GiB of the memory pool of a process, and of all else on its GPU; 0 on CPUs."""

    pool: float = 0.0
    other: float = 0.0

    @classmethod
    def now(cls, backend: str) -> GpuMemory:
        """Return the current sizes."""
        if backend == ON_CPU:
            return cls()
        import cupy

        free, total = cupy.cuda.runtime.memGetInfo()
        pool = cupy.get_default_memory_pool().total_bytes()
        return cls(pool / 2**30, (total - free - pool) / 2**30)


def with_weights(comm: Any, block: Block) -> Block:
    """Return a block with weights that depend only on the global ids. Collective."""
    first = sum(
        api.communicator(comm).allgather_objects(block.n)[: 0 if comm is None else comm.rank]
    )
    global_ids = np.arange(first, first + block.n, dtype=np.int64)
    sources = np.repeat(global_ids, np.diff(block.indptr))
    low, high = np.minimum(sources, block.indices), np.maximum(sources, block.indices)
    edge_weights = ((low * 7919 + high * 104729) % 97 + 1).astype(np.int32)
    vertex_weights = (global_ids * 15485863 % 100 + 1).astype(np.int32)
    return replace(block, edge_weights=edge_weights, vertex_weights=vertex_weights)


def instances(options: argparse.Namespace) -> list[Instance]:
    """Return the graphs of the arguments, whose blocks the processes read or generate."""
    return [
        Instance(spec, "", "generated", 0, partial(whole_graph, spec, weights=False))
        for spec in options.graph
    ]


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield each kind of weights, number of parts and preset: first for one process without MPI."""
    sizes = [*product(options.processes, options.threads)]
    if not options.alone:
        sizes.insert(0, (0, max(options.threads)))
    for processes, threads in sizes:
        fixed = {"processes": processes, "threads": threads, "backend": options.backend}
        for weights, k, preset in kinds(options):
            name = f"{Path(instance.name).name}{' weighted' * weights}, k = {k}, {preset}"
            yield {"case": name, "weights": weights, "k": k, "preset": preset, **fixed}


def kinds(options: argparse.Namespace) -> Iterator[tuple[bool, int, str]]:
    """Yield whether a graph has weights, the number of parts and the preset."""
    yield from product((False, True) if options.weights else (False,), options.k, options.presets)


def measure(folder: str, cases: Sequence[Record], settings: Record) -> Iterator[Record]:
    """Solve the cases of a graph together with the other processes. Rank 0 yields the results."""
    world = None
    if cases[0]["processes"]:
        from mpi4py import MPI

        world = MPI.COMM_WORLD
    for weights, own in groupby(cases, lambda case: case["weights"]):
        make = whole_graph if world is None else partial(block_of, world)
        graph = make(cases[0]["graph"], weights=weights)
        for case in own:
            found = solved(world, graph, case, settings)
            if world is None or world.rank == 0:
                yield found


def solved(world: Any, graph: Any, case: Record, settings: Record) -> Record:
    """Return the results of a case. Collective."""
    on_cpu, comms = case["backend"] == ON_CPU, [world]

    def run() -> Any:
        if world is not None and on_cpu:
            comms.append(TimedCommunicator(world))
        return solve(comms[-1], graph, case, settings)

    result, own = timed_runs(settings, on_cpu, world, run)
    everyone = [own] if world is None else world.allgather(own)
    seconds = [max(times) for times in zip(*everyone, strict=True)]
    memory = GpuMemory.now(case["backend"])
    if world is not None:
        memory = GpuMemory(*max(world.allgather(astuple(memory))))
    return {
        "cut": result.cut,
        "feasible": result.feasible,
        "parts": digest(world, result, settings),
        "seconds": median(seconds),
        **asdict(memory),
        **traffic(result, comms[-1], seconds[-1]),
    }


def solve(comm: Any, graph: Any, case: Record, settings: Record) -> Any:
    """Partition a graph, or a block of one. Collective."""
    threads = case["threads"] if case["backend"] == ON_CPU else None
    how: Record = {"preset": case["preset"], "threads": threads, "backend": case["backend"]}
    if comm is None:
        return jetpy.partition(graph, case["k"], **how)
    return jetpy.distributed.partition(comm, graph, case["k"], small=settings["small"], **how)


def timed_runs(
    settings: Record, on_cpu: bool, world: Any, run: Callable[[], Any]
) -> tuple[Any, list[float]]:
    """Return the last result of a run and its seconds; on GPUs, first runs warm up. Collective."""
    seconds = []
    if not on_cpu:
        import cupy

        run()
        cupy.get_default_memory_pool().free_all_blocks()
        run()
    for _ in range(settings["repeat"]):
        if world is not None:
            world.barrier()
        started = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - started)
    return result, seconds


def digest(world: Any, result: Any, settings: Record) -> str:
    """Return the checksum of the parts of all processes. Collective."""
    if settings["alone"]:
        return "-"
    everywhere = [result.parts] if world is None else world.gather(result.parts)
    return checksum_of_parts(np.concatenate(everywhere)) if everywhere else "-"


def traffic(result: Any, comm: Any, seconds: float) -> Record:
    """Return what a `TimedCommunicator` has counted; nothing for any other."""
    if not isinstance(comm, TimedCommunicator):
        return {}
    return {
        "mpi_share": comm.seconds / seconds,
        "calls": comm.total.calls,
        "sent_bytes": comm.total.sent_bytes,
        "levels": level_rows(result, comm),
    }


def level_rows(result: Any, comm: TimedCommunicator) -> list[list[str]]:
    """Return a table row for each distributed level, with the traffic of this process."""
    rows = []
    for level in result.levels:
        if level.n in comm.ghosts:
            coarsen, refine = (comm.levels[level.n, stage] for stage in ("contract", "refine"))
            rows.append(
                [
                    f"{level.n:,}",
                    f"{level.m:,}",
                    f"{comm.ghosts[level.n]:,}",
                    f"{coarsen.calls:,}",
                    f"{coarsen.sent_bytes / 1e6:.2f}",
                    str(level.iterations),
                    f"{refine.calls:,}",
                    f"{refine.sent_bytes / 1e6:.2f}",
                ]
            )
    return rows


def compared(records: Sequence[Record]) -> list[Record]:
    """Return the records of several processes, compared with those of one, if there are any.

    Records of older versions are compared already.
    """
    single = {r["case"]: r for r in records if not r["processes"]}
    found = []
    for record in records:
        expected = single.get(record["case"])
        if expected is not None and record["processes"]:
            about = {"single_seconds": expected["seconds"], "single_pool": expected["pool"]}
            found.append({**record, **about, "equal": record["parts"] == expected["parts"]})
        elif record["processes"]:
            found.append({"equal": False, **record})
    return found


def summarise(every: Sequence[Record], options: argparse.Namespace) -> None:
    """Print the table of the graphs of the arguments, and those of their levels."""
    own = [
        record
        for record in every
        if record.get("backend", options.backend) == options.backend
        and (not options.graph or record.get("graph") in options.graph)
    ]
    records = compared(own)
    for record in records if options.levels else ():
        title = f"{record['case']}, {record['processes']} processes"
        show(title, LEVEL_HEADERS, record.get("levels", []), markdown=options.markdown)
    if options.backend == ON_CPU:
        title = "Several processes compared with one process and the largest number of threads"
        show(title, HEADERS, list(map(row_of, records)), markdown=options.markdown)
    else:
        title, rows = "Several GPUs compared with one", list(map(gpu_row_of, records))
        show(title, GPU_HEADERS, rows, markdown=options.markdown)
    equal = sum(record["equal"] for record in records)
    print(f"\n{equal} of {len(records)} results are equal to those of one process")


def gpu_row_of(record: Record) -> list[str]:
    """Return the cells of `GPU_HEADERS` of a record."""
    alone = "single_seconds" not in record
    return [
        record["case"],
        str(record["processes"]),
        f"{record['cut']:,}",
        "-" if alone else "equal" if record["equal"] else "DIFFERENT",
        f"{record['seconds']:.3f}",
        "-" if alone else f"{record['seconds'] / record['single_seconds']:.2f}",
        f"{record['pool']:.1f}",
        f"{record['other']:.1f}",
        "-" if alone else f"{record['single_pool']:.1f}",
    ]


def row_of(record: Record) -> list[str]:
    """Return the cells of `HEADERS` of a record."""
    return [
        record["case"],
        str(record["processes"]),
        str(record["threads"]),
        f"{record['cut']:,}" if "cut" in record else "-",
        "equal" if record["equal"] else "DIFFERENT",
        f"{record['seconds']:.3f}",
        f"{record['seconds'] / record['single_seconds']:.2f}",
        f"{record['mpi_share']:.2f}",
        f"{record['calls']:,}",
        f"{record['sent_bytes'] / 1e6:,.1f}",
    ]


EXPERIMENT = Experiment(
    name="distributed",
    doc=__doc__,
    options={
        "graph": Option((), "graph files, cube:SIDE or rmat:SCALE:EDGE_FACTOR", is_positional=True),
        "processes": Option((1, 2, 3, 4), "numbers of processes"),
        "threads": Option((1,), "numbers of threads of each process"),
        "k": (2, 8, 64),
        "presets": ("default", "fast"),
        "weights": Option(False, "also use random vertex and edge weights"),
        "backend": "cpu",
        "small": Option(
            None,
            "gather levels of at most N vertices and directed edges; with a small N, small graphs "
            "are also partitioned in pieces",
            type=int,
            metavar="N",
        ),
        "repeat": Option(1, "medians of R runs", metavar="R"),
        "alone": Option(False, "without jetpy.partition"),
        "levels": Option(False, "also print a table of the levels"),
    },
    cases=cases,
    measure=measure,
    show=summarise,
    key=("case", "processes", "threads", "backend"),
    together=["case", "weights", "k", "preset"],
    select=instances,
    has_graphs=False,
    needs_arrays=False,
)

if __name__ == "__main__":
    EXPERIMENT.main()
