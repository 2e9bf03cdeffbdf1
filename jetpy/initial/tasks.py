"""Partitions that one index of a launch finds: of small graphs, and of coarsest levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.device.processes import Processes
from jetpy.engines.base import Backend
from jetpy.graph.csr import INT32_MAX, Graph, IntArray
from jetpy.initial.sharing import SIZE_OF_VERTEX, gpu_tasks
from jetpy.initial.workers import (
    MAX_ROOM_ON_GPU,
    OF_ENTRIES,
    OF_VERTICES,
    Wanted,
    allocate,
    count_workers,
)
from jetpy.problem.options import SmallOptions
from jetpy.problem.problem import EDGE_CUT, Problem
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.flows.flow_networks import ARCS_PER_VERTEX, TERMINALS
from jetpy.workloads.flows.regions import Pair
from jetpy.workloads.initial.inner_levels import VERTEX_ROOM
from jetpy.workloads.tasks import partitions as kernels
from jetpy.workloads.tasks.bisections import (
    ENTRY_ROOM,
    NODE_ROOM,
    NODE_SPARE,
    PENDING,
    SPARE,
    Node,
)
from jetpy.workloads.tasks.loading import Task
from jetpy.workloads.tasks.partitions import ROWS, Partitions

Numbers = npt.NDArray[np.int64]
OF_TASK_VERTICES = (*OF_VERTICES, "slots", "origins", "best")
OF_TASK_ENTRIES = (*OF_ENTRIES, "slot_parts", "slot_weights")
OF_PARTS = ("part_sizes", "queue_begins", "queue_sizes", "marks")
WEIGHTS_OF_PARTS = ("part_weights", "most", "least", "tops")
TREES_BY_NODE = (
    *("rows", "ends", "sides", "marks", "parents", "labels", "current", "orphans"),
    "node_weights",
)
TREES_BY_NODE_AND_SIDE = ("waiting", "buckets", "frontiers")
TREES_BY_ARC = ("heads", "twins", "capacities")
CROWDING = 5
"""A GPU finishes partitions as if this fraction of its tasks ran at the same time, at full speed.

