"""Partitioning of a graph that is distributed over processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.device.backends import ON_GPU, lease, make_ready
from jetpy.distributed.alone import own_threads
from jetpy.distributed.arguments import CollectiveArguments, make_arguments
from jetpy.distributed.block import (
    Block,
    UploadedRows,
    as_block,
    check_rows,
    check_starts,
    check_symmetry,
    unit_weights,
    upload_rows,
    with_common_weights,
)
from jetpy.distributed.communicator import Communicator, MpiCommunicator, SelfCommunicator
from jetpy.distributed.faults import agreed, check_agreement, collective_call, run_collectively
from jetpy.distributed.multiconstraint import (
    Columns,
    checked_table,
    measure_columns,
    partition_columns,
    refine_columns,
)
from jetpy.distributed.nccl import between_gpus
from jetpy.distributed.on_root import PartLimits, RootTask
from jetpy.distributed.piece import Blocks
from jetpy.distributed.run import Found, measure_rows, partition_rows, refine_rows
from jetpy.distributed.terminals import Places
from jetpy.distributed.writing import write_parts
from jetpy.engines.base import Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.errors import BackendError, GraphError
from jetpy.evaluation.levels import LevelTable
from jetpy.evaluation.rows import Rows, balance_rows, engine_text, moved_row
from jetpy.graph.csr import INT32_MAX
from jetpy.multilevel.execution import execute
from jetpy.multilevel.outcome import cpu_threads
from jetpy.problem.limits import outside
from jetpy.problem.multiconstraint import MultiConstraint
from jetpy.problem.options import Effort, Options
from jetpy.problem.problem import Problem
from jetpy.progress import Progress, ProgressOption

STATS = (
    *("n", "m", "k", "preset", "seed", "backend", "gpu", "threads"),
    *("processes", "transport", "cut"),
    *("imbalance", "limit", "feasible", "empty_parts", "generations"),
)
"""Attributes of a result that `stats` copies unchanged."""
OPTIONAL = "moved_vertices", "moved_weight", "communication_volume"
"""Attributes that `stats` copies unless they are None."""
Limited = Problem | MultiConstraint | PartLimits
"""What has the ideal, maximum and minimum weights of parts."""
Work = Callable[[list[UploadedRows], Problem, Effort, Progress], Found]
WorkOnColumns = Callable[[Columns, Progress], tuple[Found, MultiConstraint]]


@dataclass(frozen=True, eq=False)
class DistributedPartition:
    """A partition of a distributed graph.

    All processes have the same attributes, except for `parts`, `first`, `threads`, `gpu`,
    `compiled` and the times.

    Attributes
    ----------
    parts : int32, shape (n_owned,)
        Parts of the vertices that this process owns.
    first : int
        Global id of the first owned vertex.
    n, m : int
        Numbers of vertices and undirected edges of the whole graph.
    k : int
    cut : int
        Total weight of undirected edges between parts.
    part_weights, limits, lower_limits : int64, shape (k,), or (k, c) for c weights of each vertex
        Weight, maximum weight and minimum weight of each part.
    imbalance : float
        Maximum over parts of weight / ideal - 1. The ideal is the share of the part in the total
        vertex weight, rounded up.
    empty_parts : int
        Number of parts without a vertex.
    moved_vertices, moved_weight : int or None
        Number and weight of all vertices that have left their homes; None without homes.
    communication_volume : int or None
        With the objective 'volume'; otherwise None.
    disconnected : mapping of int to str
        Reason for each part that is not connected although connected parts were requested.
    generations : int
        Number of partitions found or recombined.
    seed : int
    preset, backend : str
    threads, processes : int
        Number of CPU threads of this process (on a GPU, they run small levels on the host), and
        number of processes.
    gpu : int or None
        Index of the GPU of this process in CUDA's order; None on CPUs.
    transport : {"nccl", "mpi", "none"}
        Library that transfers arrays between processes.
    compiled : bool
        Whether this process compiled kernels; the cache then has them.
    seconds : mapping of str to float
        Wall seconds of this process, by stage; "total" is the time of the whole call, except for
        the compilation and loading of kernels.
    levels : LevelTable
        A tuple of `Level`, finest first, which prints as a table.
    """

    parts: npt.NDArray[np.int32]
    first: int
    n: int
    m: int
    k: int
    cut: int
    part_weights: npt.NDArray[np.int64]
    limits: npt.NDArray[np.int64]
    lower_limits: npt.NDArray[np.int64]
    imbalance: float
    empty_parts: int
    moved_vertices: int | None
    moved_weight: int | None
    communication_volume: int | None
    disconnected: Mapping[int, str]
    generations: int
    seed: int
    preset: str
    backend: str
    threads: int
    gpu: int | None
    processes: int
    transport: str
    compiled: bool
    seconds: Mapping[str, float]
    levels: LevelTable
    _comm: Communicator

    @property
    def feasible(self) -> bool:
        """Whether all parts are within their limits."""
        return not outside(self.part_weights, self.lower_limits, self.limits).any()

    @property
    def limit(self) -> int:
        """Maximum of `limits`."""
        return int(self.limits.max())

    def stats(self) -> dict[str, Any]:
        """Return a dictionary for JSON of all attributes except the parts and levels.

        It has the numbers of what has moved only if there are homes, and the communication volume
        only if that is the objective.
        """
        given = {name: getattr(self, name) for name in (*STATS, *OPTIONAL)}
        return {
            **{name: value for name, value in given.items() if value is not None or name in STATS},
            "disconnected": {str(p): why for p, why in self.disconnected.items()},
            "limits": self.limits.tolist(),
            "lower_limits": self.lower_limits.tolist(),
            "part_weights": self.part_weights.tolist(),
            "seconds": dict(self.seconds),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parts of all vertices to one file. Collective.

        A ``.npy`` file is an array of int32; any other file is text, one line per vertex.
        """
        write_parts(self._comm, path, self.parts, self.first, self.n)


