"""The request of a run, after all checks, and the solvers that carry it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.errors import OptionError
from jetpy.graph.checks import one_of
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.graph.validate import check_small
from jetpy.lazy import cached_property
from jetpy.multilevel.solver import CostSolver, CutSolver, RefiningSolver, Solver
from jetpy.problem.fixed import FixedVertices, check_fixed
from jetpy.problem.options import ONCE, Effort, Options, choose_effort
from jetpy.problem.presets import choose, name_of
from jetpy.problem.problem import Problem, RunOptions, checked_imbalances, divided

if TYPE_CHECKING:
    from jetpy.problem.multiconstraint import MultiConstraint


@dataclass(frozen=True, eq=False)
class Request:
    """A graph, and the required properties of its partition.

    Attributes
    ----------
    graph : Graph
    problem : Problem
    preset : str
    effort : Effort
        Limits of the evolutionary search.
    objective : {'cut', 'volume'}
    connected : bool
        Whether each part has to be connected.
    places : FixedVertices or None
        Fixed vertices and homes, if there are any.
    several : MultiConstraint or None
        The weights, if each vertex has several; `graph` then has a combined weight.
    """

    graph: Graph
    problem: Problem
    preset: str
    effort: Effort = ONCE
    objective: str = "cut"
    connected: bool = False
    places: FixedVertices | None = None
    several: MultiConstraint | None = None

    @property
    def solver(self) -> Solver:
        """The solver that partitions the graph."""
        if self.several is None or not 1 < self.problem.k < self.graph.n:
            return self.refining_solver
        from jetpy.constraints.multiconstraint import MultiConstraintSolver

        pinned = None if self.places is None else self.places.fixed
        return MultiConstraintSolver(self.graph, self.problem, self.several, pinned)

    @cached_property
    def refining_solver(self) -> RefiningSolver:
        """The solver that also refines a partition of the graph: constraints around the cut.

        Constraints work on the host, which divides the weights by their common divisor first.
        """
        graph, problem = self.graph, self.problem
        places = None if problem.k == 1 else self.places
        if self.several is None and (
            self.connected or self.objective != "cut" or places is not None
        ):
            graph, problem = divided(graph, problem)
        if self.connected:
            from jetpy.constraints.connected.driver import ConnectedSolver

            solver = _cut_solver(graph, problem, places, keep_records=True)
            return ConnectedSolver(graph, problem, places, solver)
        if self.objective == "volume":
            from jetpy.constraints.objective import VolumeSolver

            return VolumeSolver(
                graph, problem, places, lambda start: _cut_solver(start, problem, places)
            )
        return _cut_solver(graph, problem, places)


def make_request(
    graph: Graph,
    k: int,
    *,
    several_weights: npt.ArrayLike | None = None,
    imbalance: float | Sequence[float],
    large_imbalance: bool,
    targets: npt.ArrayLike | None,
    fixed: npt.ArrayLike | None,
    home: npt.ArrayLike | None = None,
    migration: float = 0.0,
    objective: str,
    connected: bool,
    seed: int,
    preset: choices.Preset,
    coarsening: choices.Coarsening | None = None,
    refinement: choices.Refinement | None = None,
    options: Options | Mapping[str, Any] | None = None,
    generations: int | None = None,
    time_limit: float | None = None,
    fill: bool,
) -> Request:
    """Check the options of a run together and return the request.

    Parameters
    ----------
    graph : Graph
    k, imbalance, large_imbalance, targets, fixed, home, migration, objective, connected, seed
    preset, coarsening, refinement, options, generations, time_limit
        As for `jetpy.partition`.
    several_weights : array of int, shape (n, c), optional
        Several weights per vertex, instead of the weights of `graph`.
    fill : bool
        Whether no part may be empty, if there are at least k vertices.

    Raises
    ------
    GraphError, OptionError
        If a value is out of range, or options cannot be combined.
    """
    weights = None
    if several_weights is not None:
        from jetpy.problem.multiconstraint import checked_weights, in_one, pose_several

        weights = checked_weights(several_weights, graph.n)
        graph = replace(graph, vertex_weights=in_one(weights))
    kinds = 1 if weights is None else weights.shape[1]
    imbalances = checked_imbalances(imbalance, kinds, large=large_imbalance)
    shared = RunOptions(k, max(imbalances), True, seed, preset, coarsening, refinement)
    chosen = choose(preset, coarsening, refinement, options)
    effort = choose_effort(chosen, generations, time_limit)
    problem = shared.problem(graph.total_vertex_weight, targets, fill=fill)
    problem = replace(problem, options=chosen)
    several = None
    if weights is not None:
        check_small(graph, "partition with several vertex weights")
        several = pose_several(weights, imbalances, problem.shares)
    one_of(get_args(choices.Objective), "objective", objective)
    _check_combination(
        graph, objective, several=several is not None, home=home is not None, connected=connected
    )
    places = check_fixed(graph.n, problem.k, fixed, home, migration)
    name = name_of(preset, options)
    return Request(graph, problem, name, effort, objective, connected, places, several)


def split_weights(
    vertex_weights: npt.ArrayLike | None,
) -> tuple[npt.ArrayLike | None, npt.ArrayLike | None]:
    """Return (vertex weights of the graph, several weights per vertex); one of them is None."""
    is_several = np.ndim(vertex_weights) > 1  # type: ignore[arg-type]
    return (None, vertex_weights) if is_several else (vertex_weights, None)


def _check_combination(
    graph: Graph, objective: str, *, several: bool, home: bool, connected: bool
) -> None:
    """Refuse options that cannot be combined."""
    if several and (home or connected):
        raise OptionError("several weights cannot be combined with home or connected")
    if several and objective != "cut":
        raise OptionError("several weights cannot be combined with an objective other than cut")
    if connected and objective != "cut":
        raise OptionError("connected cannot be combined with an objective other than cut")
    if objective != "cut" and 2 * graph.m + graph.n > INT32_MAX:
        raise OptionError(
            f"the graph has {2 * graph.m + graph.n} vertices and directed edges; an objective "
            "other than cut needs fewer than 2**31"
        )


def _cut_solver(
    graph: Graph, problem: Problem, places: FixedVertices | None, *, keep_records: bool = False
) -> CostSolver:
    """Return the solver for a small cut, plus the cost of leaving homes."""
    if places is None:
        return CutSolver(graph, problem, keep_records=keep_records)
    from jetpy.constraints.terminals import TerminalSolver

    return TerminalSolver(graph, problem, places, keep_records=keep_records)
