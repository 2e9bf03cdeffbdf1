"""The partitioning problem, which is the same on every level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.errors import OptionError
from jetpy.graph.checks import finite_number, integer
from jetpy.graph.csr import INT32_MAX, Graph, IntArray, common_divisor
from jetpy.lazy import cached_property
from jetpy.problem.limits import limits_of, outside
from jetpy.problem.options import Options
from jetpy.problem.presets import choose

MAX_PARTS = 2**24
SEEDS = 2**31
"""Number of valid seeds, from 0 on."""


@dataclass(frozen=True, eq=False)
class Metric:
    """Distances between parts, as `jetpy.workloads.common.metric` reads them, and their factor."""

    kind: int
    distances: npt.NDArray[np.int32]
    factor: int = 1

    @property
    def farthest(self) -> int:
        """Largest distance, without the factor."""
        return int(self.distances[1 :: 2 if self.kind == 2 else 1].max(initial=1))

    def between(self, p: IntArray, q: IntArray, k: int) -> IntArray:
        """Return the distance of each pair of parts, int32, including the factor."""
        if self.kind == 0:
            return np.asarray(p != q, np.int32)
        if self.kind == 1:
            places = p.astype(np.int64) * k + q
            return np.take(self.distances, places) * np.int32(self.factor)
        result = np.zeros(len(p), np.int32)
        for size, distance in self.distances.reshape(-1, 2)[::-1]:
            result[p // size == q // size] = distance * self.factor
        result[p == q] = 0
        return result


EDGE_CUT = Metric(0, np.zeros(0, np.int32))
"""The metric in which any two parts have distance 1."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Number of parts, weight limits, seed and options.

    Attributes
    ----------
    k : int
    imbalance : float
    total : int
        Total vertex weight W.
    limit : int
        Maximum part weight, in units; with `part_limits`, that of an average part.
    seed : int
    options : Options
    groups : int
        Number of groups of k / groups consecutive parts. A vertex stays in its group.
    part_limits : int64, shape (k,), or None
        Maximum weight of each part; None: `limit` for all.
    part_lower_limits : int64, shape (k,), or None
        Minimum weight of each part, in units; None: no minimum.
    targets : int64, shape (k,), or None
        Relative ideal weights of the parts; None: all equal. With targets, there is one group.
    metric : Metric
        The objective is the sum over edges of weight times the distance between the parts.
    fill : bool
        Whether to leave no part empty, if there are at least k vertices.
    unit : int
        Vertex weight that one unit represents (`in_units`).
    placeholders : int64, shape (k,), or None
        Number of vertices of each part, of weight 1, that stand for no vertex of the input; a part
        with no other vertices is empty. None: no part has such vertices.
    average : int or None
        Average weight of a vertex of the given graph, in units, rounded down; None: not known yet.
    """

    k: int
    imbalance: float
    total: int
    limit: int
    seed: int
    options: Options
    groups: int = 1
    part_limits: npt.NDArray[np.int64] | None = None
    part_lower_limits: npt.NDArray[np.int64] | None = None
    targets: npt.NDArray[np.int64] | None = None
    metric: Metric = EDGE_CUT
    fill: bool = False
    unit: int = 1
    placeholders: npt.NDArray[np.int64] | None = None
    average: int | None = None

    @property
    def ideal(self) -> int:
        """ceil(W / k)."""
        return -(-self.total // self.k)

    @property
    def ideal_in_units(self) -> int:
        """ceil(W / k) in units, rounded up."""
        return -(-self.ideal // self.unit)

    @property
    def group_size(self) -> int:
        """Number of parts in a group."""
        return self.k // self.groups

    @cached_property
    def limits(self) -> npt.NDArray[np.int64]:
        """Maximum weight of each part, in units, int64, shape (k,)."""
        if self.part_limits is None:
            return np.full(self.k, self.limit, np.int64)
        return self.part_limits

    @cached_property
    def lower_limits(self) -> npt.NDArray[np.int64]:
        """Minimum weight of each part, in units, int64, shape (k,)."""
        if self.part_lower_limits is None:
            return np.zeros(self.k, np.int64)
        return self.part_lower_limits

    def excess_of(self, part_weights: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return by how much each part is outside its limits, int64, shape (k,), from 0 on."""
        return outside(part_weights, self.lower_limits, self.limits)

    @cached_property
    def shares(self) -> npt.NDArray[np.int64]:
        """Relative ideal weight of each part within its group, int64, shape (k,)."""
        return np.ones(self.k, np.int64) if self.targets is None else self.targets

    def imbalance_of(self, part_weights: npt.NDArray[np.int64]) -> float:
        """Return the maximum over parts of weight / ideal - 1; `part_weights` are in units."""
        return float((part_weights * self.unit / self.ideals).max()) - 1

    @cached_property
    def ideals(self) -> npt.NDArray[np.int64]:
        """Ideal weight of each part, rounded up, int64, shape (k,)."""
        if self.targets is None:
            return np.full(self.k, self.ideal, np.int64)
        from jetpy.problem.targets import ideals

        return ideals(self.total, self.targets)

    @cached_property
    def kinds(self) -> npt.NDArray[np.int64]:
        """A number for each part, int64, shape (k,), equal for parts of equal ideals and limits."""
        columns = np.stack([self.ideals, self.limits, self.lower_limits])
        return np.unique(columns, axis=1, return_inverse=True)[1].reshape(self.k).astype(np.int64)


