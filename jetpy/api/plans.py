"""Plans: the runs that one call of `partition` makes, checked before the first begins.

A plan is one run, runs with more and more parts until each part keeps its limit, or a plan for each
part of a given partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from jetpy.api.request import Request, make_request
from jetpy.engines.base import Backend
from jetpy.errors import OptionError
from jetpy.graph.by_part import sort_by_part
from jetpy.graph.checks import as_numbers, integer
from jetpy.graph.csr import Graph, IntArray
from jetpy.multilevel.outcome import Outcome
from jetpy.problem.bounds import MAX_GIVEN, NO_BOUNDS, Bounds, whole_weights
from jetpy.problem.limits import outside
from jetpy.problem.metrics import checked_parts, edge_cut, label_components
from jetpy.problem.problem import MAX_PARTS, as_even_as
from jetpy.problem.together import APART, check_together
from jetpy.progress import Progress, no_progress
from jetpy.result.subdomains import subgraph

Limits = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Solved:
    """The outcome of a plan, its number of parts, and their ideal, maximum and minimum weights.

    The weights (int64) have shape (k,), or (k, c) if vertices have c weights.
    """

    outcome: Outcome
    k: int
    ideals: Limits
    limits: Limits
    lower_limits: Limits

    @classmethod
    def of(cls, request: Request, outcome: Outcome) -> Solved:
        """Return the outcome of a request."""
        own, weights = request.several or request.problem, request.graph.constraint_weights
        shape = (request.problem.k,) if weights is None else (request.problem.k, -1)
        limits = (each.reshape(shape) for each in (own.ideals, own.limits, own.lower_limits))
        return cls(outcome, request.problem.k, *limits)

    def repeated(self, count: int) -> Solved:
        """Return the outcome for a number of parts without vertices, instead of one."""
        limits = (self.ideals, self.limits, self.lower_limits)
        tiled = (np.concatenate([each] * count) for each in limits)
        return Solved(self.outcome, count * self.k, *tiled)

    def faults(self, weights: npt.NDArray[Any]) -> tuple[int, int]:
        """Return the weight outside the limits, and the number of parts to connect, both from 0 on.

        `weights` (shape (n,) or (n, c)) are those of the vertices. More parts do not help a group
        that is not connected, so it does not count.
        """
        reasons = self.outcome.disconnected.values()
        excess = int(outside(self.loads(weights), self.lower_limits, self.limits).sum())
        return excess, sum(why != APART for why in reasons)

    def loads(self, weights: npt.NDArray[Any]) -> Limits:
        """Return the weights of the parts; `weights` as above."""
        loads = np.zeros(self.limits.shape, np.int64)
        np.add.at(loads, self.outcome.parts, weights)
        return loads

    def keeps(self, weights: npt.NDArray[Any]) -> bool:
        """Whether all parts keep their limits and are connected if asked; `weights` as above."""
        return self.faults(weights) == (0, 0)


class Plan(Protocol):
    """Runs that are checked, but have not begun."""

    @property
    def request(self) -> Request:
        """The graph, and the options that all runs share; the result repeats them."""

    def solve(self, engine: Backend, progress: Progress) -> Solved:
        """Make the runs."""


@dataclass(frozen=True, eq=False)
class OneRun:
    """A run for a known number of parts."""

    request: Request

    def solve(self, engine: Backend, progress: Progress) -> Solved:
        """Make the run."""
        request = self.request
        return Solved.of(request, request.solver.solve(engine, request.effort, progress))


@dataclass(frozen=True, eq=False)
class Refinement:
    """The refinement of a partition."""

    request: Request
    parts: IntArray

    @classmethod
    def of(cls, request: Request, parts: IntArray) -> Refinement:
        """Return the plan to refine the parts of the request's graph."""
        sizes = np.bincount(parts, minlength=request.problem.k)
        return cls(replace(request, problem=as_even_as(request.problem, sizes)), parts)

    def solve(self, engine: Backend, progress: Progress) -> Solved:
        """Refine the parts."""
        request = self.request
        return Solved.of(request, request.refining_solver.refine(engine, self.parts, progress))


