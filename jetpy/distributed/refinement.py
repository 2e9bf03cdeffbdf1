"""Refinement of a piece: iterations of all processes side by side, each with a look at the results.

Everybody has the control block, the part weights and the plan of the whole partition, and so takes
the same decisions.
"""

from __future__ import annotations

from typing import Any

from jetpy.backends.base import Array
from jetpy.graph import INT32_MAX
from jetpy.refinement.jet import Refinement
from jetpy.refinement.measures import Measures
from jetpy.refinement.state import MOST_MOVED, RefinementState
from jetpy.workloads import ghosts as kernels
from jetpy.workloads.control_block import SECTIONS, Control, Counter, Task

ALWAYS, NEVER = -1, INT32_MAX
"""Moved vertices above which rows are built anew, where that is decided already."""
CHANGES, MOVED = (
    slice(Counter.CUT_CHANGE, Counter.CUT_CHANGE + SECTIONS),
    slice(Counter.MOVED, Counter.MOVED + SECTIONS),
)


class PieceState(RefinementState):
    """The state of a piece's refinement; part weights and cut are those of the whole graph."""

    graph: Any

    def start(self, parts: Array, known: Measures | None = None) -> None:
        """Take over the contents of `parts`, at least those of own vertices."""
        super().start(parts, known)
        self._weights_before = self.part_weights.copy()
        self._moved = 0
        self._count_inactive()

    def choose_room(self) -> None:
        """Let launches reach all own vertices."""
        self.active_count = self.graph.n
        self.control_block.host[Control.ROOM] = INT32_MAX

    @property
    def may_activate(self) -> int:
        """Active vertices from which on there are no others that could be activated, anywhere."""
        return INT32_MAX if self._inactive else 0

    def share_moves(self) -> int:
        """Hear of the moves of other pieces; return how many may have moved for an update."""
        graph, halo = self.graph, self.graph.halo
        self.backend.pull(self.counts)
        self.backend.synchronize()
        self._moved = halo.total(int(self.counts.host[MOVED].sum()))
        if self._moved:
            change = self.part_weights - self._weights_before
            halo.add_up(change)
            self.part_weights[:] = self._weights_before + change
            self._weights_before[:] = self.part_weights
            halo.follow(self.parts)
            self.backend.parallel_for(
                graph.places - graph.own, kernels.list_moved_ghosts, graph=graph, state=self
            )
        return ALWAYS if self._moved > graph.all_n // MOST_MOVED else NEVER

    def sum_up(self) -> None:
        """Sum up, over all pieces, what an update has counted."""
        self.backend.pull(self.counts)
        self.backend.synchronize()
        counts = self.counts.host
        change = self._count_inactive(int(counts[CHANGES].sum()))
        counts[CHANGES], counts[MOVED] = 0, 0
        counts[Counter.CUT_CHANGE], counts[Counter.MOVED] = change, self._moved
        self.backend.push(self.counts)
        self.previous[self.graph.own :] = self.parts[self.graph.own :]

    def _count_inactive(self, change: int = 0) -> int:
        """Count the inactive vertices of all pieces; return the sum of a change, too."""
        inactive = self.graph.n - int(self.counts.host[Counter.ACTIVE])
        total: int
        self._inactive, total = self.graph.halo.totals(inactive, change)
        return total


class PieceRefinement(Refinement):
    """Refinement of a level of which every process has a piece."""

    state_type = PieceState

    def send_off(self) -> None:
        """Make an iteration."""
        control = self.state.control_block
        self.begin()
        self.backend.pull(control)
        self.backend.synchronize()
        task = control.host[Control.TASK]
        if task == Task.PROPAGATE:
            self.improvement.launch()
        elif task in (Task.REBALANCE_WEAKLY, Task.REBALANCE_STRONGLY):
            self.rebalancing.launch()
        else:
            return
        self.state.launch_update()

    def best(self) -> tuple[Array, Measures]:
        """Return the best partition since the start, ghosts included."""
        parts, measures = super().best()
        self.state.graph.halo.follow(parts)
        return parts, measures