def checked_imbalance(imbalance: Any, *, large: bool) -> float:
    """Return an imbalance, which must be below 1 unless `large`.

    Raises
    ------
    OptionError
        If the imbalance is too large, or not a finite number from 0 on.
    """
    number = finite_number("imbalance", imbalance)
    if number >= 1 and not large:
        raise OptionError(
            f"imbalance is {imbalance} ({100 * number:g} %); it must be below 1 unless "
            "large_imbalance=True (--large-imbalance). For 3 %, pass 0.03"
        )
    return number


def checked_imbalances(imbalance: Any, kinds: int, *, large: bool) -> list[float]:
    """Return an imbalance for each of `kinds` weights.

    Raises
    ------
    OptionError
        If `imbalance` is not one number or `kinds` numbers, or a number is out of range.
    """
    given: Sequence[Any] = np.ravel(np.asarray(imbalance, object)).tolist()
    if len(given) not in (1, kinds):
        raise OptionError(
            f"imbalance has {len(given)} numbers; give one number, or one for each weight of a "
            f"vertex ({kinds})"
        )
    allowed = [checked_imbalance(number, large=large) for number in given]
    return allowed if len(allowed) == kinds else allowed * kinds


def make_problem(
    total_vertex_weight: int,
    k: int,
    imbalance: float,
    seed: int,
    options: Options,
    targets: npt.ArrayLike | None = None,
    *,
    fill: bool = False,
) -> Problem:
    """Check the arguments and return the problem.

    Raises
    ------
    OptionError
        If a value is out of range or not a number.
    """
    k, seed = integer("k", k), integer("seed", seed)
    if not 1 <= k < MAX_PARTS:
        raise OptionError(f"k is {k}; k must be in 1..{MAX_PARTS - 1}")
    imbalance = checked_imbalance(imbalance, large=True)
    if not 0 <= seed < SEEDS:
        raise OptionError(f"seed is {seed}; seed must be in 0..{SEEDS - 1}")
    most = max(INT32_MAX, total_vertex_weight)
    ideal = np.array(-(-total_vertex_weight // k), np.int64)
    limit = int(limits_of(ideal, imbalance, most))
    problem = Problem(k, imbalance, total_vertex_weight, limit, seed, options, fill=fill)
    if targets is None:
        return problem
    from jetpy.problem.targets import checked_targets, ideals

    shares = checked_targets(targets, k)
    if shares is None:
        return problem
    part_limits = limits_of(ideals(total_vertex_weight, shares), imbalance, most)
    return replace(problem, targets=shares, part_limits=part_limits)


@dataclass(frozen=True)
class RunOptions:
    """Options that all kinds of runs share, as for `jetpy.partition`; refuses invalid ones."""

    k: int
    imbalance: float
    large_imbalance: InitVar[bool]
    seed: int
    preset: choices.Preset
    coarsening: choices.Coarsening | None
    refinement: choices.Refinement | None

    def __post_init__(self, large_imbalance: bool) -> None:
        checked_imbalance(self.imbalance, large=large_imbalance)
        checked = self.problem(0)
        for name in ("k", "imbalance", "seed"):
            object.__setattr__(self, name, getattr(checked, name))

    @property
    def preset_options(self) -> Options:
        """Options of the preset, with the requested methods."""
        return choose(self.preset, self.coarsening, self.refinement)

    def problem(
        self, total: int, targets: npt.ArrayLike | None = None, *, fill: bool = False
    ) -> Problem:
        """Return the problem of a graph of this total vertex weight, as `make_problem` does."""
        options = self.preset_options
        return make_problem(total, self.k, self.imbalance, self.seed, options, targets, fill=fill)


def in_units(problem: Problem, unit: int, n: int) -> Problem:
    """Return the problem after dividing all vertex weights by a common divisor.

    Graphs whose weights differ by a factor then get the same parts, and the room below a limit is
    not smaller than the lightest vertex. If all n weights are 0, every partition is balanced, and
    `unit` is 0. The result is then the problem of n weights of 1. The average weight of the n
    vertices becomes known, if it was not.
    """
    if unit == 0:
        return _of_equal_weights(problem, n)
    upper, lower = problem.part_limits, problem.part_lower_limits
    average = problem.total // problem.unit // max(n, 1)
    if problem.average is not None:
        average = problem.average
    return replace(
        problem,
        limit=problem.limit // unit,
        part_limits=None if upper is None else upper // unit,
        part_lower_limits=None if lower is None else -(-lower // unit),
        unit=problem.unit * unit,
        average=average // unit,
    )


def as_even_as(problem: Problem, sizes: npt.NDArray[np.integer[Any]]) -> Problem:
    """Return the problem of refining parts of these numbers of vertices, shape (k,).

    If all weights are 0, `in_units` limits the numbers of vertices. As every partition is balanced
    then, the imbalance is at least that of the given parts, so that refinement leaves them alone.
    """
    n = int(sizes.sum())
    if problem.total or not n:
        return problem
    even = _of_equal_weights(problem, n)
    imbalance = float(((sizes + 0.5) / even.ideals).max()) - 1
    return replace(problem, imbalance=max(problem.imbalance, imbalance))


def _of_equal_weights(problem: Problem, n: int) -> Problem:
    most = max(INT32_MAX, n)
    ideal = np.array(-(-n // problem.k), np.int64)
    limit, part_limits = int(limits_of(ideal, problem.imbalance, most)), None
    if problem.targets is not None:
        from jetpy.problem.targets import ideals

        part_limits = limits_of(ideals(n, problem.targets), problem.imbalance, most)
    return replace(problem, total=n, limit=limit, part_limits=part_limits, average=1)


def divided(graph: Graph, problem: Problem) -> tuple[Graph, Problem]:
    """Divide the vertex weights of a graph by their common divisor; return graph and problem.

    For stages on the host; `divide_weights` does this for a graph on the back end.
    """
    unit = common_divisor(graph.vertex_weights)
    if unit == 1:
        return graph, in_units(problem, unit, graph.n)
    weights = graph.vertex_weights // unit if unit else np.ones(graph.n, np.int32)
    return replace(graph, vertex_weights=weights), in_units(problem, unit, graph.n)


def loosened(problem: Problem, n: int) -> Problem:
    """Return the problem on a coarse level of n vertices, where limits are wider.

    They are wider by a fraction of an average vertex, because coarse vertices are too heavy to fill
    parts exactly. Repairing the balance on finer levels costs less than a strict limit on coarse
    levels.
    """
    average = problem.ideal_in_units * problem.k / n
    more = int(problem.options.refine.coarse_slack * average)
    upper, lower = problem.part_limits, problem.part_lower_limits
    return replace(
        problem,
        limit=problem.limit + more,
        part_limits=None if upper is None else upper + more,
        part_lower_limits=None if lower is None else (lower - more).clip(0),
    )


def within(step: Problem, last: Problem, weights: npt.NDArray[np.int64], cuts_left: int) -> Problem:
    """Return the problem of dividing each current part into the parts of a step.

    The current parts have these weights (int64) and may differ. The room that each has so that its
    parts in the last step keep their limit is shared by this division and the following ones;
    `cuts_left` is their number.
    """
    count = len(weights)
    arity, below = step.k // count, last.k // count
    limits = []
    for weight in weights.tolist():
        room, least, most = below * last.limit, -(-weight // arity), below // arity * last.limit
        share = int((1 + slack(room, weight, cuts_left)) * weight / arity + 1e-9)
        limits.append(most if cuts_left == 1 else min(max(share, least), most))
    return replace(
        step,
        limit=max(min(limits), last.limit),
        groups=count,
        part_limits=np.repeat(np.array(limits, np.int64), arity),
        metric=EDGE_CUT,
    )


def slack(room: int, weight: int, cuts_left: int) -> float:
    """Return the imbalance with which to divide a block so that its final parts keep their limit.

    `room` is the total limit of the final parts, `weight` the weight of the block. `cuts_left`
    divisions remain, and each gets the same share of the slack. Source: Schulz and Woydt,
    "Shared-Memory Hierarchical Process Mapping" (2025), adaptive imbalance; eq. 2 of Samoldekin,
    Schulz and Woydt (2025).
    """
    return float(max(room / max(weight, 1), 1.0) ** (1 / cuts_left) - 1)