@dataclass(frozen=True, eq=False)
class Asked:
    """What a call of `partition` asks for, of any graph.

    Attributes
    ----------
    k : int or None
        Number of parts; None: as few as jetpy finds.
    bounds : Bounds
    options : mapping
        Other options of `make_request`, the same for all vertices.
    rows : mapping
        Options of `make_request` with one row for each vertex, or None.
    """

    k: int | None
    bounds: Bounds
    options: Mapping[str, Any]
    rows: Mapping[str, Any]

    def request(self, graph: Graph, k: int) -> Request:
        """Return the request for k parts of a graph."""
        bounds = self.bounds
        if self.k is None:
            least, most = (
                None if each is None else np.tile(each, (k, 1))
                for each in (bounds.min_weights, bounds.max_weights)
            )
            bounds = replace(bounds, min_weights=least, max_weights=most)
        return make_request(graph, k, bounds=bounds, **self.options, **self.rows)

    def plan(self, graph: Graph) -> Plan:
        """Return the plan for a graph."""
        if self.k is not None:
            return OneRun(self.request(graph, self.k))
        return FewestParts.of(self, graph)

    def checked_limits(self, graph: Graph) -> tuple[Limits, Limits]:
        """Return c minimum weights of any part, and c maximum weights.

        Raises
        ------
        OptionError
            If there are no maximum weights, if limits differ between parts, if a vertex weighs
            more, or if an option needs the number of parts.
        """
        if self.bounds.max_weights is None:
            raise OptionError("k is missing; give the number of parts, or max_weights without it")
        for name in ("fixed", "home", "targets"):
            if {**self.options, **self.rows}[name] is not None:
                raise OptionError(f"{name} needs k, the number of parts")
        given = self.bounds.min_weights
        least = _limits_of_any_part(graph, 0 if given is None else given, "min_weights")
        most = _limits_of_any_part(graph, self.bounds.max_weights, "max_weights")
        _check_vertices(graph, weights_of(graph), most)
        return least, most

    def within(self, graph: Graph, parts: npt.ArrayLike) -> Plan:
        """Return the plan for a graph in which no part crosses a given one.

        Raises
        ------
        OptionError
            If vertices are fixed, have homes, or are in groups that cross a given part.
        """
        given = checked_parts(graph, parts, None)
        for name in ("fixed", "home"):
            if self.rows[name] is not None:
                raise OptionError(f"within cannot be combined with {name}")
        groups = check_together(self.rows["together"], graph.n)
        if groups is not None:
            groups.check_within(given)
        if self.k is None:
            self.checked_limits(graph)
        else:
            _check_number_of_parts(int(given.max(initial=0)) + 1, integer("k", self.k))
        used, place = np.unique(given, return_inverse=True)
        if graph.n == 0:
            used = np.zeros(1, np.int32)
        slots = place.astype(np.int32)
        members = sort_by_part(slots, len(used) + 1)

        def plan(p: int) -> tuple[Plan, IntArray]:
            own = subgraph(graph, slots, members, p, 0)
            together = None if groups is None else groups.names[own.global_ids]
            rows = {**self.rows, "together": together}
            name = used[p] if p < len(used) else "without vertices"
            bounds = replace(self.bounds, place=f"in part {name} of within, ")
            return replace(self, bounds=bounds, rows=rows).plan(own.graph), own.global_ids

        plans, vertices = zip(*map(plan, range(len(used))), strict=True)
        skipped = np.diff(used, prepend=-1) - 1
        unused = plan(len(used))[0] if self.k is not None and skipped.any() else None
        options = {**self.options, "targets": None}
        whole = replace(self, bounds=NO_BOUNDS, options=options).request(graph, 1)
        return Nested(whole, plans, vertices, skipped, unused)


