"""Levels of a distributed hierarchy; small and dense levels are gathered on every process."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from jetpy.coarsening.constraints import WeightBounds, constrain
from jetpy.coarsening.matching import shake_hands
from jetpy.coarsening.two_hop import match_two_hop
from jetpy.device.device_graph import DeviceGraph, carry, carry_graph
from jetpy.distributed.band_flows import PieceFlows
from jetpy.distributed.block import UploadedRows
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.contraction import contract_pieces
from jetpy.distributed.gathering import Gathering, gather_graph, gather_rows
from jetpy.distributed.piece import Blocks, Piece, cut_out, narrow_piece
from jetpy.distributed.refinement import PieceRefinement
from jetpy.distributed.two_hop import PairElsewhere
from jetpy.engines.base import Array, Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.graph.csr import IntArray
from jetpy.kernel_language import Width
from jetpy.multilevel.hierarchy import HierarchyLevel
from jetpy.problem.options import CoarsenOptions
from jetpy.problem.problem import Problem
from jetpy.refinement.filling import count_vertices
from jetpy.refinement.finish import finish
from jetpy.refinement.flows import are_due
from jetpy.refinement.jet import Refined, Refinement
from jetpy.refinement.measures import Measures
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.multilevel.projection import inject


@dataclass(frozen=True, eq=False)
class WholeLevel(HierarchyLevel):
    """A level that every process has as a whole; the processes refine large ones in pieces.

    Attributes
    ----------
    gathering : Gathering
        Which levels are large: those that are gathered only because they are dense.
    terminals : int32, shape (terminals,), or None
        As for a `PieceLevel`.
    """

    gathering: Gathering = field(kw_only=True)
    terminals: IntArray | None = field(default=None, kw_only=True)

    def refine(
        self, problem: Problem, parts: Array, depth: int, known: Measures | None = None
    ) -> Refined:
        """Refine the parts of all vertices. Collective."""
        if self.graph.size <= self.gathering.size:
            return super().refine(problem, parts, depth, known)
        comm = self.processes
        assert isinstance(comm, Communicator)
        piece = cut_out(self.backend, comm, self.graph)
        shared = self.gathering, self.terminals
        level = piece_level(self.backend, piece, None, self.watch, *shared)
        own = level.with_ghosts(parts[piece.blocks.first : piece.blocks.end])
        refined = level.refine(self.own_problem(problem), own, depth, known)
        return replace(refined, parts=comm.gather(self.backend, refined.parts[: piece.n_owned]))

    def next_level(self, coarse: DeviceGraph, coarse_of: Array, watch: Stopwatch) -> HierarchyLevel:
        """Return the level of the next coarser graph."""
        level = super().next_level(coarse, coarse_of, watch)
        return WholeLevel(**vars(level), **self._own)

    @property
    def _own(self) -> dict[str, Any]:
        return {"gathering": self.gathering, "terminals": self.terminals}


@dataclass(frozen=True, eq=False)
class GatheredLevel(WholeLevel):
    """The first level of a hierarchy that every process has as a whole.

    Attributes
    ----------
    owned : Blocks
        The vertices of each process before gathering.
    source : Backend
        The back end of the pieces.
    """

    owned: Blocks = field(kw_only=True)
    source: Backend = field(kw_only=True)

    @property
    def whole(self) -> WholeLevel:
        """The level with the parts of all vertices on every process."""
        place = self.backend, self.graph, self.coarse_of, self.watch, self.blocks, self.pinned
        return WholeLevel(*place, self.processes, **self._own)

    def taken(self, parts: Array) -> Array:
        """Return the parts of all vertices, given those of owned vertices."""
        own = parts[: self.owned.end - self.owned.first]
        return carry(self.owned.comm.gather(self.source, own), self.source, self.backend)

    def finish(self, problem: Problem, refined: Refined) -> Refined:
        """Finish on the whole graph, and return the parts of the owned vertices."""
        return self.given_out(super().finish(problem, refined))

    def given_out(self, whole: Refined) -> Refined:
        """Return `whole` with the parts of owned vertices only, on the pieces' back end."""
        return replace(whole, parts=self.returned(whole.parts))

    def returned(self, parts: Array) -> Array:
        """Return the parts of owned vertices, on the pieces' back end, given those of all."""
        return carry(parts[self.owned.first : self.owned.end], self.backend, self.source)


