"""Jet with several weights per vertex, for the large levels of a hierarchy."""

from __future__ import annotations

from typing import Any

import numpy as np

from jetpy.constraints.level_weights import add_up, loads_of
from jetpy.engines.base import Array, Count
from jetpy.multilevel.hierarchy import HierarchyLevel
from jetpy.problem.multiconstraint import WHOLE, MultiConstraint
from jetpy.problem.options import INT32_MAX
from jetpy.problem.problem import Problem
from jetpy.refinement.jet import Refinement
from jetpy.refinement.jetlp import LabelPropagation
from jetpy.refinement.measures import Measures
from jetpy.refinement.methods import Refiner
from jetpy.refinement.rebalance import Rebalancer
from jetpy.refinement.state import RefinementState
from jetpy.workloads.common.control_block import COUNTER_STRIPES, Control, Tasks
from jetpy.workloads.common.loads import Loads
from jetpy.workloads.common.striped_counters import APART
from jetpy.workloads.constraints import multiconstraint_jet as kernels
from jetpy.workloads.refinement.losses import BUCKETS

UNLIMITED = 1000
"""Overfill in percent of presets without a limit."""


class Admission:
    """Moves vertices to their destinations, as far as these have room for all weights."""

    def __init__(self, state: RefinementState, several: Loads) -> None:
        backend, k, stripes = state.backend, state.partition.k, state.launches.stripes
        overfill = state.problem.options.refine.overfill
        self._state, self._several = state, several
        self.inflow = kernels.Inflow(
            ranks=backend.empty(state.room),
            incoming=backend.full(k * BUCKETS * several.kinds * stripes, 0, np.int64),
            outgoing=backend.full((k * several.kinds + APART) * stripes, 0, np.int64),
            lowest_ranks=backend.empty(k),
            shares=backend.empty(k, np.int64),
            changes=backend.full(k * several.kinds, 0, np.int64),
            stripes=stripes,
            overfill=UNLIMITED if overfill is None else overfill,
        )

    def launch(self, count: int | Count, vertices: Array) -> None:
        """Move those of the first `count` listed vertices that have a rank."""
        state, launch, inflow = self._state, self._state.backend.parallel_for, self.inflow
        own = {"several": self._several, "inflow": inflow, "state": state}
        launch(count, kernels.tally_inflow, vertices=vertices, **own)
        stripes = (inflow.stripes, inflow.stripes)
        state.graph.halo.allreduce(inflow.incoming, inflow.outgoing, stripes=stripes)
        launch(state.partition.k, kernels.cap_inflow, **own)
        launch(count, kernels.admit, vertices=vertices, graph=state.graph, **own)
        state.graph.halo.allreduce(inflow.changes)


