"""Parts and times of `jetpy.distributed`, compared with `jetpy.partition`.

    python -m bench.distributed --graphs DIR cube:100 rmat:16:16 --processes 1 2 3 4 --threads 1 2

The program partitions every graph (a file, a cube or an R-MAT graph) by `jetpy.partition`, and by
`jetpy.distributed` with each number of processes, and compares the parts. It appends one record per
case and number of processes and threads to the result file.

Times are wall times of the call, of the slowest process. The column "ratio" is this time divided by
the time of one process with the largest number of threads. "MPI" is the share of the time that the
first process spends in MPI, including waiting. "calls" and "MB" are the number of its MPI calls and
the data that it sends.

With ``--backend cuda``, each process has a GPU, and a first run that is not timed warms up:

    python -m bench.distributed cube:400 rmat:20:16 --backend cuda --processes 2 4 -k 64
    python -m bench.distributed cube:1000 --backend cuda --processes 4 -k 64 --alone

The columns "pool" and "other" are then the GiB of the memory pool of the process that needs most,
and the GiB that CUDA and NCCL take on its GPU. ``--alone`` leaves out `jetpy.partition`, for graphs
that are too large for it.

With ``--ordering``, it orders the graphs by nested dissection instead, with each preset of
``--presets``, and compares the permutations with those of `jetpy.nested_dissection`:

    python -m bench.distributed cube:100 --ordering --presets fast --processes 1 2

The times of orderings do not include the gathering of the matrix.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any, TypeVar

import numpy as np

import jetpy
import jetpy.distributed
from bench.child import answers
from bench.records import Record, add_results_option, append_record
from bench.tables import show
from jetpy.distributed import api
from jetpy.distributed.block import Block
from jetpy.distributed.communicator import MpiCommunicator
from jetpy.distributed.levels import PieceLevel
from jetpy.distributed.reading import read_block
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.study.answers import answering
from jetpy.study.arrays import checksum_of_parts

HEADERS = ["graph", "processes", "threads", "cut", "parts", "s", "ratio", "MPI", "calls", "MB"]
GPU_HEADERS = ["graph", "GPUs", "cut", "parts", "s", "ratio", "pool", "other", "one GPU's pool"]
ON_CPU = "cpu"
FILE = "distributed.jsonl"
LEVEL_HEADERS = ["vertices", "edges", "ghosts", "calls", "MB", "iterations", "calls", "MB"]
"""The first two columns "calls" and "MB" belong to coarsening, the other two to refinement."""
TIMED_METHODS = (
    *("allreduce", "gather", "allgather", "alltoallv", "alltoall", "allgather_objects"),
    "totals",
)
T = TypeVar("T")
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


def threads_of(options: argparse.Namespace) -> int | None:
    """Return the CPU threads of a process; on a GPU, jetpy chooses."""
    return int(options.threads[0]) if options.backend == ON_CPU else None


def timed_runs(
    options: argparse.Namespace, wait: Callable[[], None], run: Callable[[], T]
) -> tuple[T, list[float]]:
    """Return the last result of a run and its wall seconds; on GPUs, a first run warms up."""
    seconds = []
    if options.backend != ON_CPU:
        import cupy

        run()
        cupy.get_default_memory_pool().free_all_blocks()
        run()
    for _ in range(options.repeat):
        wait()
        started = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - started)
    return result, seconds


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


def cases(options: argparse.Namespace) -> Iterator[tuple[str, bool, int, str]]:
    """Yield each graph, whether it is weighted, the number of parts and the preset.

    The number of parts is 0 for an ordering.
    """
    if options.ordering:
        yield from (
            (spec, False, 0, preset) for spec in options.graph for preset in options.presets
        )
        return
    for spec in options.graph:
        for weights in (False, True) if options.weights else (False,):
            for k in options.k:
                for preset in options.presets:
                    yield spec, weights, k, preset


def run_single_process(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Partition all cases by `jetpy.partition` and yield their results."""
    shared: tuple[Any, ...] = ()
    for spec, weights, k, preset in cases(options):
        if shared[:2] != (spec, weights):
            shared = spec, weights, whole_graph(spec, weights=weights)
        run = partial(
            jetpy.partition,
            *(shared[2], k),
            preset=preset,
            backend=options.backend,
            threads=threads_of(options),
        )
        result, seconds = timed_runs(options, lambda: None, run)
        parts = checksum_of_parts(result.parts)
        yield {
            **describe(spec, weights, k, preset, result, parts, median(seconds)),
            **asdict(GpuMemory.now(options.backend)),
        }