@dataclass(frozen=True, eq=False)
class PieceLevel(HierarchyLevel):
    """A level that is distributed over all processes in pieces.

    Attributes
    ----------
    graph : Piece
    gathering : Gathering
        Which coarser levels are gathered.
    terminals : int32, shape (terminals,), on the host
        Parts of the last vertices of the whole graph, which never move. They are never contracted,
        so they are the last vertices of each level, in the same order; None for none.
    """

    graph: Piece
    gathering: Gathering = field(kw_only=True)
    terminals: IntArray | None = field(default=None, kw_only=True)
    refinement_type: ClassVar[type[Refinement]] = PieceRefinement

    def refine(
        self, problem: Problem, parts: Array, depth: int, known: Measures | None = None
    ) -> Refined:
        """Refine the parts (int32) of owned vertices, and copy them to the ghosts."""
        refinement, finest = self.refinement(problem), depth == 0
        refined = refinement.refine(parts, finest=finest, known=known)
        own = refinement.problem
        with_flows = own.options.refine.has_flows(depth)
        if not with_flows or not are_due(self.graph, own, refined.measures, finest=finest):
            return refined
        return self._improved_by_flows(own, refined, finest=finest)

    def _improved_by_flows(self, problem: Problem, refined: Refined, *, finest: bool) -> Refined:
        """Improve the parts by flows that all processes share. Collective."""
        flows = PieceFlows(self.backend, self.graph, problem, self.pinned)
        parts, measures = flows.improve(refined.parts, refined.measures, finest=finest)
        return replace(refined, parts=parts, measures=measures)

    def with_ghosts(self, parts: Array) -> Array:
        """Return the parts of owned vertices and ghosts, given those of owned vertices."""
        piece, whole = self.graph, self.backend.empty(self.graph.n_with_ghosts)
        whole[: piece.n_owned] = parts[: piece.n_owned]
        piece.halo.exchange_ghosts(whole)
        return whole

    def finish(self, problem: Problem, refined: Refined) -> Refined:
        """Finish after the refinement of the finest level, on the whole graph if necessary."""
        own = self.refinement(problem).problem
        if refined.measures.overload(own) <= 0 and not (own.fill and self._has_empty(own, refined)):
            return refined
        level = self.alone()
        around = Refinement(level.backend, level.graph, own, level.pinned)
        whole = replace(refined, parts=level.taken(refined.parts))
        return level.given_out(finish(around, whole))

    def _has_empty(self, problem: Problem, refined: Refined) -> bool:
        """Return whether a part has no vertex but placeholders. Collective."""
        weights = refined.measures.part_weights
        placeholders = np.int64(0) if problem.placeholders is None else problem.placeholders
        if (weights > placeholders).all():
            return False
        sizes = count_vertices(self.backend, self.graph, refined.parts, len(weights))
        return bool((self.backend.to_host(sizes) <= placeholders).any())

    @property
    def labels(self) -> Array | None:
        """Labels as for one process, including those of ghosts. Collective."""
        own = super().labels
        return None if own is None else self.with_ghosts(own)

    def with_communities(self, seed: int) -> HierarchyLevel:
        """Return the level with communities that each process finds in the whole graph."""
        whole = self.alone()
        found = whole.with_communities(seed).communities
        if found is None:
            return self
        own = found[self.graph.blocks.first : self.graph.blocks.end]
        return replace(self, communities=carry(own.copy(), whole.backend, self.backend))

    def contract(
        self, options: CoarsenOptions, bounds: WeightBounds, salt: int
    ) -> tuple[DeviceGraph, Array]:
        """Return the piece of the coarse graph, and the coarse vertex of each owned vertex."""
        return coarsen_piece(self.backend, self.graph, options, bounds, salt, self.labels)

    def next_level(self, coarse: DeviceGraph, coarse_of: Array, watch: Stopwatch) -> HierarchyLevel:
        """Return the level of the next coarser graph; gather it if it is small or dense."""
        assert isinstance(coarse, Piece)
        blocks, communities, pinned = (
            None if values is None else self._injected(coarse, coarse_of, values)
            for values in (self.blocks, self.communities, self._pinned)
        )
        level = self._like(self.backend, coarse, coarse_of, watch, blocks)
        if pinned is not None:
            level = replace(level, pinned=pinned)
        return replace(level, communities=communities).gathered_if_due()

    @property
    def _pinned(self) -> Array | None:
        """Parts of pinned vertices that are not terminals, which every level knows."""
        return self.pinned if self.terminals is None else None

    def _like(
        self,
        backend: Backend,
        piece: Piece,
        coarse_of: Array | None,
        watch: Stopwatch,
        blocks: Array | None,
    ) -> PieceLevel:
        """Return a level with the same gathering and terminals."""
        shared = self.gathering, self.terminals
        return piece_level(backend, piece, coarse_of, watch, *shared, blocks)

    def _injected(self, coarse: Piece, coarse_of: Array, values: Array) -> Array:
        """Return values (int32, -1 for none) of owned vertices as those of owned coarse ones."""
        found = self.backend.full(coarse.n_with_ghosts, -1)
        self.backend.parallel_for(
            len(coarse_of), inject, coarse_of=coarse_of, parts=values, coarse_parts=found
        )
        coarse.halo.return_ghosts(found)
        return found[: coarse.n_owned].copy()

    def without_edges(self) -> HierarchyLevel:
        """Return the whole level, because its halo is needed."""
        return self

    def with_narrow_kernels(self, problem: Problem) -> HierarchyLevel:
        """Return the level as the finest level of a 32-bit graph."""
        own = self.backend.with_width(Width.NARROW)
        watch = Stopwatch(own, "coarsen", 0)
        piece = narrow_piece(self.backend, self.graph, problem)
        return self._like(own, piece, None, watch, self.blocks).gathered_if_due()

    def gathered_if_due(self) -> HierarchyLevel:
        """Return this level, or the gathered one if `gathering` includes it. Collective."""
        return self.alone() if self.gathering.includes(self.graph) else self

    def alone(self) -> GatheredLevel:
        """Return the level with the whole graph on every process. Collective.

        Raises
        ------
        OutOfMemoryError
            If a machine has too little memory for it.
        """
        backend, piece, coarse_of = self.backend, self.graph, self.coarse_of
        if coarse_of is not None:
            coarse_of = piece.halo.ids_of(coarse_of)
        whole, comm = gather_graph(backend, piece), piece.blocks.comm
        blocks, communities, pinned = (
            None if values is None else comm.gather(backend, values)
            for values in (self.blocks, self.communities, self._pinned)
        )
        own = self.watch, self.gathering, self.terminals, blocks
        level = gathered_level(backend, whole, piece.blocks, coarse_of, *own)
        if pinned is not None:
            level = replace(level, pinned=carry(pinned, backend, level.backend))
        if communities is not None:
            level = replace(level, communities=carry(communities, backend, level.backend))
        return level


