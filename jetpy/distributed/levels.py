"""Levels of a distributed hierarchy; small and dense levels are gathered on every process."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from jetpy.coarsening.constraints import constrain
from jetpy.coarsening.matching import shake_hands
from jetpy.coarsening.methods import is_dense
from jetpy.coarsening.two_hop import match_two_hop
from jetpy.device.device_graph import DeviceGraph, carry, carry_graph
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.contraction import contract_pieces
from jetpy.distributed.gathering import gather_graph, gather_values, owned_values
from jetpy.distributed.piece import Piece, narrow_piece
from jetpy.distributed.refinement import PieceRefinement
from jetpy.distributed.two_hop import PairElsewhere
from jetpy.engines.base import Array, Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.kernel_language import Width
from jetpy.multilevel.hierarchy import HierarchyLevel
from jetpy.problem.options import CoarsenOptions, Options
from jetpy.problem.problem import Problem
from jetpy.refinement.filling import count_vertices
from jetpy.refinement.finish import finish
from jetpy.refinement.jet import Refined, Refinement

SMALL, SMALL_ON_GPUS = 1_000_000, 4_000_000
"""Maximum number of vertices and directed edges together of a level that is always gathered: its
refinement takes one process little time or, on a GPU, hardly more than communication would."""


@dataclass(frozen=True)
class Gathering:
    """Which levels are gathered on every process.

    Attributes
    ----------
    size : float
        Number of vertices and directed edges together up to which levels are gathered.
    coarsen : CoarsenOptions
        Decides which levels are dense. They are gathered, because no groups span several pieces.
    """

    size: float
    coarsen: CoarsenOptions

    def includes(self, piece: Piece) -> bool:
        """Return whether the level of a piece is gathered."""
        return piece.global_size <= self.size or is_dense(piece, self.coarsen)


def gathering_of(options: Options, comm: Communicator, small: int | None) -> Gathering:
    """Return which levels are gathered.

    Each process computes branches, V-cycles, flows and populations alone, so the options may raise
    the size. `small` is None for the default.
    """
    if small is None:
        small = SMALL_ON_GPUS if comm.is_between_gpus else SMALL
    sizes: list[float] = [small]
    if options.branches:
        sizes.append(options.portfolio_limit)
    if options.cycles:
        sizes.append(float("inf") if options.cycle_limit is None else options.cycle_limit)
    if options.refine.flow_sweeps:
        sizes.append(options.refine.flow_size)
    is_other = options.coarsen.method != "two-hop" or options.refine.method != "jet"
    if is_other or options.generations > 1:
        sizes.append(float("inf"))
    return Gathering(max(sizes), options.coarsen)


@dataclass(frozen=True, eq=False)
class GatheredLevel(HierarchyLevel):
    """A level that every process has as a whole.

    Attributes
    ----------
    piece : Piece
        The piece of this process before gathering.
    source : Backend
        The back end of `piece`.
    """

    piece: Piece | None = None
    source: Backend | None = None

    def taken(self, parts: Array) -> Array:
        """Return the parts of all vertices, given those of owned vertices."""
        assert self.piece is not None
        assert self.source is not None
        gathered = gather_values(self.source, self.piece, parts)
        return carry(gathered, self.source, self.backend)

    def finish(self, problem: Problem, refined: Refined) -> Refined:
        """Finish on the whole graph, and return the parts of the owned vertices."""
        return self.given_out(super().finish(problem, refined))

    def given_out(self, whole: Refined) -> Refined:
        """Return `whole` with the parts of owned vertices only, on the piece's back end."""
        assert self.piece is not None
        assert self.source is not None
        parts = owned_values(self.piece, whole.parts)
        return replace(whole, parts=carry(parts, self.backend, self.source))


@dataclass(frozen=True, eq=False)
class PieceLevel(HierarchyLevel):
    """A level that is distributed over all processes in pieces.

    Attributes
    ----------
    graph : Piece
    gathering : Gathering
        Which coarser levels are gathered.
    """

    graph: Piece
    gathering: Gathering = field(kw_only=True)
    refinement_type: ClassVar[type[Refinement]] = PieceRefinement

    def refine(self, problem: Problem, parts: Array, depth: int, known: object = None) -> Refined:
        """Refine the parts (int32) of owned vertices, and copy them to the ghosts."""
        refinement = self.refinement(problem)
        return refinement.refine(parts, finest=depth == 0, known=known)  # type: ignore[arg-type]

    def with_ghosts(self, parts: Array) -> Array:
        """Return the parts of owned vertices and ghosts, given those of owned vertices."""
        piece, whole = self.graph, self.backend.empty(self.graph.n_with_ghosts)
        whole[: piece.n_owned] = parts[: piece.n_owned]
        piece.halo.exchange_ghosts(whole)
        return whole

    def finish(self, problem: Problem, refined: Refined) -> Refined:
        """Finish after the refinement of the finest level, on the whole graph if necessary."""
        own = self.refinement(problem).problem
        if refined.measures.overload(own) <= 0 and not (own.fill and self._has_empty(refined)):
            return refined
        graph = gather_graph(self.backend, self.graph)
        parts = gather_values(self.backend, self.graph, refined.parts)
        whole = finish(Refinement(self.backend, graph, own), replace(refined, parts=parts))
        return replace(whole, parts=owned_values(self.graph, whole.parts))

    def _has_empty(self, refined: Refined) -> bool:
        """Return whether a part has no vertex. Collective."""
        weights = refined.measures.part_weights
        if weights.all():
            return False
        sizes = count_vertices(self.backend, self.graph, refined.parts, len(weights))
        return not sizes.all()

    def contract(self, options: CoarsenOptions, limit: int, salt: int) -> tuple[DeviceGraph, Array]:
        """Return the piece of the coarse graph, and the coarse vertex of each owned vertex."""
        backend, piece = self.backend, self.graph
        constraints = constrain(backend, piece, limit, None)
        match = shake_hands(backend, piece, options, constraints, salt)
        partners = piece.halo.ids_of(match[: piece.n_owned])
        match_two_hop(backend, piece, options, match, constraints, PairElsewhere(partners))
        return contract_pieces(backend, piece, partners)

    def next_level(self, coarse: DeviceGraph, coarse_of: Array, watch: Stopwatch) -> HierarchyLevel:
        """Return the level of the next coarser graph; gather it if it is small or dense."""
        assert isinstance(coarse, Piece)
        level = PieceLevel(self.backend, coarse, coarse_of, watch, gathering=self.gathering)
        return level.gathered_if_due()

    def with_narrow_kernels(self, problem: Problem) -> HierarchyLevel:
        """Return the level as the finest level of a 32-bit graph."""
        own = self.backend.with_width(Width.NARROW)
        watch = Stopwatch(own, "coarsen", 0)
        piece = narrow_piece(self.backend, self.graph, problem)
        return PieceLevel(own, piece, None, watch, gathering=self.gathering).gathered_if_due()

    def gathered_if_due(self) -> HierarchyLevel:
        """Return this level, or the gathered one if `gathering` includes it. Collective."""
        return self.alone() if self.gathering.includes(self.graph) else self

    def alone(self) -> HierarchyLevel:
        """Return the level with the whole graph on every process. Collective."""
        backend, piece = self.backend, self.graph
        suited = backend.for_size(piece.global_size)
        whole = carry_graph(gather_graph(backend, piece), backend, suited)
        coarse_of = self.coarse_of
        if coarse_of is not None:
            coarse_of = piece.halo.ids_of(coarse_of)
        return GatheredLevel(suited, whole, coarse_of, self.watch, piece=piece, source=backend)