def summary_rows(result: DistributedPartition, name: str) -> Rows:
    """Describe a run of several processes, in the format of `partition_rows`."""
    run = f"k = {result.k}, seed {result.seed}, preset {result.preset}"
    engine = engine_text(result.backend, result.threads, result.gpu)
    weights, limits, lower = result.part_weights, result.limits, result.lower_limits
    means = {
        "nccl": ", communicating through NCCL",
        "mpi": ", communicating through MPI",
        "none": "",
    }
    moved: Rows = []
    if result.moved_vertices is not None and result.moved_weight is not None:
        moved = [moved_row(result.moved_vertices, result.moved_weight, int(weights.sum()))]
    volume = result.communication_volume
    volumes = [] if volume is None else [("communication volume", f"{volume:,}")]
    return [
        ("graph", f"{name}: {result.n:,} vertices, {result.m:,} edges"),
        ("run", f"{run}, each with {engine}"),
        ("processes", f"{result.processes}{means[result.transport]}"),
        ("cut", f"{result.cut:,}"),
        *volumes,
        *balance_rows(weights, limits, lower, result.imbalance, "part"),
        ("empty parts", f"{result.empty_parts:,}"),
        *moved,
    ]


def partition(
    comm: Any,
    block: Any,
    k: int,
    *,
    vtxdist: npt.ArrayLike | None = None,
    imbalance: float | Sequence[float] | None = None,
    large_imbalance: bool = False,
    lower_imbalance: float | None = None,
    min_weights: npt.ArrayLike | None = None,
    max_weights: npt.ArrayLike | None = None,
    targets: npt.ArrayLike | None = None,
    fixed: npt.ArrayLike | None = None,
    home: npt.ArrayLike | None = None,
    migration: float = 1.0,
    together: npt.ArrayLike | None = None,
    within: npt.ArrayLike | None = None,
    objective: choices.Objective = "cut",
    connected: bool = False,
    seed: int = 0,
    preset: choices.Preset = "default",
    coarsening: choices.Coarsening | None = None,
    refinement: choices.Refinement | None = None,
    options: Options | Mapping[str, Any] | None = None,
    generations: int | None = None,
    time_limit: float | None = None,
    backend: choices.Backend = "auto",
    threads: int | None = None,
    device: int | None = None,
    small: int | None = None,
    progress: ProgressOption = None,
) -> DistributedPartition:
    """Partition a graph that is distributed over processes by blocks of vertices. Collective.

    All processes must pass the same options. The parts equal those of `jetpy.partition` for the
    whole graph, whatever the number of processes and their blocks.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm or None
        The processes; None for a single process.
    block : tuple of arrays
        (indptr, indices[, edge_weights[, vertex_weights[, vertex_sizes]]]) of the owned vertices,
        possibly none. Global ids are consecutive from one rank to the next. `indices` (up to 64
        bits) are global ids of neighbours; each edge is given at both ends. All processes must pass
        weights, or none. `vertex_weights` of shape (n_owned, c) are several weights, as for
        `jetpy.partition`. With `together` or lower limits, every process then gathers the whole
        graph.
    k, imbalance, large_imbalance, lower_imbalance, min_weights, max_weights, targets, seed, backend
        As for `jetpy.partition`; `k` is required.
    fixed, home, together, within : array of int, shape (n_owned,), optional
        Fixed parts, previous parts and groups of the owned vertices, -1 for none, and parts that no
        new part may cross, as for `jetpy.partition`. All processes must pass an array, possibly
        empty, or none. A group may have vertices of several processes.
    objective, connected
        As for `jetpy.partition`. With the objective 'volume', `connected` or `within`, process 0
        gathers the whole graph and finds the parts, so that more processes save neither time nor
        memory.
    migration : float
        As for `jetpy.partition`.
    preset, coarsening, refinement, options, generations, time_limit
        As for `jetpy.partition`; all processes end after the same generation. With the preset
        `gkway`, or another method, every process partitions the whole graph, so that more processes
        save neither time nor memory.
    vtxdist : array of int, shape (processes + 1,), optional
        First vertex of each process, as in ParMETIS; checked against the blocks.
    threads : int, optional
        CPU threads of this process; by default its share of the threads of the machine.
    device : int, optional
        Index of this process's GPU; by default the processes of a machine take its GPUs in turn.
    small : int, optional
        jetpy gathers levels of at most `small` vertices and directed edges together, and every
        process coarsens and refines them alone. By default, jetpy gathers a level if one process is
        predicted to finish it sooner than all together. It also gathers dense levels
        (`coarsen.dense`), and levels for which the preset has branches or flows. `small`
        does not change the parts.
    progress : bool or callable, optional
        As for `jetpy.partition`; only the argument of process 0 counts.

    Raises
    ------
    GraphError, OptionError, BackendError
        As for `jetpy.partition`, in all processes; the message names the lowest rank with an
        error. Any other exception in one process ends all processes (MPI_Abort), and so does the
        end of one.
    """
    arguments = partial(
        make_arguments,
        k,
        imbalance=imbalance,
        large_imbalance=large_imbalance,
        lower_imbalance=lower_imbalance,
        min_weights=min_weights,
        max_weights=max_weights,
        targets=targets,
        objective=objective,
        connected=connected,
        seed=seed,
        preset=preset,
        coarsening=coarsening,
        refinement=refinement,
        options=options,
        generations=generations,
        time_limit=time_limit,
        backend=backend,
        small=small,
    )

    places = Places(fixed, home, migration, together, within)

    def work(rows: list[UploadedRows], problem: Problem, effort: Effort, tell: Progress) -> Found:
        return partition_rows(rows, problem, tell, effort, small, places)

    def work_on_columns(columns: Columns, tell: Progress) -> tuple[Found, MultiConstraint]:
        return partition_columns(columns, places, tell)

    engine = threads, device, progress
    works, task = (work, work_on_columns), RootTask(places)
    return _run("partition", comm, block, vtxdist, arguments, *engine, works, task)