@dataclass(frozen=True, eq=False)
class FewestParts:
    """Runs with more and more parts, until all keep their limits.

    Attributes
    ----------
    asked : Asked
    request : Request
        The request for the fewest parts that may suffice.
    most : int
        The most parts that are tried. More would have no weight, or less than their minimum.
    """

    asked: Asked
    request: Request
    most: int

    @classmethod
    def of(cls, asked: Asked, graph: Graph) -> FewestParts:
        """Return the plan for a graph; errors as for `Asked.checked_limits`."""
        lower, upper = asked.checked_limits(graph)
        weights = weights_of(graph)
        pieces, most = [weights], int(np.atleast_2d(weights.T).any(axis=0).sum())
        if asked.options["connected"]:
            most = graph.n
            which = label_components(graph, np.zeros(graph.n, np.int32))
            pieces = [weights[which == c] for c in np.unique(which)]
        least = sum(_fewest(own, upper) for own in pieces)
        most = min(most, MAX_PARTS - 1, _most(weights, lower))
        given = None if asked.bounds.min_weights is None else lower
        bounds = replace(asked.bounds, min_weights=given, max_weights=upper)
        asked = replace(asked, bounds=bounds)
        return cls(asked, asked.request(graph, max(1, min(least, graph.n))), most)

    def solve(self, engine: Backend, progress: Progress) -> Solved:
        """Return the partition into the fewest parts that is found.

        The number of parts grows in steps of 1, 2, 4 and so on until all parts keep their limits.
        Bisection then looks for fewer. If no parts keep their limits, the result is the partition
        of least weight outside them.
        """
        weights = weights_of(self.request.graph)
        best = OneRun(self.request).solve(engine, progress)
        k, failed = best.k, 0
        for step in count():
            if best.keeps(weights) or k >= self.most:
                break
            failed, k = k, min(k + (1 << step), self.most)
            found = self._solve(k, engine)
            if found is not None:
                best = min(best, found, key=lambda one: one.faults(weights))
        while failed and k - failed > 1 and best.keeps(weights):
            middle = (failed + k) // 2
            fewer = self._solve(middle, engine)
            if fewer is not None and fewer.keeps(weights):
                k, best = middle, fewer
            else:
                failed = middle
        return best

    def _solve(self, k: int, engine: Backend) -> Solved | None:
        """Return the outcome for k parts; None if rounded lower limits exceed the total weight."""
        try:
            request = self.asked.request(self.request.graph, k)
        except OptionError:
            return None
        return OneRun(request).solve(engine, no_progress)


@dataclass(frozen=True, eq=False)
class Nested:
    """A plan for the subgraph of each part of a given partition.

    Attributes
    ----------
    request : Request
        For the whole graph.
    plans : sequence of Plan
    vertices : sequence of int32 arrays
        Vertices of each given part, ascending.
    skipped : int array
        Number of unused ids before that of each given part.
    unused : Plan or None
        Plan for a part without vertices, whose new parts each unused id has; None: it has none.
    """

    request: Request
    plans: Sequence[Plan]
    vertices: Sequence[IntArray]
    skipped: npt.NDArray[np.integer[Any]]
    unused: Plan | None

    def solve(self, engine: Backend, progress: Progress) -> Solved:
        """Solve the plans one after another; the new parts of a given part have consecutive ids."""
        graph = self.request.graph
        parts, first = np.zeros(graph.n, np.int32), 0
        empty = None if self.unused is None else self.unused.solve(engine, no_progress)
        solved: list[Solved] = []
        disconnected: dict[int, str] = {}
        members = zip(self.plans, self.vertices, self.skipped.tolist(), strict=True)
        for number, (plan, vertices, skipped) in enumerate(members, 1):
            if empty is not None and skipped:
                solved.append(empty.repeated(skipped))
                first += solved[-1].k
            own = plan.solve(engine, no_progress)
            parts[vertices] = first + own.outcome.parts
            disconnected.update({first + p: why for p, why in own.outcome.disconnected.items()})
            first += own.k
            solved.append(own)
            progress("refine", number, len(self.plans))
        outcomes = [own.outcome for own in solved]
        cut = edge_cut(graph, parts)
        generations = max((outcome.generations for outcome in outcomes), default=1)
        return Solved(
            Outcome(parts, cut, cut, [], generations, disconnected),
            first,
            *(
                np.concatenate([getattr(own, name) for own in solved])
                for name in ("ideals", "limits", "lower_limits")
            ),
        )