Tasks wait for the memory: an H200 is worth 23 threads of its host, not 117."""
MAX_PARTS = 128
"""Maximum number of parts, because a task looks at all parts to choose one."""
MIN_SHARED = 5_000
"""Minimum mean number of vertices and directed edges of graphs whose bisections threads share."""
MAX_KEPT = 1 << 20
"""Maximum capacity of all workers for which a back end keeps the arrays: at most 80 MB."""
RESULT = [Task.PLACE, Task.N, Task.PART_PLACE, Task.PARTS, Task.CUT, Task.EXCESS, Task.EMPTY]
"""Fields of a task that say what it has found, and where."""


@dataclass(frozen=True, eq=False)
class Found:
    """A partition that a task has found.

    Attributes
    ----------
    parts : int32, shape (n,)
    cut : int
    excess : int
        What parts weigh above their limits, and lack below them.
    empty : int
        Number of parts without a vertex.
    part_weights : int64, shape (k,)
    """

    parts: IntArray
    cut: int
    excess: int
    empty: int
    part_weights: Numbers

    def is_complete(self, *, fill: bool) -> bool:
        """Return whether parts keep their limits, and none is empty if `fill`."""
        return self.excess == 0 and not (fill and self.empty)


@dataclass(frozen=True, eq=False)
class Rooms:
    """Capacities of a worker for vertices, entries and parts, and the arrays of all workers."""

    vertices: int
    entries: int
    parts: int
    nodes: int
    arcs: int

    @classmethod
    def of(cls, n: int, nnz: int, k: int) -> Rooms:
        """Return the capacities for graphs of at most n vertices, nnz entries and k parts.

        Those for the levels of a graph, and for a copy of the current level behind them
        (`end_of_vertices` and `end_of_entries` of `jetpy.workloads.tasks.bisections`).
        """
        return cls(
            (VERTEX_ROOM + 1) * n + SPARE,
            (ENTRY_ROOM + 1) * nnz + SPARE,
            k,
            n + TERMINALS,
            nnz + ARCS_PER_VERTEX * n,
        )

    def with_nodes(self) -> Rooms:
        """Return the capacities for copies of all nodes of a depth, and for their levels."""
        vertices = (NODE_ROOM - 1) * self.nodes + NODE_SPARE * self.parts
        entries = (NODE_ROOM - 1) * self.arcs
        return replace(self, vertices=self.vertices + vertices, entries=self.entries + entries)

    @property
    def largest(self) -> int:
        """Largest number of places of a worker in an array."""
        return max(self.vertices, self.entries, 2 * self.nodes, self.arcs)

    def kept(self, backend: Backend, workers: int) -> tuple[Rooms, dict[str, Any]]:
        """Return at least these capacities, and the arrays of at least some workers.

        A back end on the host keeps the arrays of small graphs for the next call, because making
        them takes as long as a tenth of a partition.
        """
        number, rooms, arrays = backend.kept.get(Rooms, (0, self, {}))
        if number >= workers and rooms.fits(self):
            return rooms, arrays
        arrays = self.arrays(backend, workers)
        if not backend.tasks_at_once and workers * self.largest <= MAX_KEPT:
            backend.kept[Rooms] = workers, self, arrays
        return self, arrays

    def fits(self, other: Rooms) -> bool:
        """Return whether these capacities suffice in place of others."""
        return all(getattr(self, one.name) >= getattr(other, one.name) for one in fields(Rooms))

    def arrays(self, backend: Backend, workers: int, depths: int = 0) -> dict[str, Any]:
        """Allocate the arrays of some workers: arguments of `partition_graphs`.

        With `depths`, they are for trees of bisections of this depth, too.
        """
        state, trees, pairs = SimpleNamespace(), SimpleNamespace(), SimpleNamespace()
        wanted: list[Wanted] = [
            (state, OF_TASK_VERTICES, self.vertices, np.int32),
            (state, ["keys"], self.vertices, np.int64),
            (state, OF_TASK_ENTRIES, self.entries, np.int32),
            (state, OF_PARTS, self.parts, np.int32),
            (state, WEIGHTS_OF_PARTS, self.parts, np.int64),
            (state, ["numbers"], (ROWS + (1 << depths)) * Field.COUNT, np.int64),
            (state, ["nodes"], max(PENDING, 2 << depths) * Node.COUNT, np.int32),
            (pairs, ["rows"], Pair.COUNT, np.int64),
            (trees, TREES_BY_NODE, self.nodes, np.int32),
            (trees, TREES_BY_NODE_AND_SIDE, 2 * self.nodes, np.int32),
            (trees, TREES_BY_ARC, self.arcs, np.int32),
        ]
        own = [(owner, names, workers * size, kind) for owner, names, size, kind in wanted]
        allocate(backend, *own)
        pairs.order, pairs.hops, pairs.places = state.origins, state.external, state.positions
        level = SimpleNamespace(
            indptr=state.rows,
            indices=state.ends,
            edge_weights=state.edge_weights,
            vertex_weights=state.weights,
        )
        return {"state": state, "level": level, "pairs": pairs, "trees": trees}


@dataclass(frozen=True, eq=False)
class Job:
    """A graph to be partitioned, once for each seed.

    Attributes
    ----------
    graph : Graph or DeviceGraph
        Its arrays are on the host.
    shares, limits, lower_limits : int64, shape (k,)
        Relative ideal weights of the parts, and their maximum and minimum weights.
    seeds : sequence of int
    pinned : int32, shape (n,), or None
        The part in which each vertex must be, -1 for free vertices.
    """

    graph: Graph | DeviceGraph
    shares: Numbers
    limits: Numbers
    lower_limits: Numbers
    seeds: Sequence[int]
    pinned: IntArray | None = None

    @classmethod
    def of_problem(cls, graph: Graph | DeviceGraph, problem: Problem) -> Job:
        """Return the job of solving a problem once."""
        own = problem.shares, problem.limits, problem.lower_limits
        return cls(graph, *own, [problem.seed])


def can_solve(problem: Problem) -> bool:
    """Return whether tasks solve such problems: they minimise the cut, and know no groups."""
    return problem.k <= MAX_PARTS and problem.metric is EDGE_CUT and problem.groups == 1


@dataclass(frozen=True, eq=False)
class Batch:
    """Jobs, one after another in each array.

    Attributes
    ----------
    graph : object
        The arrays `indptr`, `indices`, `edge_weights` and `vertex_weights` of all graphs.
    tasks : int64, shape (tasks, Task.COUNT)
    capacities : Rooms
        Those of a worker for the largest graph.
    shares, rooms, floors : int64
        Prefix sums, over all parts of all jobs, of the relative ideal weights and the limits.
    pins : int32
        The part in which each vertex must be, -1 for free vertices.
    """

    graph: Any
    tasks: Numbers
    capacities: Rooms
    shares: Numbers
    rooms: Numbers
    floors: Numbers
    pins: IntArray

    @classmethod
    def of(cls, jobs: Sequence[Job], host: Backend) -> Batch:
        """Return a task for each seed of each job, those of the largest graph first.

        The arrays use memory of a back end on the host.
        """
        graphs = [job.graph for job in jobs]
        tasks: list[tuple[int, list[int]]] = []
        vertex = entry = part = place = part_place = 0
        for number, job in enumerate(jobs):
            n, nnz, k = _sizes(job)
            row = [0] * Task.COUNT
            row[Task.N], row[Task.PARTS] = n, k
            row[Task.VERTEX], row[Task.ROW] = vertex, vertex + number
            row[Task.ENTRY], row[Task.PART] = entry, part
            for seed in job.seeds:
                own = row.copy()
                own[Task.SEED], own[Task.PLACE], own[Task.PART_PLACE] = seed, place, part_place
                tasks.append((n + nnz, own))
                place, part_place = place + n, part_place + k
            vertex, entry, part = vertex + n, entry + nnz, part + k
        tasks.sort(key=itemgetter(0), reverse=True)
        return cls(
            SimpleNamespace(
                indptr=_joined([graph.indptr for graph in graphs], host),
                indices=_joined([graph.indices for graph in graphs], host),
                edge_weights=_joined([graph.edge_weights for graph in graphs], host),
                vertex_weights=_joined([graph.vertex_weights for graph in graphs], host),
            ),
            np.array([row for _, row in tasks], np.int64),
            Rooms.of(*(max(sizes) for sizes in zip(*map(_sizes, jobs), strict=True))),
            _sums([job.shares for job in jobs]),
            _sums([job.limits for job in jobs]),
            _sums([job.lower_limits for job in jobs]),
            _pins(jobs, vertex),
        )

    def run(self, backend: Backend, effort: SmallOptions) -> list[Found]:
        """Run all tasks, and return what they find: for each job, for each of its seeds."""
        return self.start(backend, effort).found()

    def start(self, backend: Backend, effort: SmallOptions) -> Running:
        """Start all tasks; a GPU runs them while the host continues."""
        workers = count_workers(backend, len(self.tasks), self.capacities.largest)
        depths = self._shared_depths(backend, effort)
        if depths:
            rooms = self.capacities.with_nodes()
            arrays = rooms.arrays(backend, workers, depths)
        else:
            rooms, arrays = self.capacities.kept(backend, workers)
        work = self._upload(backend, rooms, arrays["state"])
        graph = SimpleNamespace(**{k: backend.from_host(v) for k, v in vars(self.graph).items()})
        if depths:
            self._launch_by_depth(backend, depths, graph, work, effort, arrays)
        else:
            launch = partial(backend.run_tasks, workers, kernels.partition_graphs)
            launch(graph=graph, work=work, effort=effort, **arrays)
        return Running(backend, work)

    def _shared_depths(self, backend: Backend, effort: SmallOptions) -> int:
        """Return the depth of the bisections if the threads share those of a depth, otherwise 0.

        They do so if there are at least two threads for each task.
        """
        count, parts = len(self.tasks), self.capacities.parts
        n, entries = len(self.graph.vertex_weights), len(self.graph.indices)
        graphs = len(self.graph.indptr) - n
        has_one_try = effort.min_tries == effort.max_tries == 1
        is_plain = has_one_try and effort.cycles == 0 and effort.communities == 0
        is_alone = backend.tasks_at_once == 0 and 2 * count <= backend.threads
        if not is_plain or not is_alone or parts <= 2 or n + entries < MIN_SHARED * graphs:
            return 0
        if count * self.capacities.with_nodes().largest > INT32_MAX:
            return 0
        return (parts - 1).bit_length()

    def _upload(self, backend: Backend, rooms: Rooms, state: Any) -> Partitions:
        """Return the tasks for kernels; `state` gets the limits of the parts."""
        tasks, to_device = self.tasks, backend.from_host
        for name in ("shares", "rooms", "floors"):
            setattr(state, name, to_device(getattr(self, name)))
        return Partitions(
            tasks=to_device(tasks.ravel().copy()),
            count=len(tasks),
            turns=backend.full(1, 0),
            pins=to_device(self.pins),
            found=backend.empty(int(tasks[:, Task.N].sum())),
            part_weights=backend.empty(int(tasks[:, Task.PARTS].sum()), np.int64),
            vertex_room=rooms.vertices,
            entry_room=rooms.entries,
            part_room=rooms.parts,
            node_room=rooms.nodes,
            arc_room=rooms.arcs,
        )

    @staticmethod
    def _launch_by_depth(
        backend: Backend,
        depths: int,
        graph: Any,
        work: Partitions,
        effort: SmallOptions,
        arrays: dict[str, Any],
    ) -> None:
        """Run all tasks, one worker each; workers share the bisections of a depth."""
        own = {"work": work, "effort": effort}
        tree = {"nodes_each": 2 << depths, "state": arrays["state"], **own}
        backend.run_tasks(work.count, kernels.begin_graphs, graph=graph, **tree)
        for depth in range(depths):
            backend.run_tasks(work.count << depth, kernels.bisect_nodes, depth=depth, **tree)
        backend.run_tasks(work.count, kernels.end_graphs, **own, **arrays)


@dataclass(frozen=True, eq=False)
class Running:
    """Tasks that have been started on a back end, and may not have finished."""

    backend: Backend
    work: Any

    def found(self) -> list[Found]:
        """Wait for all tasks, and return what they find: for each job, for each of its seeds."""
        parts, weights, tasks = (
            self.backend.to_host(array)
            for array in (self.work.found, self.work.part_weights, self.work.tasks)
        )
        rows = tasks.reshape(-1, Task.COUNT)
        rows = rows[np.argsort(rows[:, Task.PLACE], kind="stable")]
        return [
            Found(parts[v : v + n], cut, excess, empty, weights[p : p + k])
            for v, n, p, k, cut, excess, empty in rows[:, RESULT].tolist()
        ]


def run_together(
    jobs: Sequence[Job], host: Backend, effort: SmallOptions, processes: Processes
) -> list[Found]:
    """Run jobs on the host, each process some of them, and return what all find. Collective.

    Processes have the same jobs. The order is that of `Batch.run`.
    """
    if processes.size == 1:
        return Batch.of(jobs, host).run(host, effort)
    tasks = [(job, seed) for job in jobs for seed in job.seeds]
    sizes = np.array([_sizes(job) for job, _ in tasks], np.int64).reshape(-1, 3)
    own = tasks[processes.share(sizes[:, :2].sum(axis=1))]
    chosen = [replace(job, seeds=[s for one, s in own if one is job]) for job in jobs]
    chosen = [job for job in chosen if job.seeds]
    found = Batch.of(chosen, host).run(host, effort) if chosen else []
    numbers = np.array([(one.cut, one.excess, one.empty) for one in found], np.int64)

    def of_all(arrays: Sequence[npt.NDArray[Any]], kind: type) -> npt.NDArray[Any]:
        joined = np.concatenate([np.zeros(0, kind), *arrays])
        return host.to_host(processes.gather(host, host.from_host(joined)))

    ends = sizes.cumsum(axis=0)[:-1]
    parts = np.split(of_all([one.parts for one in found], np.int32), ends[:, 0])
    weights = np.split(of_all([one.part_weights for one in found], np.int64), ends[:, 2])
    rows = of_all([numbers.ravel()], np.int64).reshape(-1, 3).tolist()
    return [
        Found(own, cut, excess, empty, held)
        for own, (cut, excess, empty), held in zip(parts, rows, weights, strict=True)
    ]


def run_shared(
    jobs: Sequence[Job], backend: Backend, host: Backend, effort: SmallOptions
) -> list[Found]:
    """Run jobs with one seed each, on a back end and its host, and return what they find.

    A GPU takes some of them, or none if its memory is full; a back end on CPUs takes none.
    """
    if not backend.tasks_at_once:
        return Batch.of(jobs, host).run(host, effort)
    there = gpu_jobs(backend, host, jobs)
    sides: tuple[list[Job], list[Job]] = ([], [])
    for job, is_there in zip(jobs, there.tolist(), strict=True):
        sides[is_there].append(job)
    here, away = (Batch.of(own, host) if own else None for own in sides)
    running = None if away is None else _started(away, backend, host, effort)
    found_here = [] if here is None else here.run(host, effort)
    found = iter(found_here), iter([] if running is None else running.found())
    return [next(found[is_there]) for is_there in there.tolist()]


def gpu_jobs(backend: Backend, host: Backend, jobs: Sequence[Job]) -> npt.NDArray[np.bool_]:
    """Return which jobs a GPU takes; the host takes the others at the same time."""
    sizes = [_sizes(job) for job in jobs]
    lengths = np.array([n + nnz for n, nnz, _ in sizes], np.int64)
    work = lengths // SIZE_OF_VERTEX
    limit = max(1, backend.tasks_at_once // CROWDING)
    rooms = np.array([Rooms.of(*own).largest for own in sizes], np.int64)
    most_at_once = np.minimum(limit, np.maximum(1, MAX_ROOM_ON_GPU // rooms))
    return gpu_tasks(backend, host, work, work, most_at_once, int(lengths.sum()))


def _started(batch: Batch, backend: Backend, host: Backend, effort: SmallOptions) -> Running:
    """Start tasks on a GPU, or run them on its host if its memory is full."""
    try:
        return batch.start(backend, effort)
    except MemoryError:
        return batch.start(host, effort)


def _sizes(job: Job) -> tuple[int, int, int]:
    """Return the numbers of vertices, directed edges and parts."""
    return job.graph.n, len(job.graph.indices), len(job.shares)


def _joined(arrays: Sequence[npt.NDArray[Any]], host: Backend) -> npt.NDArray[Any]:
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays, out=host.empty(sum(map(len, arrays)), arrays[0].dtype))


def _sums(values: Sequence[Numbers]) -> Numbers:
    """Return prefix sums of all values, from 0 on."""
    return np.cumsum(np.concatenate([np.zeros(1, np.int64), *values]))


def _pins(jobs: Sequence[Job], total: int) -> IntArray:
    """Return the parts of pinned vertices of all jobs, and NO_PART for free ones."""
    pins = np.full(total, NO_PART, np.int32)
    begin = 0
    for job in jobs:
        if job.pinned is not None:
            pins[begin : begin + job.graph.n] = job.pinned
        begin += job.graph.n
    return pins