def refine(
    comm: Any,
    block: Any,
    parts: npt.ArrayLike,
    k: int,
    *,
    vtxdist: npt.ArrayLike | None = None,
    imbalance: float | Sequence[float] | None = None,
    large_imbalance: bool = False,
    lower_imbalance: float | None = None,
    min_weights: npt.ArrayLike | None = None,
    max_weights: npt.ArrayLike | None = None,
    targets: npt.ArrayLike | None = None,
    fixed: npt.ArrayLike | None = None,
    together: npt.ArrayLike | None = None,
    objective: choices.Objective = "cut",
    connected: bool = False,
    seed: int = 0,
    preset: choices.Preset = "default",
    options: Options | Mapping[str, Any] | None = None,
    backend: choices.Backend = "auto",
    threads: int | None = None,
    device: int | None = None,
    small: int | None = None,
    progress: ProgressOption = None,
) -> DistributedPartition:
    """Refine a partition of a graph that is distributed over processes. Collective.

    The parts equal those of `jetpy.refine`, whatever the number of processes.

    Parameters
    ----------
    comm, block, vtxdist, fixed, together, objective, connected, threads, device, small
        As for `partition`.
    k, imbalance, large_imbalance, lower_imbalance, min_weights, max_weights, targets, seed, backend
    options
        As for `jetpy.partition`.
    preset : str
        As for `jetpy.partition`. The preset `max` is `ultra` here.
    progress : bool or callable, optional
        As for `jetpy.partition`; only the argument of process 0 counts.
    parts : array of int, shape (n_owned,)
        Part of each owned vertex, 0..k - 1.

    Raises
    ------
    GraphError, OptionError, BackendError
        As for `partition`; GraphError also if `parts` does not match the block or `k`.
    """
    arguments = partial(
        make_arguments,
        k,
        imbalance=imbalance,
        large_imbalance=large_imbalance,
        lower_imbalance=lower_imbalance,
        min_weights=min_weights,
        max_weights=max_weights,
        targets=targets,
        objective=objective,
        connected=connected,
        seed=seed,
        preset=preset,
        options=options,
        backend=backend,
        small=small,
        fill=False,
    )
    places = Places(fixed, together=together)

    def work(rows: list[UploadedRows], problem: Problem, _: Effort, tell: Progress) -> Found:
        return refine_rows(rows, problem, tell, parts, small, places)

    def work_on_columns(columns: Columns, tell: Progress) -> tuple[Found, MultiConstraint]:
        return refine_columns(columns, parts, places, tell)

    engine = threads, device, progress
    works, task = (work, work_on_columns), RootTask(places, parts)
    return _run("refine", comm, block, vtxdist, arguments, *engine, works, task)