def make_plan(
    graph: Graph,
    *,
    k: int | None,
    min_weights: npt.ArrayLike | None,
    max_weights: npt.ArrayLike | None,
    lower_imbalance: float | None,
    fixed: npt.ArrayLike | None,
    home: npt.ArrayLike | None,
    together: npt.ArrayLike | None,
    within: npt.ArrayLike | None,
    **options: Any,
) -> Plan:
    """Return the plan of a call of `jetpy.partition` with these arguments.

    Raises
    ------
    GraphError, OptionError
        As for `jetpy.partition`.
    """
    bounds = Bounds(min_weights, max_weights, lower_imbalance)
    rows = {"fixed": fixed, "home": home, "together": together}
    asked = Asked(k, bounds, {**options, "fill": True}, rows)
    return asked.plan(graph) if within is None else asked.within(graph, within)


def weights_of(graph: Graph) -> npt.NDArray[Any]:
    """Return the weights of the vertices that limits apply to, shape (n,) or (n, c)."""
    return graph.vertex_weights if graph.constraint_weights is None else graph.constraint_weights


def _fewest(weights: npt.NDArray[Any], most: Limits) -> int:
    """Return the fewest parts that can hold all vertices, by their total weights."""
    total = np.atleast_1d(weights.sum(axis=0, dtype=np.int64))
    return max(1, int((-(-total // most.clip(1))).max()))


def _check_number_of_parts(ids: int, k: int) -> None:
    """Refuse to divide parts with ids below `ids` into k parts each if that makes too many."""
    if ids * k >= MAX_PARTS:
        raise OptionError(
            f"within has parts up to {ids - 1}, which makes {ids * k} parts with k = {k}; there "
            f"must be at most {MAX_PARTS - 1}. Number the parts of within from 0 on, or lower k"
        )


def _most(weights: npt.NDArray[Any], least: Limits) -> int:
    """Return the most parts that can have their minimum weights, by the total weights."""
    total = np.atleast_1d(weights.sum(axis=0, dtype=np.int64))
    return int(np.where(least > 0, total // least.clip(1), MAX_PARTS).min())


def _limits_of_any_part(graph: Graph, given: Any, name: str) -> Limits:
    """Return c checked limits of the weights of any part, int64; one for all parts is given."""
    values, weights = as_numbers(given, name), weights_of(graph)
    kinds = weights.shape[1:]
    if values.shape not in ((), kinds):
        raise OptionError(
            f"{name} has shape {values.shape}; without k it must be one weight for all parts"
        )
    return whole_weights(np.broadcast_to(values, kinds or 1), MAX_GIVEN, name)


def _check_vertices(graph: Graph, weights: npt.NDArray[Any], most: Limits) -> None:
    """Refuse vertices that weigh more than a part may."""
    heavy = weights > (most if weights.ndim == 2 else most[0])
    if heavy.any():
        place = tuple(np.argwhere(heavy)[0].tolist())
        name = place[0] if graph.names is None else repr(graph.names[place[0]])
        raise OptionError(
            f"vertex {name} weighs {weights[place]}, more than max_weights, "
            f"{most[place[1] if len(place) == 2 else 0]}; no part can hold it"
        )
