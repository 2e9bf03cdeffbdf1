"""A partition that follows a changing graph (iG-kway)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.device.backends import get_backend, make_ready
from jetpy.device.device_graph import DeviceGraph, carry_graph, download
from jetpy.engines.oom_message import explain_oom
from jetpy.engines.threads import fork_safe_lock
from jetpy.errors import JetpyError
from jetpy.graph.csr import Graph, IntArray, common_divisor
from jetpy.graph.validate import check_small
from jetpy.incremental.batch import Batch, checked_batch
from jetpy.incremental.buckets import BucketList
from jetpy.incremental.column import row_offsets
from jetpy.incremental.placement import Placement
from jetpy.incremental.renewal import best, partition_anew, refine_again, renumbered
from jetpy.incremental.resolution import resolve
from jetpy.incremental.session import Session, SessionOptions, Settings, read_session, write_session
from jetpy.io.graphs import as_graph
from jetpy.multilevel.outcome import Outcome
from jetpy.problem.metrics import checked_parts, edge_cut, part_weights
from jetpy.problem.options import IncrementalOptions
from jetpy.problem.problem import SEEDS, Problem, checked_imbalance, in_units
from jetpy.progress import Progress, no_progress
from jetpy.workloads.common.groups import NO_PART

SHRINKAGE = 32
"""One part in so many of the weight that parts may have above the average is left for later: so
that they keep the balance when the graph, and with it the limit, shrinks."""


_P = ParamSpec("_P")
_T = TypeVar("_T")


def _on_device(
    method: Callable[Concatenate[IncrementalPartitioner, _P], _T],
) -> Callable[Concatenate[IncrementalPartitioner, _P], _T]:
    """Have a method use the device of the back end, and the state alone, in whatever thread.

    The device comes first: who waits for its turn there must not keep others from the state.
    """

    @wraps(method)
    def wrapped(self: IncrementalPartitioner, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with explain_oom(self._backend, self._graph.n, self._graph.m), self._lock:
            return method(self, *args, **kwargs)

    return wrapped


def _undisturbed(
    method: Callable[Concatenate[IncrementalPartitioner, _P], _T],
) -> Callable[Concatenate[IncrementalPartitioner, _P], _T]:
    """Have a method read the state between updates of other threads, never amid one."""

    @wraps(method)
    def wrapped(self: IncrementalPartitioner, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self._lock:
            return method(self, *args, **kwargs)

    return wrapped


@dataclass(frozen=True, eq=False)
class Update:
    """What a batch of modifiers led to.

    Attributes
    ----------
    vertices : int32
        Ids of the vertices inserted.
    cut : int
        Weight of edges between parts afterwards.
    moved : int
        How many vertices are now in another part than before; new ones do not count.
    action : {'placed', 'refined', 'repartitioned'}
        Whether the whole partition was refined, or found anew, after that.
    reason : {'', 'changes', 'drift', 'balance'}
        Why, if it was: much of the graph had changed since the last time, the cut had become too
        large, or a part too heavy.
    seconds : float
    """

    vertices: IntArray
    cut: int
    moved: int
    action: str
    reason: str
    seconds: float


class IncrementalPartitioner:
    """Keeps a partition of a graph that changes.

    A batch of modifiers costs time in proportion to its size, not to the graph's, but for two
    quick passes over the vertices: vertices that more edges draw to other parts than to their own
    are placed again, near those that have changed. The same graph, batches and options give the
    same partition on every back end, with any number of threads. Source: Lee et al., "iG-kway:
    Incremental k-way Graph Partitioning on GPU", DAC 2025.

    Parameters
    ----------
    graph, k, imbalance, large_imbalance, seed, preset, coarsening, refinement
        As for `jetpy.partition`, which finds the first partition; the preset `max` is `ultra` here.
    n, backend, threads, device, repair, progress
        As for `jetpy.partition`.
    parts : array of int, shape (n,), optional
        A partition to begin with instead.
    options : IncrementalOptions

    Raises
    ------
    GraphError, OptionError, BackendError
        As `jetpy.partition` does.

    Examples
    --------
    >>> import jetpy
    >>> live = jetpy.IncrementalPartitioner(jetpy.generators.grid(20, 20), 4, threads=1)
    >>> live
    IncrementalPartitioner(k=4, n=400, m=760, cut=40, imbalance=0.0000, feasible)
    >>> update = live.insert_vertices(1)
    >>> update = live.insert_edges([(400, 0), (400, 20)])
    >>> bool(live.partition[400] == live.partition[0])
    True
    """

    def __init__(
        self,
        graph: Any,
        k: int,
        *,
        n: int | None = None,
        imbalance: float = 0.03,
        large_imbalance: bool = False,
        seed: int = 0,
        preset: choices.Preset = "default",
        coarsening: choices.Coarsening | None = None,
        refinement: choices.Refinement | None = None,
        backend: choices.Backend = "auto",
        threads: int | None = None,
        device: int | None = None,
        repair: bool = False,
        progress: Progress = no_progress,
        parts: npt.ArrayLike | None = None,
        options: IncrementalOptions | None = None,
    ) -> None:
        checked = as_graph(graph, n=n, repair=repair)
        check_small(checked, "IncrementalPartitioner")
        given = None if parts is None else checked_parts(checked, parts, k)
        follow = options or IncrementalOptions()
        imbalance = checked_imbalance(imbalance, large=large_imbalance)
        goal = SessionOptions(k, imbalance, seed, preset, coarsening, refinement, follow)
        homes = np.full(checked.n, goal.k, np.int32) if given is None else given
        self._open(checked, homes, goal, backend, threads, device, progress)
        if given is None:
            self._find_whole()
        else:
            self._part_weights = part_weights(checked, given, self.k)
            self._begin(edge_cut(checked, given))
            self._unpartitioned = 0

    def _open(
        self,
        graph: Graph,
        parts: IntArray,
        goal: SessionOptions,
        backend: str,
        threads: int | None,
        device: int | None,
        progress: Progress,
    ) -> None:
        """Take over a graph, in which deleted vertices weigh 0, and parts by id."""
        self._goal, self._progress, self._intact = goal, progress, True
        self._lock = fork_safe_lock()
        self._backend = get_backend(backend, threads, device)
        make_ready([self._backend], progress)
        host_engine = self._backend.host_engine if goal.options.on_host else None
        self._home = host_engine or self._backend
        with explain_oom(self._backend, graph.n, graph.m):
            self._graph = BucketList(self._home, graph, parts, goal.options.extra_buckets)
            highest = goal.options.max_degree
            self._placement = Placement(self._graph, goal.k, goal.seed, highest)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        backend: choices.Backend = "auto",
        threads: int | None = None,
        device: int | None = None,
        progress: Progress = no_progress,
    ) -> IncrementalPartitioner:
        """Go on with a session that was saved: the same batches lead to the same partitions.

        Raises
        ------
        FileFormatError
            When the file is no session, or damaged.
        JetpyError
            When it cannot be read, or the back end does not work here.
        """
        session = read_session(path)
        settings, graph, ids = session.settings, session.graph, session.vertices
        by_id = np.zeros((2, settings.ids), np.int32)
        degrees, weights = by_id
        degrees[ids], weights[ids] = graph.degrees, graph.vertex_weights
        indptr = row_offsets(degrees)
        parts = np.full(settings.ids, NO_PART, np.int32)
        parts[ids] = session.parts
        live = cls.__new__(cls)
        live._open(
            replace(graph, indptr=indptr, indices=ids[graph.indices], vertex_weights=weights),
            parts,
            settings.goal,
            backend,
            threads,
            device,
            progress,
        )
        live._part_weights = part_weights(graph, session.parts, live.k)
        live._cut, live._lost = edge_cut(graph, session.parts), settings.lost
        live._unrefined, live._unpartitioned = settings.unrefined, settings.unpartitioned
        return live

    @_on_device
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a session that `load` goes on with.

        Raises
        ------
        JetpyError
            When the file cannot be written, or a batch was interrupted half-way.
        """
        self._check_intact()
        settings = Settings(
            goal=self._goal,
            ids=self._graph.ids,
            lost=self._lost,
            unrefined=self._unrefined,
            unpartitioned=self._unpartitioned,
        )
        vertices = self.vertices
        parts = self._graph.parts.host[vertices]
        write_session(path, Session(self.graph, vertices, parts, settings))

    @property
    def k(self) -> int:
        """Number of parts."""
        return self._goal.k

    @property
    def preset(self) -> str:
        """Preset by which whole partitions are found."""
        return self._goal.preset

    @property
    def options(self) -> IncrementalOptions:
        """How the partition follows the graph."""
        return self._goal.options

    @property
    @_undisturbed
    def partition(self) -> npt.NDArray[np.int32]:
        """Part of each vertex by id, int32, shape (ids,); -1 for deleted ones. A copy."""
        return self._graph.parts.host.copy()

    @property
    @_undisturbed
    def cut(self) -> int:
        """Total weight of the undirected edges between parts."""
        return self._cut

    @property
    @_undisturbed
    def n(self) -> int:
        """Number of vertices."""
        return self._graph.n

    @property
    @_undisturbed
    def m(self) -> int:
        """Number of undirected edges."""
        return self._graph.m

    @property
    @_undisturbed
    def part_weights(self) -> npt.NDArray[np.int64]:
        """Total vertex weight of each part, int64, shape (k,). A copy."""
        return self._part_weights.copy()

    @property
    @_undisturbed
    def limit(self) -> int:
        """Largest part weight allowed for the graph as it is now."""
        return self._problem.limit

    @property
    @_undisturbed
    def feasible(self) -> bool:
        """Whether every part weighs at most `limit`."""
        return int(self._part_weights.max()) <= self.limit

    @property
    @_undisturbed
    def vertices(self) -> IntArray:
        """Ids of the vertices that are there, ascending, int32, shape (n,)."""
        return np.flatnonzero(self._graph.vertex_weights.host).astype(np.int32)

    @property
    @_on_device
    def graph(self) -> Graph:
        """The graph as it is now; its vertex i is number i of `vertices`."""
        return download(self._home, self._graph.extract()[0])

    def insert_edges(self, edges: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Update:
        """Insert edges: integers, shape (b, 2); weights of shape (b,), 1 by default."""
        return self.update(Batch(insert_edges=edges, edge_weights=weights))

    def delete_edges(self, edges: npt.ArrayLike) -> Update:
        """Delete edges: integers, shape (b, 2)."""
        return self.update(Batch(delete_edges=edges))

    def insert_vertices(self, vertices: int | npt.ArrayLike) -> Update:
        """Insert so many vertices of weight 1, or vertices of these weights, shape (b,)."""
        return self.update(Batch(insert_vertices=vertices))

    def delete_vertices(self, vertices: npt.ArrayLike) -> Update:
        """Delete vertices, and all their edges: integers, shape (b,)."""
        return self.update(Batch(delete_vertices=vertices))

    @_on_device
    def update(self, batch: Batch) -> Update:
        """Apply a batch of modifiers, and bring the partition up to date.

        Raises
        ------
        GraphError
            If a modifier is wrong: an unknown or deleted vertex, an edge to delete that is not
            there or one to insert that is, the same twice, a loop, a weight that is not positive,
            weights that overflow. Nothing has changed then.
        JetpyError
            If a batch before was interrupted half-way.
        """
        self._check_intact()
        started = time.perf_counter()
        graph = self._graph
        modifiers = checked_batch(batch, graph.vertex_weights.host)
        edits = resolve(graph, modifiers)
        first, dead = graph.ids, modifiers.deleted_vertices
        homes, gone = graph.parts.host[dead], graph.vertex_weights.host[dead]
        with self._half_way():
            np.subtract.at(self._part_weights, homes, gone)
            change = graph.apply(edits, self.k)
            self._unrefined += len(modifiers)
            self._unpartitioned += len(modifiers)
            new = np.arange(first, graph.ids, dtype=np.int32)
            ends = edits.modifiers.vertices
            is_left = (ends < first) & (graph.vertex_weights.host[ends] > 0)
            modified = np.concatenate([ends[is_left], new])
            placed = self._placement.update(modified, self._part_weights, self._roomy.limit)
            self._cut += change + placed.growth
            self._lost += placed.loss
        action, reason, moved_again = self._renew()
        seconds = time.perf_counter() - started
        return Update(new, self._cut, placed.moved + moved_again, action, reason, seconds)

    @_on_device
    def rebuild(self) -> None:
        """Partition the graph from scratch, as the first time, and lay out its buckets anew."""
        self._check_intact()
        with self._half_way():
            self._graph.lay_out()
        self._find_whole()

    @_undisturbed
    def __repr__(self) -> str:
        size = f"k={self.k}, n={self.n}, m={self.m}"
        if not self._intact:
            return f"IncrementalPartitioner({size}, interrupted half-way through a batch)"
        imbalance = int(self._part_weights.max()) / max(self._problem.ideal, 1) - 1
        state = "feasible" if self.feasible else "NOT feasible"
        kept = f"cut={self.cut}, imbalance={max(imbalance, 0):.4f}, {state}"
        return f"IncrementalPartitioner({size}, {kept})"

    @contextmanager
    def _half_way(self) -> Iterator[None]:
        """Change the state: whatever interrupts this block, Ctrl-C say, leaves it unusable."""
        self._intact = False
        yield
        self._intact = True

    def _check_intact(self) -> None:
        if not self._intact:
            raise JetpyError("a batch was interrupted half-way: load a session saved before it")

    @_on_device
    def _find_whole(self) -> None:
        """Partition the graph from scratch, with several seeds."""
        graph, ids = self._whole()
        weights, problem = self._graph.vertex_weights.host[ids], self._roomy
        seeds = [(problem.seed + i) % SEEDS for i in range(self.options.tries)]
        tries = (replace(problem, seed=seed) for seed in seeds)
        found = (partition_anew(self._backend, graph, one, self._progress) for one in tries)
        self._adopt(ids, weights, best(found, weights, problem), anew=True)

    @property
    def _problem(self) -> Problem:
        return self._goal.problem(self._graph.vertex_weight)

    @property
    def _roomy(self) -> Problem:
        """The problem with a limit that leaves something for later."""
        problem = self._problem
        unit = common_divisor(self._graph.vertex_weights.host)
        divided = in_units(problem, unit)
        room = max(divided.limit - divided.ideal_in_units, 0)
        return replace(problem, limit=unit * (divided.limit - room // SHRINKAGE))

    def _renew(self) -> tuple[str, str, int]:
        """Refine the whole partition or find it anew, if that is due.

        Returns what was done, why, and how many vertices have moved.
        """
        options, size = self.options, self.n + self.m
        if self._lost > options.max_drift * (self._cut - self._lost):
            return "repartitioned", "drift", self._renew_whole(anew=True)
        if self._unpartitioned > options.repartition_after * size:
            return "repartitioned", "changes", self._renew_whole(anew=True)
        if self._unrefined > options.refine_after * size:
            return "refined", "changes", self._renew_whole(anew=False)
        if self.feasible:
            return "placed", "", 0
        moved = self._renew_whole(anew=False)
        if self.feasible:
            return "refined", "balance", moved
        return "repartitioned", "balance", moved + self._renew_whole(anew=True)

    def _renew_whole(self, *, anew: bool) -> int:
        """Refine the whole partition; take one found anew if that is better; return moves."""
        graph, ids = self._whole()
        before, weights = self._graph.parts.host[ids], self._graph.vertex_weights.host[ids]
        problem = self._roomy
        outcome = refine_again(self._backend, graph, before, problem, self._progress)
        if anew:
            other = partition_anew(self._backend, graph, problem, self._progress)
            outcome = best([outcome, other], weights, problem)
        return self._adopt(ids, weights, outcome, anew=anew)

    def _whole(self) -> tuple[DeviceGraph, IntArray]:
        """Return the graph on the back end, and the id of each vertex."""
        graph, vertices = self._graph.extract()
        ids = self._home.to_host(vertices)
        return carry_graph(graph, self._home, self._backend), ids

    def _adopt(self, ids: IntArray, weights: IntArray, outcome: Outcome, *, anew: bool) -> int:
        """Take the parts of a partition of the whole graph; return how many vertices moved."""
        before = self._graph.parts.host[ids]
        parts = renumbered(outcome.parts, before, weights, self.k) if anew else outcome.parts
        with self._half_way():
            self._graph.parts.set(ids, parts)
            self._part_weights = np.bincount(parts, weights, self.k).astype(np.int64)
            self._begin(outcome.cut)
            if anew:
                self._unpartitioned = 0
        return int(((parts != before) & (before < self.k)).sum())

    def _begin(self, cut: int) -> None:
        """Watch the changes of the graph and the drift of the cut from here."""
        self._cut, self._lost, self._unrefined = cut, 0, 0
