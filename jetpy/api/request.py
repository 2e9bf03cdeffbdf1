"""The request of a run, after all checks, and the solvers that carry it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy.typing as npt

from jetpy import choices
from jetpy.errors import OptionError
from jetpy.graph.checks import one_of
from jetpy.graph.csr import INT32_MAX, Graph, column_sums
from jetpy.graph.levels import contract
from jetpy.graph.validate import check_small
from jetpy.lazy import cached_property
from jetpy.multilevel.small_graphs import are_similar, suits
from jetpy.multilevel.solver import CostSolver, CutSolver, RefiningSolver, Solver
from jetpy.problem.bounds import (
    DEFAULT_IMBALANCE,
    NO_BOUNDS,
    Bounds,
    bounded,
    bounded_columns,
)
from jetpy.problem.fixed import FixedVertices, check_fixed
from jetpy.problem.options import ONCE, Effort, Options, choose_effort
from jetpy.problem.presets import choose, name_of
from jetpy.problem.problem import Problem, checked_imbalances, divided, make_problem
from jetpy.problem.together import Groups, check_together

if TYPE_CHECKING:
    from jetpy.constraints.together import TogetherSolver
    from jetpy.device.processes import Processes
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
        The weights, if each vertex has several; `vertex_weights` of `graph` then combine them.
    groups : Groups or None
        Groups of vertices that must share a part, if there are any.
    has_bounds : bool
        Whether the caller gave limits other than the imbalance.
    processes : Processes or None
        Processes that carry out the same request, with several weights only.
    """

    graph: Graph
    problem: Problem
    preset: str
    effort: Effort = ONCE
    objective: str = "cut"
    connected: bool = False
    places: FixedVertices | None = None
    several: MultiConstraint | None = None
    groups: Groups | None = None
    has_bounds: bool = False
    processes: Processes | None = None

    @property
    def solver(self) -> Solver:
        """The solver that partitions the graph."""
        if self.groups is not None:
            return self._together(self.groups, self._contracted.solver)
        if self.several is None or 1 < self.problem.k < self.graph.n:
            return self.refining_solver
        trivial = _cut_solver(self.graph, self.problem, self._places)
        if self.problem.k == 1 or not self.has_bounds:
            return trivial
        from jetpy.constraints.multiconstraint import FewVerticesSolver

        return FewVerticesSolver(trivial, self.refining_solver, self.several)

    @cached_property
    def refining_solver(self) -> RefiningSolver:
        """The solver that also refines a partition of the graph: constraints around the cut.

        Constraints work on the host, which divides the weights by their common divisor first.
        """
        if self.groups is not None:
            return self._together(self.groups, self._contracted.refining_solver)
        graph, problem, places = self.graph, self.problem, self._places
        if self.several is not None:
            from jetpy.constraints.multiconstraint import MultiConstraintSolver
            from jetpy.device.processes import ALONE

            pinned, processes = None if places is None else places.fixed, self.processes or ALONE
            return MultiConstraintSolver(graph, problem, self.several, pinned, processes)
        if self.connected or self.objective != "cut" or places is not None:
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

    @cached_property
    def is_small(self) -> bool:
        """Whether a task partitions the graph, as `jetpy.multilevel.small_graphs` says."""
        graph, problem = self.graph, self.problem
        return (
            self.objective == "cut"
            and not self.connected
            and self.places is None
            and self.several is None
            and self.groups is None
            and self.effort == ONCE
            and 1 < problem.k < graph.n
            and suits(problem, graph.n, len(graph.indices))
            and are_similar(graph.vertex_weights)
            and not graph.is_large
        )

    @property
    def _places(self) -> FixedVertices | None:
        return None if self.problem.k == 1 else self.places

    @cached_property
    def _contracted(self) -> Request:
        """The request for the graph in which each group is one vertex."""
        groups, places, several = self.groups, self.places, self.several
        assert groups is not None
        if places is not None:
            places = groups.of_places(places, self.graph.vertex_weights)
        if several is not None:
            several = several.coarsened(groups.coarse_of, groups.n)
        graph = contract(self.graph, groups.coarse_of, groups.n, self.graph.name)
        if self.graph.vertex_sizes is not None:
            sizes = groups.sums(self.graph.vertex_sizes)
            graph = replace(graph, vertex_sizes=sizes.astype("int32"))
        return replace(self, graph=graph, places=places, several=several, groups=None)

    def _together(self, groups: Groups, solver: Any) -> TogetherSolver:
        from jetpy.constraints.together import TogetherSolver

        k, connected = self.problem.k, self.connected
        return TogetherSolver(self.graph, groups, solver, k, connected=connected)


def make_request(
    graph: Graph,
    k: int,
    *,
    imbalance: float | Sequence[float] | None,
    large_imbalance: bool,
    bounds: Bounds = NO_BOUNDS,
    targets: npt.ArrayLike | None,
    fixed: npt.ArrayLike | None,
    home: npt.ArrayLike | None = None,
    migration: float = 0.0,
    together: npt.ArrayLike | None = None,
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
    k, imbalance, large_imbalance, targets, fixed, home, migration, together, objective, connected
    seed, preset, coarsening, refinement, options, generations, time_limit
        As for `jetpy.partition`.
    bounds : Bounds
        The options min_weights, max_weights and lower_imbalance of `jetpy.partition`.
    fill : bool
        Whether no part may be empty, if there are at least k vertices.

    Raises
    ------
    GraphError, OptionError
        If a value is out of range, or options cannot be combined.
    """
    weights, several = graph.constraint_weights, None
    kinds = 1 if weights is None else weights.shape[1]
    usual = DEFAULT_IMBALANCE if imbalance is None else imbalance
    imbalances = checked_imbalances(usual, kinds, large=large_imbalance)
    chosen = choose(preset, coarsening, refinement, options)
    effort = choose_effort(chosen, generations, time_limit)
    if weights is not None and kinds > 1:
        from jetpy.problem.multiconstraint import in_one, pose_several

        totals = column_sums(weights)
        graph = replace(graph, vertex_weights=in_one(weights, totals, graph.n))
    total = graph.total_vertex_weight
    problem = make_problem(total, k, max(imbalances), seed, chosen, targets, fill=fill)
    keeps_imbalance = imbalance is not None or targets is not None
    if weights is not None and kinds > 1:
        check_small(graph, "partition with several vertex weights")
        several = pose_several(weights, totals, imbalances, problem.shares)
        given = bounds, several
        problem, several = bounded_columns(problem, *given, keeps_imbalance=keeps_imbalance)
    else:
        problem = bounded(problem, bounds, keeps_imbalance=keeps_imbalance)
    one_of(get_args(choices.Objective), "objective", objective)
    _check_combination(
        graph, objective, several=several is not None, home=home is not None, connected=connected
    )
    places = check_fixed(graph.n, problem.k, fixed, home, migration)
    groups = check_together(together, graph.n)
    if groups is not None:
        limited = (graph.vertex_weights, problem) if several is None else (several.weights, several)
        groups.check_weights(limited[0], limited[1].limits, places)
    name = name_of(preset, options)
    return Request(
        graph,
        problem,
        name,
        effort,
        objective,
        connected,
        places,
        several,
        groups,
        bounds.are_given,
    )


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