def coarsen_piece(
    backend: Backend,
    piece: Piece,
    options: CoarsenOptions,
    bounds: WeightBounds,
    salt: int,
    labels: Array | None = None,
) -> tuple[Piece, Array]:
    """Return the piece of the coarse graph, and the coarse vertex of each owned vertex.

    Only vertices with the same label (int32, with those of ghosts) are contracted. Collective.
    """
    constraints = constrain(backend, piece, bounds, labels)
    match = shake_hands(backend, piece, options, constraints, salt)
    partners = piece.halo.ids_of(match[: piece.n_owned])
    match_two_hop(backend, piece, options, match, constraints, PairElsewhere(partners))
    return contract_pieces(backend, piece, partners)


def gathered_level(
    backend: Backend,
    whole: DeviceGraph,
    blocks: Blocks,
    coarse_of: Array | None,
    watch: Stopwatch,
    gathering: Gathering,
    terminals: IntArray | None,
    labels: Array | None = None,
) -> GatheredLevel:
    """Return a gathered graph as a level, on a back end chosen by its size.

    `labels` are the blocks of coarsening (`HierarchyLevel.blocks`), `gathering` and `terminals`
    those of a `PieceLevel`.
    """
    suited = backend.for_size(whole.size)
    graph = carry_graph(whole, backend, suited)
    if labels is not None:
        labels = carry(labels, backend, suited)
    pinned = pinned_to(suited, whole.n, 0, whole.n, terminals)
    place = suited, graph, coarse_of, watch, labels, pinned, blocks.comm
    more: dict[str, Any] = {"gathering": gathering, "terminals": terminals}
    return GatheredLevel(*place, **more, owned=blocks, source=backend)


def finest_of(
    rows: UploadedRows, gathering: Gathering, terminals: IntArray | None = None
) -> HierarchyLevel:
    """Return the finest level of a graph, gathered or in pieces. Collective.

    `terminals` as for a `PieceLevel`.
    """
    backend = rows.backend
    watch = Stopwatch(backend, "coarsen", 0)
    if gathering.includes(rows):
        whole, shared = gather_rows(rows), (gathering, terminals)
        return gathered_level(backend, whole, rows.blocks, None, watch, *shared)
    return piece_level(backend, rows.as_piece(), None, watch, gathering, terminals)


def piece_level(
    backend: Backend,
    piece: Piece,
    coarse_of: Array | None,
    watch: Stopwatch,
    gathering: Gathering,
    terminals: IntArray | None,
    labels: Array | None = None,
) -> PieceLevel:
    """Return a piece as a level; arguments as for a `PieceLevel` and `gathered_level`."""
    pinned = pinned_to(backend, piece.global_n, piece.blocks.first, piece.blocks.end, terminals)
    more: dict[str, Any] = {"gathering": gathering, "terminals": terminals}
    return PieceLevel(backend, piece, coarse_of, watch, labels, pinned, **more)


def pinned_to(
    backend: Backend, n: int, first: int, end: int, terminals: IntArray | None
) -> Array | None:
    """Return the parts of vertices ``first..end - 1`` that never move, -1 for free ones.

    `terminals` (int32) are the parts of the last of n vertices; without any, the result is None.
    """
    if terminals is None:
        return None
    pinned = np.full(end - first, NO_PART, np.int32)
    before = n - len(terminals)
    start = max(first, before)
    if start < end:
        pinned[start - first :] = terminals[start - before : end - before]
    return backend.from_host(pinned)
