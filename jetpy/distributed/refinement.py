"""Refinement of a piece: all processes run the same iterations.

Every process has the control block, the part weights and the plan of the whole partition, so all
make the same decisions. Between GPUs, iterations are captured as on one device, including
communication. Otherwise the host reads the task of each iteration and launches its kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jetpy.engines.base import Array
from jetpy.refinement.jet import Refinement
from jetpy.refinement.measures import Measures
from jetpy.refinement.state import MAX_MOVED, RefinementState
from jetpy.workloads.common import ghosts as ghost_kernels
from jetpy.workloads.common.control_block import Control, Counter, Task
from jetpy.workloads.distributed import shared_counts as kernels
from jetpy.workloads.distributed.shared_counts import AfterMoves, AfterUpdate, Shared


class PieceState(RefinementState):
    """State of a piece's refinement; part weights and cut are those of the whole graph."""

    graph: Any

    def __init__(self, *level: Any) -> None:
        super().__init__(*level)
        k = self.partition.k
        sizes = k, k + len(AfterMoves), len(AfterUpdate)
        self._shared = Shared(*(self.backend.full(size, 0, np.int64) for size in sizes))
        self._common_reach = 0

    def start(self, parts: Array, known: Measures | None = None) -> None:
        """Copy `parts`, which cover at least the owned vertices. Collective."""
        super().start(parts, known)
        self._shared.weights_before[:] = self.partition.part_weights
        inactive = self.graph.n - int(self.dual.counters.host[Counter.ACTIVE])
        self.dual.control.host[Control.INACTIVE] = self._agree_on_reach(inactive)
        self.dual.control.host[Control.WITHOUT_ROOM] = 0

    def make_room(self) -> None:
        """Let launches reach all active vertices. Collective."""
        super().make_room()
        self._agree_on_reach(0)
        self.dual.control.host[Control.WITHOUT_ROOM] = 0

    def _agree_on_reach(self, count: int) -> int:
        """Return the sum of `count` over all pieces; if one must capture launches again, all do.

        All processes must capture NCCL calls at the same time. Collective.
        """
        has_changed = int(self.launches.reach != self._common_reach)
        total: int
        total, changed = self.graph.halo.totals(count, has_changed)
        self._common_reach += changed
        self.launches.reach = self._common_reach
        return total

    def share_moves(self, *, may_rebuild: bool) -> None:
        """Exchange the moves of all pieces before an update that may rebuild rows. Collective."""
        graph, backend = self.graph, self.backend
        arguments = {"shared": self._shared, "state": self}
        backend.parallel_for(
            self.partition.k + 1, kernels.pack_moves, may_rebuild=int(may_rebuild), **arguments
        )
        graph.halo.allreduce(self._shared.moves)
        backend.parallel_for(
            self.partition.k + 1,
            kernels.unpack_moves,
            pieces=graph.halo.pieces,
            max_moved=graph.global_n // MAX_MOVED,
            **arguments,
        )
        graph.halo.exchange_ghosts(self.partition.parts)
        backend.parallel_for(
            graph.n_with_ghosts - graph.n_owned,
            ghost_kernels.list_moved_ghosts,
            graph=graph,
            state=self,
        )

    def sum_up(self) -> None:
        """Sum the counts of an update over all pieces. Collective."""
        graph, backend = self.graph, self.backend
        arguments = {"shared": self._shared, "state": self}
        backend.parallel_for(1, kernels.pack_update, n=graph.n, **arguments)
        graph.halo.allreduce(self._shared.updates)
        ghosts = graph.n_with_ghosts - graph.n_owned
        backend.parallel_for(
            ghosts + 1, kernels.unpack_update, ghosts=ghosts, graph=graph, **arguments
        )


class PieceRefinement(Refinement):
    """Refinement of a level that is distributed over all processes in pieces."""

    state_type = PieceState

    def enqueue_iterations(self) -> None:
        """Enqueue captured iterations as on one device, or run one after reading its task."""
        if self.state.graph.halo.can_be_captured:
            super().enqueue_iterations()
            return
        control = self.state.dual.control
        self.begin()
        self.backend.sync_host(control)
        self.backend.synchronize()
        task = control.host[Control.TASK]
        if task == Task.PROPAGATE:
            self.refiner.launch()
        elif task != Task.NOTHING:
            self.rebalancing.launch()
        else:
            return
        self.state.launch_update()

    def best(self) -> tuple[Array, Measures]:
        """Return the best partition since the start, including the parts of ghosts."""
        parts, measures = super().best()
        self.state.graph.halo.exchange_ghosts(parts)
        return parts, measures
