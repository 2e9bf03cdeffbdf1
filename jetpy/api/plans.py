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
from jetpy.graph.csr import Graph, IntArray
from jetpy.multilevel.outcome import Outcome, all_seconds
from jetpy.problem.bounds import NO_BOUNDS, Bounds, as_numbers, whole_weights
from jetpy.problem.metrics import checked_parts, edge_cut, label_components
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

    def keeps(self, weights: npt.NDArray[Any]) -> bool:
        """Whether all parts keep their limits and are connected if asked.

        `weights` (shape (n,) or (n, c)) are those of the vertices. More parts do not help a group
        that is not connected.
        """
        loads = np.zeros(self.limits.shape, np.int64)
        np.add.at(loads, self.outcome.parts, weights)
        within = (self.lower_limits <= loads) & (loads <= self.limits)
        return bool(within.all()) and set(self.outcome.disconnected.values()) <= {APART}


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
        bounds, most = self.bounds, self.bounds.max_weights
        if self.k is None and most is not None:
            bounds = replace(bounds, max_weights=np.tile(most, (k, 1)))
        return make_request(graph, k, bounds=bounds, **self.options, **self.rows)

    def plan(self, graph: Graph) -> Plan:
        """Return the plan for a graph."""
        if self.k is not None:
            return OneRun(self.request(graph, self.k))
        return FewestParts.of(self, graph)

    def checked_most(self, graph: Graph) -> tuple[npt.NDArray[Any], Limits]:
        """Return the vertex weights, shape (n,) or (n, c), and c maximum weights of any part.

        Raises
        ------
        OptionError
            If there are no maximum weights, if they differ between parts, if a vertex weighs more,
            or if an option needs the number of parts.
        """
        if self.bounds.max_weights is None:
            raise OptionError("k is missing; give the number of parts, or max_weights without it")
        for name in ("fixed", "home", "targets"):
            if {**self.options, **self.rows}[name] is not None:
                raise OptionError(f"{name} needs k, the number of parts")
        weights = weights_of(graph)
        most, kinds = as_numbers(self.bounds.max_weights, "max_weights"), weights.shape[1:]
        if most.shape not in ((), kinds):
            raise OptionError(
                f"max_weights has shape {most.shape}; without k it must be one weight for all parts"
            )
        total = int(weights.sum(axis=0, dtype=np.int64).max(initial=0))
        most = whole_weights(np.broadcast_to(most, kinds or 1), total, "max_weights")
        _check_vertices(graph, weights, most)
        return weights, most

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
        members = sort_by_part(given, int(given.max(initial=0)) + 1)
        if self.k is None:
            self.checked_most(graph)
        plans, vertices = [], []
        for p in range(len(members.offsets) - 1):
            own = subgraph(graph, given, members, p, 0)
            if self.k is None and own.graph.n == 0 < graph.n:
                continue
            together = None if groups is None else groups.names[own.global_ids]
            plans.append(replace(self, rows={**self.rows, "together": together}).plan(own.graph))
            vertices.append(own.global_ids)
        options = {**self.options, "targets": None}
        whole = replace(self, bounds=NO_BOUNDS, options=options).request(graph, 1)
        return Nested(whole, plans, vertices)


@dataclass(frozen=True, eq=False)
class FewestParts:
    """Runs with more and more parts, until all keep their limits.

    Attributes
    ----------
    asked : Asked
    request : Request
        The request for the fewest parts that may suffice.
    """

    asked: Asked
    request: Request

    @classmethod
    def of(cls, asked: Asked, graph: Graph) -> FewestParts:
        """Return the plan for a graph; errors as for `Asked.checked_most`."""
        weights, most = asked.checked_most(graph)
        pieces = [weights]
        if asked.options["connected"]:
            which = label_components(graph, np.zeros(graph.n, np.int32))
            pieces = [weights[which == c] for c in np.unique(which)]
        least = sum(_fewest(own, most) for own in pieces)
        asked = replace(asked, bounds=replace(asked.bounds, max_weights=most))
        return cls(asked, asked.request(graph, max(1, min(least, graph.n))))

    def solve(self, engine: Backend, progress: Progress) -> Solved:
        """Return the partition into the fewest parts that is found.

        The number of parts grows in steps of 1, 2, 4 and so on until all parts keep their limits.
        Bisection then looks for fewer.
        """
        graph, weights, failed = self.request.graph, weights_of(self.request.graph), 0
        k = self.request.problem.k
        found = self._solve(k, engine, progress)
        for step in count():
            if found.keeps(weights) or k >= graph.n:
                break
            failed, k = k, min(k + (1 << step), graph.n)
            found = self._solve(k, engine, no_progress)
        while failed and k - failed > 1 and found.keeps(weights):
            middle = (failed + k) // 2
            fewer = self._solve(middle, engine, no_progress)
            if fewer.keeps(weights):
                k, found = middle, fewer
            else:
                failed = middle
        return found

    def _solve(self, k: int, engine: Backend, progress: Progress) -> Solved:
        return OneRun(self.asked.request(self.request.graph, k)).solve(engine, progress)


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
    """

    request: Request
    plans: Sequence[Plan]
    vertices: Sequence[IntArray]

    def solve(self, engine: Backend, progress: Progress) -> Solved:
        """Solve the plans one after another; the new parts of a given part have consecutive ids."""
        graph = self.request.graph
        parts, first = np.zeros(graph.n, np.int32), 0
        solved: list[Solved] = []
        disconnected: dict[int, str] = {}
        for number, (plan, vertices) in enumerate(zip(self.plans, self.vertices, strict=True), 1):
            own = plan.solve(engine, no_progress)
            parts[vertices] = first + own.outcome.parts
            disconnected.update({first + p: why for p, why in own.outcome.disconnected.items()})
            first += own.k
            solved.append(own)
            progress("refine", number, len(self.plans))
        outcomes = [own.outcome for own in solved]
        cut = edge_cut(graph, parts)
        seconds = all_seconds([outcome.seconds for outcome in outcomes])
        generations = max((outcome.generations for outcome in outcomes), default=1)
        return Solved(
            Outcome(parts, cut, cut, [], seconds, generations, disconnected),
            first,
            *(
                np.concatenate([getattr(own, name) for own in solved])
                for name in ("ideals", "limits", "lower_limits")
            ),
        )


def weights_of(graph: Graph) -> npt.NDArray[Any]:
    """Return the weights of the vertices that limits apply to, shape (n,) or (n, c)."""
    return graph.vertex_weights if graph.constraint_weights is None else graph.constraint_weights


def _fewest(weights: npt.NDArray[Any], most: Limits) -> int:
    """Return the fewest parts that can hold all vertices, by their total weights."""
    total = np.atleast_1d(weights.sum(axis=0, dtype=np.int64))
    return max(1, int((-(-total // most.clip(1))).max()))


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