def evaluate(
    comm: Any,
    block: Any,
    parts: npt.ArrayLike,
    k: int,
    *,
    vtxdist: npt.ArrayLike | None = None,
    imbalance: float | Sequence[float] = 0.03,
) -> DistributedPartition:
    """Return the cut and the part weights of a partition, without changing it. Collective.

    Parameters
    ----------
    comm, block, vtxdist
        As for `partition`.
    parts : array of int, shape (n_owned,)
        Part of each owned vertex, 0..k - 1.
    k : int
        Number of parts.
    imbalance : float
        Determines the limits of the parts.

    Raises
    ------
    GraphError, OptionError, BackendError
        As for `partition`; GraphError also if `parts` does not match the block or `k`.
    """
    arguments = partial(
        make_arguments,
        k,
        imbalance=imbalance,
        large_imbalance=True,
        seed=0,
        preset="default",
        backend="cpu",
        fill=False,
    )

    def work(rows: list[UploadedRows], problem: Problem, _: Effort, tell: Progress) -> Found:
        return measure_rows(rows, problem, parts)

    def work_on_columns(columns: Columns, tell: Progress) -> tuple[Found, MultiConstraint]:
        return measure_columns(columns, parts)

    works = work, work_on_columns
    return _run("evaluate", comm, block, vtxdist, arguments, None, None, None, works)