class SeveralPropagation(LabelPropagation):
    """Jetlp whose parts admit vertices by all of their weights."""

    def __init__(self, state: RefinementState, admission: Admission) -> None:
        self._admission = admission
        super().__init__(state)
        self._mean = max(1, state.problem.total // max(1, state.graph.global_n))

    def _make_cap(self, overfill: int | None) -> Any:
        return self._admission

    def _admit(self, count: int | Count, arguments: dict[str, Any]) -> None:
        inflow, vertices = self._admission.inflow, self._proposals.vertices
        self._state.backend.parallel_for(
            count, kernels.rank_gains, mean=self._mean, inflow=inflow, **arguments
        )
        self._admission.launch(count, vertices)


class SeveralRebalancing:
    """Rebalancing of all weights."""

    def __init__(
        self, state: RefinementState, several: MultiConstraint, own: Loads, admission: Admission
    ) -> None:
        backend, k, stripes = state.backend, state.partition.k, state.launches.stripes
        self._state, self._several, self._own, self._admission = state, several, own, admission
        self._vertices = state.launches.vertices()
        self._shedding = kernels.Shedding(
            reliefs=backend.empty(state.room),
            buckets=backend.empty(state.room),
            tallies=backend.full(k * BUCKETS * own.kinds * stripes, 0, np.int64),
            stripes=stripes,
            last_buckets=backend.empty(k),
            digits=backend.full(k * kernels.DIGITS * own.kinds, 0, np.int64),
            last_digits=backend.empty(k),
            needed=backend.empty(k * own.kinds, np.int64),
            ideals=backend.from_host(several.ideals.ravel()),
            mean_relief=max(1, own.kinds * WHOLE // max(1, state.graph.global_n)),
        )

    def move(self) -> None:
        """Raise an error: each level has a refinement of its own."""
        raise NotImplementedError

    def start(self, measures: Measures) -> int:
        """Start with the partition of the state; return its scaled excess."""
        state, loads = self._state, self._own.loads
        state.backend.fill(loads, 0)
        add_up(state.backend, self._several.weights, state.partition.parts, loads)
        state.graph.halo.allreduce(loads)
        control = state.dual.control.host
        control[Control.EXTRA_PATIENCE] = 1
        control[Control.MAX_WEAK_ITERATIONS] = INT32_MAX
        held = np.reshape(state.backend.to_host(loads), self._several.limits.shape)
        return self._several.excess_of(held)

    def begin(self, tasks: Tasks, best_weights: Array) -> None:
        """Begin an iteration, if one of the tasks is due."""
        state, launch = self._state, self._state.backend.parallel_for
        own = {"several": self._own, "inflow": self._admission.inflow}
        launch(1, kernels.begin_iteration, tasks=tasks, state=state, **own)
        most = max(state.partition.k, COUNTER_STRIPES)
        launch(most, kernels.begin_chosen, best_weights=best_weights, state=state)

    def launch(self) -> None:
        """Move vertices out of parts above a limit."""
        state, launch = self._state, self._state.backend.parallel_for
        shed = {"shedding": self._shedding, "state": state}
        own = {"several": self._own, **shed}
        k, vertices = state.partition.k, self._vertices
        launch(state.rebalancing, kernels.find_reliefs, **own)
        count = state.launches.listed(
            state.rebalancing, kernels.list_candidates, vertices=vertices, **shed
        )
        listed, shedding = {"vertices": vertices, "graph": state.graph}, self._shedding
        launch(count, kernels.rate_losses, table=state.table, **listed, **own)
        launch(count, kernels.tally_losses, vertices=vertices, **own)
        state.graph.halo.allreduce(shedding.tallies, stripes=[shedding.stripes])
        launch(k, kernels.find_last_bucket, **own)
        launch(count, kernels.tally_digits, **listed, **own)
        state.graph.halo.allreduce(shedding.digits)
        launch(k, kernels.find_last_digit, **own)
        launch(count, kernels.shed, inflow=self._admission.inflow, **listed, **shed)
        self._admission.launch(count, vertices)

    def activate_more(self) -> None:
        """Raise an error: the kernels never request it."""
        raise NotImplementedError


class SeveralRefinement(Refinement):
    """Refinement of a level with several weights per vertex, without lower limits.

    The weights are on the back end of the level.

    Attributes
    ----------
    loads : Loads
        Weights of vertices and parts.
    admission : Admission
    """

    loads: Loads
    admission: Admission

    def __init__(self, level: HierarchyLevel, problem: Problem, several: MultiConstraint) -> None:
        self._several = several
        super().__init__(level.backend, level.graph, problem, level.pinned)

    def _make_methods(self) -> tuple[Refiner, Rebalancer]:
        state, several = self.state, self._several
        self.loads = loads_of(state.backend, several)
        self.admission = Admission(state, self.loads)
        rebalancing = SeveralRebalancing(state, several, self.loads, self.admission)
        return SeveralPropagation(state, self.admission), rebalancing

    @property
    def excess(self) -> int:
        """Scaled excess of the best partition."""
        return int(self.state.dual.control.host[Control.BEST_OVERLOAD])

    def last(self) -> Array | None:
        """Return the last partition if it would be the best one but for its excess."""
        control = self.state.dual.control.host
        is_smaller = control[Control.CUT] < control[Control.BEST_CUT]
        if control[Control.EXCESS] == 0 or not (is_smaller or self.excess > 0):
            return None
        return self.state.partition.parts[: self.state.graph.n]