def run_distributed(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Partition all cases by `jetpy.distributed`. Rank 0 yields the results. Collective."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    shared: tuple[Any, ...] = ()
    for spec, weights, k, preset in cases(options):
        if shared[:2] != (spec, weights):
            shared = spec, weights, block_of(world, spec, weights=weights)
        comms: list[Any] = []

        def run(
            block: Block = shared[2], k: int = k, preset: Any = preset, comms: list[Any] = comms
        ) -> Any:
            comms.append(TimedCommunicator(world) if options.backend == ON_CPU else world)
            return jetpy.distributed.partition(
                comms[-1],
                block,
                k,
                preset=preset,
                backend=options.backend,
                threads=threads_of(options),
                small=options.small,
            )

        result, own = timed_runs(options, world.barrier, run)
        seconds = [max(times) for times in zip(*world.allgather(own), strict=True)]
        memory = max(world.allgather(astuple(GpuMemory.now(options.backend))))
        parts = "-"
        if not options.alone:
            everywhere = world.gather(result.parts)
            parts = checksum_of_parts(np.concatenate(everywhere)) if everywhere else "-"
        if world.rank == 0:
            yield {
                **describe(spec, weights, k, preset, result, parts, median(seconds)),
                **asdict(GpuMemory(*memory)),
                **traffic(result, comms[-1], seconds[-1]),
            }


def traffic(result: Any, comm: Any, seconds: float) -> dict[str, Any]:
    """Return what a `TimedCommunicator` has counted; nothing for any other."""
    if not isinstance(comm, TimedCommunicator):
        return {}
    return {
        "mpi_share": comm.seconds / seconds,
        "calls": comm.total.calls,
        "sent_bytes": comm.total.sent_bytes,
        "levels": level_rows(result, comm),
    }


def order_in_one_process(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Order all cases by `jetpy.nested_dissection` and yield the results."""
    for spec, _, _, preset in cases(options):
        block = block_of(None, spec, weights=False)
        results = [
            jetpy.nested_dissection(
                (block.indptr, block.indices), preset=preset, threads=options.threads[0]
            )
            for _ in range(options.repeat)
        ]
        seconds = median(result.seconds for result in results)
        yield describe_order(spec, preset, results[-1].perm, seconds)


def order_distributed(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Order all cases by `jetpy.distributed`. Rank 0 yields the results. Collective."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    for spec, _, _, preset in cases(options):
        block = block_of(world, spec, weights=False)
        seconds = []
        for _ in range(options.repeat):
            comm = TimedCommunicator(world)
            result = jetpy.distributed.nested_dissection(
                comm, block, preset=preset, threads=options.threads[0]
            )
            seconds.append(max(world.allgather(result.seconds)))
        if world.rank == 0:
            yield {
                **describe_order(spec, preset, result.perm, median(seconds)),
                "mpi_share": comm.seconds / seconds[-1],
                "calls": comm.total.calls,
                "sent_bytes": comm.total.sent_bytes,
            }


def describe_order(spec: str, preset: str, perm: Any, seconds: float) -> dict[str, Any]:
    """Return the name of a case and its results."""
    return {
        "case": f"{Path(spec).name}, ordering, {preset}",
        "parts": checksum_of_parts(perm),
        "seconds": seconds,
    }


RUNS = {
    (False, False): run_single_process,
    (False, True): run_distributed,
    (True, False): order_in_one_process,
    (True, True): order_distributed,
}
"""What a child runs, by whether it orders and whether MPI started it."""


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


def describe(
    spec: str, weights: bool, k: int, preset: str, result: Any, parts: str, seconds: float
) -> dict[str, Any]:
    """Return the name of a case and its results."""
    return {
        "case": f"{Path(spec).name}{' weighted' * weights}, k = {k}, {preset}",
        "cut": result.cut,
        "feasible": result.feasible,
        "parts": parts,
        "seconds": seconds,
    }


def launch(size: int, threads: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the results of `jetpy.distributed` on `size` processes.

    With `size` 0, return the results of `jetpy.partition`.
    """
    arguments = [*options.graph, "--child", size, "--threads", threads, "--repeat", options.repeat]
    if options.small is not None:
        arguments += ["--small", options.small]
    arguments += ["--backend", options.backend, "--presets", *options.presets]
    arguments += ["-k", *options.k, *["--weights"] * options.weights]
    arguments += ["--ordering"] * options.ordering + ["--alone"] * options.alone
    return list(answers("bench.distributed", *arguments, processes=size or None))


def main() -> None:
    """Measure all cases and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.distributed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("graph", nargs="*", help="graph files, cube:SIDE or rmat:SCALE:EDGE_FACTOR")
    parser.add_argument("--graphs", type=Path, metavar="DIR", help="also all graphs of a folder")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("-k", type=int, nargs="+", default=[2, 8, 64])
    parser.add_argument("--presets", nargs="+", default=["default", "fast"])
    parser.add_argument(
        "--weights", action="store_true", help="also use random vertex and edge weights"
    )
    parser.add_argument("--backend", default="cpu")
    parser.add_argument(
        "--small",
        type=int,
        metavar="N",
        help="gather levels of at most N vertices and directed edges; with a small N, small graphs "
        "are also partitioned in pieces (default also gathers all levels on which it runs flows)",
    )
    parser.add_argument("--repeat", type=int, default=1, metavar="R", help="medians of R runs")
    parser.add_argument("--ordering", action="store_true", help="order instead of partitioning")
    parser.add_argument("--alone", action="store_true", help="without jetpy.partition")
    parser.add_argument("--levels", action="store_true", help="also print a table of the levels")
    add_results_option(parser)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.graphs is not None:
        options.graph += sorted(map(str, options.graphs.glob("*.graph*")))
    if options.child is not None:
        answer = answering()
        for result in RUNS[options.ordering, options.child > 0](options):
            answer(result)
        return
    single: dict[str, Any] = {}
    if not options.alone:
        single = {row["case"]: row for row in launch(0, max(options.threads), options)}
    records = []
    for size in options.processes:
        for threads in options.threads:
            for row in launch(size, threads, options):
                records.append(record := compared(row, single, size, threads))
                append_record(options.results / FILE, record)
                if options.levels and not options.ordering:
                    show(f"{row['case']}, {size} processes", LEVEL_HEADERS, row["levels"])
    if options.backend == ON_CPU:
        title = "Several processes compared with one process and the largest number of threads"
        show(title, HEADERS, list(map(row_of, records)))
    else:
        show("Several GPUs compared with one", GPU_HEADERS, list(map(gpu_row_of, records)))
    equal = sum(record["equal"] for record in records)
    print(f"\n{equal} of {len(records)} results are equal to those of one process")


def compared(row: Record, single: Mapping[str, Record], size: int, threads: int) -> Record:
    """Return the record of a result, compared with that of one process, if there is one."""
    record = {**row, "processes": size, "threads": threads, "equal": False}
    expected = single.get(row["case"])
    if expected is not None:
        record["equal"] = row["parts"] == expected["parts"]
        record["single_seconds"] = expected["seconds"]
        record["single_pool"] = expected.get("pool", 0.0)
    return record


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


if __name__ == "__main__":
    main()
