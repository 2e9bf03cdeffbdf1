"""Incremental partitioner of a changing graph (iG-kway)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.device.backends import device_of, get_backend, make_ready
from jetpy.device.device_graph import DeviceGraph, carry_graph, download
from jetpy.engines.oom_message import explain_oom
from jetpy.engines.threads import fork_safe_lock
from jetpy.errors import JetpyError
from jetpy.graph.csr import INT32_MAX, Graph, IntArray, common_divisor
from jetpy.graph.validate import check_one_weight, check_small
from jetpy.incremental.batch import Batch, checked_batch
from jetpy.incremental.buckets import BucketList
from jetpy.incremental.column import row_offsets
from jetpy.incremental.placement import Placed, Placement, changed_parts
from jetpy.incremental.renewal import best, partition_from_scratch, refine_again, renumbered
from jetpy.incremental.resolution import resolve
from jetpy.incremental.session import Session, SessionOptions, Settings, read_session, write_session
from jetpy.io.graphs import as_graph, without_options
from jetpy.multilevel.outcome import Outcome
from jetpy.problem.bounds import DEFAULT_IMBALANCE
from jetpy.problem.metrics import checked_parts, edge_cut, part_weights
from jetpy.problem.options import IncrementalOptions
from jetpy.problem.presets import incremental_options
from jetpy.problem.problem import SEEDS, Problem, in_units
from jetpy.progress import ProgressOption, telling
from jetpy.workloads.common.groups import NO_PART

SHRINKAGE = 32
"""1 / SHRINKAGE of the room above the average part weight stays unused, so that the parts remain
balanced when the graph, and with it the limit, shrinks."""


def _exceeds(value: int, share: float | None, whole: int) -> bool:
    """Return whether a value exceeds a share of the whole; None: never."""
    return share is not None and value > share * whole


@lru_cache(maxsize=8)
def _problem_of(goal: SessionOptions, total: int) -> Problem:
    return goal.bounded_problem(total, checked=False)


_P = ParamSpec("_P")
_T = TypeVar("_T")


def _on_device(
    method: Callable[Concatenate[IncrementalPartitioner, _P], _T],
) -> Callable[Concatenate[IncrementalPartitioner, _P], _T]:
    """Wrap a method that uses the device: hold the device and the lock of the state.

    The device comes first, so that a thread waiting for it does not block readers of the state.
    """

    @wraps(method)
    def wrapped(self: IncrementalPartitioner, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with explain_oom(self._backend, self._graph.n, self._graph.m), self._lock:
            return method(self, *args, **kwargs)

    return wrapped


def _undisturbed(
    method: Callable[Concatenate[IncrementalPartitioner, _P], _T],
) -> Callable[Concatenate[IncrementalPartitioner, _P], _T]:
    """Wrap a method that reads the state: hold the lock, so that no update is in progress."""

    @wraps(method)
    def wrapped(self: IncrementalPartitioner, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self._lock:
            return method(self, *args, **kwargs)

    return wrapped


@dataclass(frozen=True, eq=False)
class Update:
    """The result of a batch of modifiers.

    Attributes
    ----------
    vertices : int32
        Ids of the inserted vertices.
    cut : int
        Weight of undirected edges between parts after the batch.
    moved : int
        Number of vertices whose part differs from that before the batch; new vertices do not
        count.
    action : {'placed', 'refined', 'repartitioned'}
        Whether the whole partition was then refined or recomputed.
    reason : {'', 'changes', 'drift', 'balance'}
        Reason for refining or recomputing: many changes since the last time, an increased cut, or a
        part above the limit.
    seconds : float
        Wall seconds.
    modification_seconds : float
        Part of `seconds` for checking the batch and modifying the graph. The rest is for the
        partition.
    """

    vertices: IntArray
    cut: int
    moved: int
    action: str
    reason: str
    seconds: float
    modification_seconds: float


class IncrementalPartitioner:
    """Maintains a partition of a changing graph.

    The time of a batch is proportional to its size, not to the graph's, except for two fast passes
    over the vertices. Near the changes, jetpy places vertices again if more edge weight connects
    them to other parts than to their own. The same graph, batches and options give the same
    partition on every back end, with any number of threads. Source: Lee et al., "iG-kway:
    Incremental k-way Graph Partitioning on GPU", DAC 2025.

    Parameters
    ----------
    graph, k, imbalance, large_imbalance, seed, preset, coarsening, refinement
        As for `jetpy.partition`, which finds the first partition; the preset `max` is `ultra` here.
    lower_imbalance, min_weights, max_weights
        As for `jetpy.partition`. Absolute limits stay when the weight of the graph changes;
        if no partition keeps them any more, `feasible` is false.
    n, repair
        As for `as_graph`.
    backend, threads, device, progress
        As for `jetpy.partition`.
    parts : array of int, shape (n,), optional
        The first partition, instead of a computed one.
    options : IncrementalOptions or mapping, optional
        All options of incremental partitioning instead of the preset's, or values of single options
        by name, such as ``{"extra_buckets": 2}``.

    Raises
    ------
    GraphError, OptionError, BackendError
        Under the conditions of `jetpy.partition`.

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
        imbalance: float | None = None,
        large_imbalance: bool = False,
        lower_imbalance: float | None = None,
        min_weights: npt.ArrayLike | None = None,
        max_weights: npt.ArrayLike | None = None,
        seed: int = 0,
        preset: choices.Preset = "default",
        coarsening: choices.Coarsening | None = None,
        refinement: choices.Refinement | None = None,
        backend: choices.Backend = "auto",
        threads: int | None = None,
        device: int | None = None,
        repair: bool = False,
        progress: ProgressOption = None,
        parts: npt.ArrayLike | None = None,
        options: IncrementalOptions | Mapping[str, Any] | None = None,
    ) -> None:
        with without_options():
            checked = as_graph(graph, n=n, repair=repair)
        check_small(checked, "IncrementalPartitioner")
        check_one_weight(checked, "IncrementalPartitioner")
        given = None if parts is None else checked_parts(checked, parts, k)
        follow = incremental_options(preset, options)
        goal = SessionOptions(
            k,
            DEFAULT_IMBALANCE if imbalance is None else imbalance,
            large_imbalance,
            seed,
            preset,
            coarsening,
            refinement,
            follow,
            lower_imbalance=lower_imbalance,
            min_weights=min_weights,  # type: ignore[arg-type]
            max_weights=max_weights,  # type: ignore[arg-type]
            keeps_imbalance=imbalance is not None,
        )
        goal.bounded_problem(checked.total_vertex_weight, checked=True)
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
        progress: ProgressOption,
    ) -> None:
        """Initialise from a graph and parts by id, `NO_PART` for deleted vertices."""
        self._goal, self._progress, self._intact = goal, progress, True
        self._lock = fork_safe_lock()
        self._backend = get_backend(backend, threads, device_of(graph, backend, device))
        with telling(progress) as tell:
            make_ready([self._backend], tell)
        self._home = self._backend.host if goal.options.on_host else self._backend
        with explain_oom(self._backend, graph.n, graph.m):
            self._graph = BucketList(self._home, graph, parts, goal.options.extra_buckets)
            highest = goal.options.max_degree
            highest = INT32_MAX if highest is None else highest
            self._placement = Placement(self._graph, goal.k, goal.seed, highest)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        backend: choices.Backend = "auto",
        threads: int | None = None,
        device: int | None = None,
        progress: ProgressOption = None,
    ) -> IncrementalPartitioner:
        """Continue a saved session: the same batches lead to the same partitions.

        Raises
        ------
        FileFormatError
            If the file is not a session, or is damaged.
        JetpyError
            If the file cannot be read, or the back end does not work on this machine.
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
        """Write a session that `load` can continue.

        Raises
        ------
        JetpyError
            If the file cannot be written, or an earlier batch was interrupted.
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

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an IncrementalPartitioner cannot be pickled or copied, because it holds a device; "
            "save(path) writes it, and IncrementalPartitioner.load(path) continues it"
        )

    @property
    def k(self) -> int:
        """Number of parts."""
        return self._goal.k

    @property
    def preset(self) -> str:
        """Preset for partitions of the whole graph."""
        return self._goal.preset

    @property
    def options(self) -> IncrementalOptions:
        """Options of incremental partitioning."""
        return self._goal.options

    @property
    @_undisturbed
    def partition(self) -> npt.NDArray[np.int32]:
        """Part of each vertex by id, int32, shape (ids,); -1 for deleted vertices. A copy."""
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
        """Maximum of `limits` over all parts."""
        return int(self._problem.limits.max())

    @property
    @_undisturbed
    def limits(self) -> npt.NDArray[np.int64]:
        """Maximum weight of each part for the current graph, int64, shape (k,)."""
        return self._problem.limits.copy()

    @property
    @_undisturbed
    def lower_limits(self) -> npt.NDArray[np.int64]:
        """Minimum weight of each part for the current graph, int64, shape (k,)."""
        return self._problem.lower_limits.copy()

    @property
    @_undisturbed
    def feasible(self) -> bool:
        """Whether every part keeps its limits."""
        return not self._problem.excess_of(self._part_weights).any()

    @property
    @_undisturbed
    def vertices(self) -> IntArray:
        """Ids of the current vertices, ascending, int32, shape (n,)."""
        return np.flatnonzero(self._graph.is_present).astype(np.int32)

    @property
    @_on_device
    def graph(self) -> Graph:
        """The current graph; its vertex i has the id ``vertices[i]``."""
        return download(self._home, self._graph.extract()[0])

    def insert_edges(self, edges: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Update:
        """Insert edges: integers, shape (b, 2); weights, shape (b,), are 1 by default."""
        return self.update(Batch(insert_edges=edges, edge_weights=weights))

    def delete_edges(self, edges: npt.ArrayLike) -> Update:
        """Delete edges: integers, shape (b, 2)."""
        return self.update(Batch(delete_edges=edges))

    def insert_vertices(self, vertices: int | npt.ArrayLike) -> Update:
        """Insert a number of vertices of weight 1, or vertices of these weights, shape (b,)."""
        return self.update(Batch(insert_vertices=vertices))

    def delete_vertices(self, vertices: npt.ArrayLike) -> Update:
        """Delete vertices, and all their edges: integers, shape (b,)."""
        return self.update(Batch(delete_vertices=vertices))

    @_on_device
    def update(self, batch: Batch) -> Update:
        """Apply a batch of modifiers, and update the partition.

        Raises
        ------
        GraphError
            If a modifier is invalid: a vertex does not exist, an edge to delete does not exist, an
            edge to insert exists, a modifier occurs twice, an edge is a loop, a weight is
            negative, or weights overflow. Nothing has changed in this case.
        JetpyError
            If an earlier batch was interrupted.
        """
        self._check_intact()
        started = time.perf_counter()
        graph = self._graph
        modifiers = checked_batch(batch, graph.is_present)
        edits = resolve(graph, modifiers)
        first, dead = graph.ids, modifiers.deleted_vertices
        homes, gone = graph.parts.host[dead], graph.vertex_weights.host[dead]
        with self._half_way():
            np.subtract.at(self._part_weights, homes, gone)
            change = graph.apply(edits, self.k)
            modification_seconds = time.perf_counter() - started
            self._unrefined += len(modifiers)
            self._unpartitioned += len(modifiers)
            new = np.arange(first, graph.ids, dtype=np.int32)
            ends = edits.modifiers.vertices
            is_left = (ends < first) & graph.is_present[ends]
            modified = np.concatenate([ends[is_left], new])
            placed = self._placement.update(modified, self._part_weights, self._roomy.limits)
            self._cut += change + placed.growth
            self._lost += placed.loss
        moved, action, reason = self._renew(placed)
        seconds = time.perf_counter() - started
        return Update(new, self._cut, moved, action, reason, seconds, modification_seconds)

    @_on_device
    def rebuild(self) -> None:
        """Partition the graph from scratch, like the first time, and lay out its buckets again."""
        self._check_intact()
        with self._half_way():
            self._graph.lay_out()
        self._find_whole()

    @_undisturbed
    def __repr__(self) -> str:
        size = f"k={self.k}, n={self.n}, m={self.m}"
        if not self._intact:
            return f"IncrementalPartitioner({size}, interrupted during a batch)"
        imbalance = int(self._part_weights.max()) / max(self._problem.ideal, 1) - 1
        state = "feasible" if self.feasible else "NOT feasible"
        kept = f"cut={self.cut}, imbalance={max(imbalance, 0):.4f}, {state}"
        return f"IncrementalPartitioner({size}, {kept})"

    @contextmanager
    def _half_way(self) -> Iterator[None]:
        """Guard a change of the state: an exception, such as Ctrl-C, leaves it unusable."""
        self._intact = False
        yield
        self._intact = True

    def _check_intact(self) -> None:
        if not self._intact:
            raise JetpyError(
                "a batch was interrupted, so the partition is unusable; load a session that "
                "was saved before this batch"
            )

    @_on_device
    def _find_whole(self) -> None:
        """Partition the graph from scratch, with several seeds."""
        graph, ids = self._whole()
        weights, problem = self._graph.vertex_weights.host[ids], self._roomy
        seeds = [(problem.seed + i) % SEEDS for i in range(self.options.tries)]
        tries = (replace(problem, seed=seed) for seed in seeds)
        with telling(self._progress) as tell:
            outcomes = (partition_from_scratch(self._backend, graph, one, tell) for one in tries)
            outcome = best(outcomes, weights, problem)
        self._adopt(ids, weights, outcome, from_scratch=True)

    @property
    def _problem(self) -> Problem:
        return _problem_of(self._goal, self._graph.vertex_weight)

    @property
    def _roomy(self) -> Problem:
        """The problem with a limit that reserves room for a shrinking graph."""
        problem = self._problem
        unit = common_divisor(self._graph.vertex_weights.host) or 1
        divided = in_units(problem, unit, self.n)
        room = max(divided.limit - divided.ideal_in_units, 0)
        limit = unit * (divided.limit - room // SHRINKAGE)
        if divided.part_limits is None:
            return replace(problem, limit=limit)
        rooms = np.maximum(divided.part_limits - -(-divided.ideals // max(unit, 1)), 0)
        part_limits = unit * (divided.part_limits - rooms // SHRINKAGE)
        return replace(problem, limit=limit, part_limits=part_limits)

    def _renewal(self) -> tuple[str, str]:
        """Return the action that the whole partition needs, and its reason."""
        options, size = self.options, self.n + self.m
        if _exceeds(self._lost, options.max_drift, self._cut - self._lost):
            return "repartitioned", "drift"
        if _exceeds(self._unpartitioned, options.repartition_after, size):
            return "repartitioned", "changes"
        if _exceeds(self._unrefined, options.refine_after, size):
            return "refined", "changes"
        return ("placed", "") if self.feasible else ("refined", "balance")

    def _renew(self, placed: Placed) -> tuple[int, str, str]:
        """Refine or recompute the whole partition if necessary.

        Return the number of vertices that changed parts in the batch, placed ones included, the
        action, and its reason.
        """
        action, reason = self._renewal()
        if action == "placed":
            return placed.moved, action, reason
        before = self._graph.parts.host.copy()
        before[placed.vertices] = placed.previous
        self._renew_whole(from_scratch=action == "repartitioned")
        if reason == "balance" and not self.feasible:
            action = "repartitioned"
            self._renew_whole(from_scratch=True)
        return changed_parts(before, self._graph.parts.host, self.k), action, reason

    def _renew_whole(self, *, from_scratch: bool) -> None:
        """Refine the whole partition, or adopt a new one if better."""
        graph, ids = self._whole()
        before, weights = self._graph.parts.host[ids], self._graph.vertex_weights.host[ids]
        problem = self._roomy
        with telling(self._progress) as tell:
            outcome = refine_again(self._backend, graph, before, problem, tell)
            if from_scratch:
                other = partition_from_scratch(self._backend, graph, problem, tell)
                outcome = best([outcome, other], weights, problem)
        self._adopt(ids, weights, outcome, from_scratch=from_scratch)

    def _whole(self) -> tuple[DeviceGraph, IntArray]:
        """Return the graph on the back end, and the id of each vertex."""
        graph, vertices = self._graph.extract()
        ids = self._home.to_host(vertices)
        return carry_graph(graph, self._home, self._backend), ids

    def _adopt(
        self, ids: IntArray, weights: IntArray, outcome: Outcome, *, from_scratch: bool
    ) -> None:
        """Adopt a partition of the whole graph."""
        before = self._graph.parts.host[ids]
        parts = (
            renumbered(outcome.parts, before, weights, self._problem.kinds)
            if from_scratch
            else outcome.parts
        )
        with self._half_way():
            self._graph.parts.set(ids, parts)
            self._part_weights = np.bincount(parts, weights, self.k).astype(np.int64)
            self._begin(outcome.cut)
            if from_scratch:
                self._unpartitioned = 0

    def _begin(self, cut: int) -> None:
        """Reset the counters of changes and of the drift of the cut."""
        self._cut, self._lost, self._unrefined = cut, 0, 0