def _run(
    function: str,
    comm: Any,
    given: Any,
    vtxdist: npt.ArrayLike | None,
    make: Callable[[int], CollectiveArguments],
    threads: int | None,
    device: int | None,
    progress: ProgressOption,
    works: tuple[Work, WorkOnColumns],
    task: RootTask | None = None,
) -> DistributedPartition:
    """Check and upload the input, run one of `works`, or `task`, and assemble the result.

    `make` returns the arguments, given the number of weights of each vertex.
    """
    started = time.perf_counter()
    group = communicator(comm)
    with collective_call(group, function), ExitStack() as stack:
        choose_engine = partial(engine_of_process, stack, group.neighbours, threads=threads)
        arguments, block, blocks, engine = _agree(
            group, given, vtxdist, make, choose_engine, device
        )

        work, work_on_columns = works

        def work_on_rows(engine: Backend, tell: Progress) -> tuple[int, str, Limited, Found]:
            connected = replace(blocks, comm=between_gpus(group, engine))
            table = None if block.kinds == 1 else checked_table(blocks, block)
            with Stopwatch(engine, "coarsen"):
                rows = [_checked_rows(group, engine, block, connected)]
            entries, transport = rows[0].global_nnz, connected.comm.transport
            if task is not None and task.is_needed(group, arguments):
                values = table and table[0], block.vertex_sizes
                own = task.run(rows.pop(), blocks, *values, arguments, tell)
                return entries, transport, own[1], own[0]
            if table is not None:
                columns = Columns(rows, blocks, *table, arguments)
                found, several = work_on_columns(columns, tell)
                return entries, transport, several, found
            if rows[0].backend.is_wide:
                make_ready([rows[0].backend], tell)
            problem = run_collectively(group, lambda: arguments.problem_of(rows[0].vertex_weight))
            found = work(rows, problem, arguments.effort, tell)
            return entries, transport, problem, found

        shown, size = progress if group.rank == 0 else None, (block.n, len(block.indices) // 2)
        (entries, transport, bounds, found), cost = execute(work_on_rows, engine, shown, size)
    weights, moved = found.part_weights, found.moved or (None, None)
    return DistributedPartition(
        parts=found.parts,
        first=blocks.first,
        n=blocks.n,
        m=entries // 2,
        k=len(weights),
        cut=found.cut,
        part_weights=weights,
        limits=bounds.limits,
        lower_limits=bounds.lower_limits,
        imbalance=float((weights / bounds.ideals.clip(1)).max()) - 1 if weights.any() else 0.0,
        empty_parts=found.empty_parts,
        moved_vertices=moved[0],
        moved_weight=moved[1],
        communication_volume=found.communication_volume,
        disconnected=found.disconnected,
        generations=found.generations,
        seed=arguments.seed,
        preset=arguments.preset,
        backend=engine.name,
        threads=cpu_threads(engine),
        gpu=engine.gpu,
        processes=group.size,
        transport=transport,
        compiled=cost.compiled,
        seconds={
            **cost.seconds,
            "total": time.perf_counter() - started - cost.seconds["compile"],
        },
        levels=LevelTable(found.levels),
        _comm=group,
    )


def communicator(comm: Any) -> Communicator:
    """Return the communicator for one of mpi4py, or for a single process if `comm` is None."""
    if isinstance(comm, Communicator):
        return comm
    return SelfCommunicator() if comm is None or comm.Get_size() == 1 else MpiCommunicator(comm)


def _agree(
    comm: Communicator,
    given: Any,
    vtxdist: npt.ArrayLike | None,
    make: Callable[[int], CollectiveArguments],
    choose_engine: Callable[..., Backend],
    device: int | None,
) -> tuple[CollectiveArguments, Block, Blocks, Backend]:
    """Check the input of all processes; return it, the vertex ranges and the back end."""
    block, blocks = agree_on_block(comm, given, vtxdist)
    block = with_common_weights(comm, block)
    arguments = run_collectively(comm, lambda: make(block.kinds))
    check_agreement(comm, **vars(arguments))
    engine = run_collectively(comm, lambda: choose_engine(arguments.backend, device=device))
    if len(set(comm.allgather_objects(engine.copies))) > 1:
        if arguments.backend != "auto":
            raise agreed(
                BackendError(
                    "some processes run on a GPU, others on CPUs; all must run on the same kind of "
                    "processor"
                )
            )
        engine = run_collectively(comm, lambda: choose_engine("cpu", device=None))
    return arguments, block, blocks, engine


def agree_on_block(
    comm: Communicator, given: Any, vtxdist: npt.ArrayLike | None
) -> tuple[Block, Blocks]:
    """Return the checked block of this process, and the vertex ranges of all. Collective.

    Raises
    ------
    GraphError
        If a block is wrong, there are too many vertices, or `vtxdist` does not match the blocks.
    """
    block = run_collectively(comm, lambda: as_block(given))
    blocks = Blocks.of(comm, block.n)

    def check() -> None:
        check_starts("vtxdist", vtxdist, blocks.starts)
        if blocks.n >= INT32_MAX:
            raise GraphError(
                f"{blocks.n} vertices are too many; there must be fewer than 2**31 - 1"
            )

    run_collectively(comm, check)
    return block, blocks


def _checked_rows(
    comm: Communicator, engine: Backend, block: Block, blocks: Blocks
) -> UploadedRows:
    """Return the uploaded rows of this process, without several weights. Collective.

    Raises
    ------
    GraphError
        If the graph has loops or duplicate edges, or an edge has no equal reverse edge.
    """
    if block.kinds > 1:
        block = replace(block, vertex_weights=unit_weights(block.n))
    rows = upload_rows(engine, block, blocks)
    run_collectively(comm, lambda: check_rows(rows, block))
    check_symmetry(rows)
    return rows


def engine_of_process(
    leases: ExitStack,
    neighbours: tuple[int, int],
    name: choices.Backend,
    *,
    threads: int | None,
    device: int | None,
) -> Backend:
    """Lease the back end of this process: its share of the GPUs or threads of its machine.

    `neighbours` are the rank among the processes of the machine, and their number.
    """
    number, count = neighbours
    if device is None and name in ("auto", *ON_GPU):
        gpus = _count_gpus()
        device = number % gpus if gpus else None
        if name == "auto" and gpus:
            with suppress(BackendError):
                return leases.enter_context(lease("auto", threads, device))
        if name == "auto":
            name, device = "cpu", None
    if threads is None and name not in ("auto", *ON_GPU):
        threads = own_threads(count)
    return leases.enter_context(lease(name, threads, device))


def _count_gpus() -> int:
    try:
        import cupy

        return int(cupy.cuda.runtime.getDeviceCount())
    except Exception:  # CuPy, its driver or a GPU is missing
        return 0
