"""The refinement loop of one level (Jet, Algorithm 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import DeviceGraph
from jetpy.problem import Problem
from jetpy.refinement.jetlp import LabelPropagation
from jetpy.refinement.rebalance import Rebalancing
from jetpy.refinement.state import KEEP, Measures, RefinementState


@dataclass(frozen=True, eq=False)
class Refined:
    """The best partition that a level's refinement met, and what it took."""

    parts: Array
    measures: Measures
    cut_before: int
    iterations: int


class _Best:
    """The best partition so far: balanced before not, then by cut, or by heaviest part.

    The state keeps its parts when it makes the next moves.
    """

    def __init__(self, state: RefinementState, limit: int) -> None:
        self.state, self.limit = state, limit
        self.measures = state.measures

    def offer(self, tolerance: float) -> bool:
        """Take the current partition if it is better; return whether it is clearly so."""
        old, new = self.measures, self.state.measures
        if new.heaviest <= self.limit < old.heaviest:
            clearly = True
        elif new.heaviest <= self.limit:
            if new.cut >= old.cut:
                return False
            clearly = new.cut < tolerance * old.cut
        elif new.heaviest < old.heaviest:
            clearly = True
        else:
            return False
        self.measures = new
        return clearly

    @property
    def is_current(self) -> bool:
        """Whether the state has not been changed since."""
        return self.measures is self.state.measures

    @property
    def parts(self) -> Array:
        """The partition."""
        return self.state.parts if self.is_current else self.state.kept


def refine_level(
    backend: Backend,
    graph: DeviceGraph,
    parts: Array,
    problem: Problem,
    *,
    finest: bool,
    known: Measures | None = None,
) -> Refined:
    """Refine `parts` (int32, shape (n,)) until patience runs out.

    `known` are the measures of `parts`, where the caller has them.
    """
    limit, seed, options = problem.limit, problem.seed, problem.options.refine
    state = RefinementState(backend, graph, parts, problem.k, known)
    propagation, rebalancing = LabelPropagation(state), Rebalancing(state, limit)
    best = _Best(state, limit)
    cut_before, iteration, lp = state.measures.cut, 0, 0
    for number, ratio in enumerate(options.finest_ratios if finest else options.coarse_ratios):
        if number > 0:
            state.start(best.parts, best.measures)
            lp += 1
        since_best = weak = 0
        while since_best < options.patience:
            since_best += 1
            iteration += 1
            salt = (seed + iteration) & 0x7FFFFFFF
            state.orders.host[KEEP] = best.is_current
            if state.measures.heaviest <= limit:
                lp += 1
                moved = propagation.iterate(ratio, salt, lp)
                weak = 0
            elif weak < options.weak_rounds:
                moved = rebalancing.weakly(salt)
                weak += 1
            else:
                moved = rebalancing.strongly()
            if moved > 0 and best.offer(options.tolerance):
                since_best = 0
    return Refined(best.parts, best.measures, cut_before, iteration)
