"""Levels with several weights per vertex, the first of them in pieces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from jetpy.constraints.level_weights import add_up, as_weights, carried, loads_of, sums_of
from jetpy.constraints.multiconstraint import Levels, make_passes
from jetpy.constraints.multiconstraint_jet import SeveralRefinement
from jetpy.distributed.band_flows import PieceFlows
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.levels import GatheredLevel, PieceLevel
from jetpy.distributed.piece import Blocks
from jetpy.distributed.refinement import PieceRefinement
from jetpy.distributed.routing import send_to_owners
from jetpy.distributed.run import part_sizes
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import IntArray
from jetpy.multilevel.hierarchy import HierarchyLevel
from jetpy.problem.multiconstraint import MultiConstraint
from jetpy.problem.problem import Problem
from jetpy.refinement.measures import Measures


def summed(comm: Communicator, table: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the sums of a table over all processes. Collective."""
    return np.reshape(comm.totals(*table.ravel().tolist()), table.shape).astype(np.int64)


def owned_of(blocks: Blocks, parts: IntArray) -> IntArray:
    """Return the parts of owned vertices, given those, or those of all vertices."""
    return parts if len(parts) < blocks.n else parts[blocks.first : blocks.end].copy()


def gathered(
    several: MultiConstraint, source: Backend, comm: Communicator, target: Backend
) -> MultiConstraint:
    """Return constraints with the weights of all vertices, given those of owned ones.

    They move from the back end `source` to `target`. Collective.
    """
    every = comm.gather(source, several.weights.ravel()).reshape(-1, several.weights.shape[1])
    return carried(replace(several, weights=every), source, target)


class SeveralPieceRefinement(SeveralRefinement, PieceRefinement):
    """Refinement by Jet of a level in pieces, with several weights per vertex."""


class PieceLevels(Levels):
    """A hierarchy whose first levels are in pieces, with the weights of owned vertices there.

    What Jet does not do, one process does for a whole level: all processes gather it.
    """

    @classmethod
    def of(
        cls, hierarchy: list[HierarchyLevel], several: MultiConstraint, problem: Problem
    ) -> Levels:
        """Return the levels of a hierarchy, given the constraints of the finest level. Collective.

        If that level is the coarsest, too, it is gathered, and so are its constraints.
        """
        finest = hierarchy[0]
        if not isinstance(finest, GatheredLevel):
            return super().of(hierarchy, several, problem)
        own = gathered(several, finest.source, finest.owned.comm, finest.backend)
        return Levels.of(hierarchy, own, problem)

    def owned(self, parts: IntArray) -> IntArray:
        """Return the parts of owned vertices, given those, or those of all vertices."""
        level = self.hierarchy[0]
        assert isinstance(level, PieceLevel)
        return owned_of(level.graph.blocks, parts)

    @staticmethod
    def coarsened(
        several: MultiConstraint, finer: HierarchyLevel, level: HierarchyLevel
    ) -> MultiConstraint:
        """Return the constraints of a level, given those of the next finer level. Collective."""
        if not isinstance(finer, PieceLevel):
            return Levels.coarsened(several, finer, level)
        backend, kinds, comm = finer.backend, several.weights.shape[1], finer.graph.blocks.comm
        if not isinstance(level, PieceLevel):
            sums = sums_of(backend, several.weights, level.coarse_of, level.graph.n)
            comm.allreduce(backend, sums)
            whole = replace(several, weights=as_weights(sums, kinds))
            return carried(whole, backend, level.backend)
        coarse, owned = level.graph, level.graph.n_owned * kinds
        sums = sums_of(backend, several.weights, level.coarse_of, coarse.n_with_ghosts)
        ids = backend.to_host(coarse.halo.ghosts)
        elsewhere = as_weights(backend.to_host(sums[owned:]), kinds)
        ids, *columns = send_to_owners(backend.host, coarse.blocks, ids, *elsewhere.T)
        groups = backend.from_host((ids - coarse.blocks.first).astype(np.int32))
        received = backend.from_host(np.stack(columns, axis=1).ravel()).reshape(-1, kinds)
        add_up(backend, received, groups, sums)
        return replace(several, weights=as_weights(sums[:owned], kinds))

    def jet(self, depth: int) -> SeveralRefinement:
        """Return the refinement of a level by Jet."""
        level = self.hierarchy[depth]
        if not isinstance(level, PieceLevel):
            return super().jet(depth)
        return SeveralPieceRefinement(level, self.problem, self.constraints[depth])

    def held(self, depth: int, parts: Array) -> npt.NDArray[np.int64]:
        """Return the weights of parts of a level, int64, shape (k, c). Collective."""
        own, level = super().held(depth, parts), self.hierarchy[depth]
        return summed(level.graph.blocks.comm, own) if isinstance(level, PieceLevel) else own

    def passes(self, depth: int, parts: Array, seed: int, passes: int) -> Array:
        """Relieve parts, and then make at most `passes` passes, on the host. Collective."""
        level = self.hierarchy[depth]
        if not isinstance(level, PieceLevel):
            return super().passes(depth, parts, seed, passes)
        whole = level.alone()
        own = whole, self._whole(depth, whole), whole.taken(parts)
        return whole.returned(make_passes(*own, seed, passes))

    def improved_by_flows(
        self, depth: int, parts: Array, problem: Problem, measures: Measures
    ) -> Array:
        """Improve pairs of parts of a level by flows that keep all limits. Collective."""
        level = self.hierarchy[depth]
        if not isinstance(level, PieceLevel):
            return super().improved_by_flows(depth, parts, problem, measures)
        backend, host = level.backend, level.backend.host
        own = loads_of(host, carried(self.constraints[depth], backend, host))
        own = replace(own, loads=self.held(depth, parts).ravel())
        flows = PieceFlows(backend, level.graph, problem, level.pinned, own)
        return flows.improve(parts, measures, finest=depth == 0)[0]

    def filled(self, parts: IntArray) -> IntArray:
        """Return parts of the finest level, none of them empty if the problem asks for that.

        Collective.
        """
        level, problem = self.hierarchy[0], self.problem
        assert isinstance(level, PieceLevel)
        if not problem.fill or 0 not in part_sizes(level.graph.blocks, parts, problem.k):
            return parts
        whole = level.alone()
        levels = Levels([whole], [self._whole(0, whole)], problem)
        every = whole.backend.to_host(whole.taken(level.backend.from_host(parts)))
        return self.owned(levels.filled(every))

    def _whole(self, depth: int, whole: GatheredLevel) -> MultiConstraint:
        return gathered(self.constraints[depth], whole.source, whole.owned.comm, whole.backend)
