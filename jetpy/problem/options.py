"""All parameters of the partitioner, in frozen dataclasses; presets combine them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from jetpy import choices
from jetpy.errors import OptionError
from jetpy.graph.checks import finite_number, whole_number
from jetpy.problem.checked import Checked, option
from jetpy.workloads.common.control_block import TOLERANCE_UNITS

INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class CoarsenOptions(Checked):
    """Options of coarsening (Jet, section 3.1; G-kway, section 3.1; iG-kway, section IV).

    Attributes
    ----------
    method : {'two-hop', 'union-find', 'constrained'}
        Pairs of vertices (Jet), subsets of any size (G-kway), or subsets that are split into groups
        of `group_size` vertices (iG-kway).
    rating : {'expansion', 'weight'}
        Two-hop: a vertex prefers the edge of the largest w(u,v)^2 / (c(u) c(v)), where w are edge
        weights and c vertex weights ("expansion*2": Holtgrewe, Sanders, Schulz, "Engineering a
        scalable high quality graph partitioner", IPDPS 2010), or the largest w(u,v) (Jet).
    light_edges : bool
        Two-hop: whether an edge may be contracted that has less than half the weight of the
        heaviest edge of each of its vertices.
    bounded : bool
        Whether a coarse vertex weighs at most the limit of a part; otherwise any weight.
        Union-find, constrained: heavier subsets are split.
    rounds : int
        Two-hop: maximum number of handshake rounds per level.
    two_hop_share : float
        Two-hop: fraction of unmatched vertices above which the next kind of match is tried: leaves,
        then twins, then relatives.
    dense : int or None
        Two-hop: levels with at least this number of directed edges per vertex are coarsened by the
        method 'constrained', because pairs would merge few of their edges; but none, if the first
        of them has no vertex of more than five times the average degree. Levels of more than 67
        million vertices and directed edges together are not. None: no levels.
    max_matchmaker : int
        Two-hop: vertices of larger degree do not match their neighbours and have no twins.
    score : bool
        Union-find, constrained: among edges of equal weight, prefer neighbours of low degree.
    group_size : int
        Constrained: maximum number of vertices that become one coarse vertex.
    coarsest : {'adaptive', 'jet', 'per-part', 'finest-share'}
        Rule for the number of vertices at which coarsening ends. 'adaptive': 32 k, within 512 and
        max(2048, 16 k); more than in Jet, because bisecting 32 vertices per part takes milliseconds
        and leads to smaller cuts. 'jet': 8 k, or if that is above 1024, max(1024, 2 k) (Jet,
        section 3, and its program). 'per-part': `per_part` * k (iG-kway, section VI: 35 k; the
        journal version of G-kway, section 5.7: 160 k). 'finest-share': n / (20 log2 k) for a graph
        of n vertices, but at least k (G-kway, DAC 2024, section 4.1). A level with less than an
        eighth of this number is discarded, and coarsening ends.
    per_part : int
        Number of vertices per part at which coarsening ends by the rule 'per-part'.
    min_shrink : float
        Stop when a level has more than this fraction of the vertices of the previous level.
    communities : int
        From the first level with at most this number of vertices on, only vertices of the same
        community are contracted. Conditions: a vertex has more than five times the average degree,
        which is at most 24, and the modularity exceeds 1/2. 0: never.
    """

    prefix: ClassVar[str] = "coarsen."

    method: choices.Coarsening = "two-hop"
    rating: choices.Rating = "expansion"
    light_edges: bool = False
    bounded: bool = True
    rounds: int = option(10, 1)
    two_hop_share: float = option(0.25, most=1)
    dense: int | None = option(64, 1)
    max_matchmaker: int = option(4096)
    score: bool = True
    group_size: int = option(6, 2)
    coarsest: choices.Coarsest = "adaptive"
    per_part: int = option(160, 1)
    min_shrink: float = option(0.95, most=1)
    communities: int = option(0)


@dataclass(frozen=True)
class InitialOptions(Checked):
    """Options of the initial partition of the coarsest graph.

    The number of tries is max(3, parts_tried / k), limited by `max_tries` and `max_entries`, but at
    least 1. Half of the tries are partitions; each of their bisections is tried twice on average.

    Attributes
    ----------
    method : {'bisection', 'metis', 'metis-kway'}
        Recursive bisection by the back end, or METIS: recursive bisection or its k-way method.
    max_tries : int
    parts_tried : int
    max_entries : int or None
        Maximum number of vertices and directed edges of the coarsest graph times tries. Coarsening
        continues for some levels if four tries would exceed it. None: any number.
    task_size : int
        Coarsening ends at the first coarse level with at most this number of vertices and directed
        edges together, and with at most 48 directed edges per vertex. The level is partitioned like
        a small graph, once for each try, with the effort of `SmallOptions`, but without V-cycles
        and with a single try inside.
        Only with the method 'bisection', for at most 128 parts and the edge cut, without groups of
        parts and pinned vertices; 0: never.
    """

    prefix: ClassVar[str] = "initial."

    method: choices.Initial = "bisection"
    max_tries: int = option(8, 1)
    parts_tried: int = option(96)
    max_entries: int | None = option(400_000, 1)
    task_size: int = option(0)


@dataclass(frozen=True)
class RefineOptions(Checked):
    """Options of refinement on a level (Jet, section 4; G-kway, section 3.2).

    Refinement by independent sets ends with the first iteration that does not lower the cut by the
    tolerance, whatever the patience, which then applies to rebalancing. It should have the
    tolerance 1, so that it continues until no move is left. A change of `method` alone keeps all
    other options; the argument `refinement` of `jetpy.partition` also sets the options of G-kway.

    Attributes
    ----------
    method : {'jet', 'independent-set'}
    finest_ratios, coarse_ratios : tuple of int
        Filter ratios c in percent, on the finest level and on all others. Each ratio has its own
        refinement loop. With 0, moves of negative gain are not proposed: the weak afterburner of
        Jet, section 7.1.4.
    afterburner : bool
        Whether a proposed move is made only if its gain is not negative once the proposed moves of
        higher priority are assumed. Without, all proposed moves of positive gain are made: label
        propagation, the baseline of Jet, section 7.1.4.
    locks : bool
        Whether a vertex that has moved stays in the next iteration of label propagation.
    patience : int
        Iterations without a new best partition before a loop ends.
    extra_patience : bool
        Whether the patience doubles while a part is above its limit and either no balanced
        partition is known or the cut is smaller than the cut of the best partition.
    tolerance : float
        A cut below this factor times the best cut resets the patience (phi in the paper): from 0 to
        1, with at most six decimal places.
    coarse_tolerance : float or None
        The same on all levels but the finest, whose refinement repeats much of the work on coarse
        levels; None: as `tolerance`.
    weak_rounds : int or None
        Number of consecutive weak rebalancing iterations before strong ones; 0: all iterations are
        strong; None: all are weak. If `patience` is not larger, strong iterations follow label
        propagation only while the patience is doubled.
    strong_fill : {'limit', 'average'}
        Whether strong rebalancing fills parts until just below their limit, or until their average
        weight, as the program of Jet's authors does.
    check_room : bool
        Whether weak rebalancing only moves a vertex to parts that have room for it, if it moved
        alone, as far as there are any; otherwise to any part well below its limit, as in Jet.
    rebalance_by : {'cost', 'cut'}
        For process mapping: whether rebalancing rates moves by their communication cost or by their
        cut, as GPU-IM does.
    coarse_slack : float
        Extra room of parts on coarse levels, as a fraction of an average vertex.
    overfill : int or None
        Percentage by which label propagation may exceed the limit of a part; None: any.
    level_step : int
        Every `level_step`-th level is refined, including the finest. Parts are only projected on
        other levels, except on a level with V-cycles.
    flow_sweeps : int
        Maximum number of times that flows visit each pair of parts; 0: no flows.
    flow_hops : int
        Flows move vertices within this distance, in edges, of the cut between two parts.
    flow_step : int
        Flows run on every `flow_step`-th level, including the finest, if it is refined.
    flow_size : int
        Flows run on levels with at most this number of vertices and directed edges together.
    """

    prefix: ClassVar[str] = "refine."

    method: choices.Refinement = "jet"
    finest_ratios: tuple[int, ...] = option((25,), most=100)
    coarse_ratios: tuple[int, ...] = option((65,), most=100)
    afterburner: bool = True
    locks: bool = True
    patience: int = option(8, 1)
    extra_patience: bool = True
    tolerance: float = option(0.999, most=1)
    coarse_tolerance: float | None = option(0.99, most=1)
    weak_rounds: int | None = option(8)
    strong_fill: choices.StrongFill = "limit"
    check_room: bool = True
    rebalance_by: choices.RebalanceBy = "cost"
    coarse_slack: float = option(0.5)
    overfill: int | None = option(5)
    level_step: int = option(2, 1)
    flow_sweeps: int = option(1)
    flow_hops: int = option(3)
    flow_step: int = option(2, 1)
    flow_size: int = option(4_000_000)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("tolerance", "coarse_tolerance"):
            value = getattr(self, name)
            if value is not None and round(TOLERANCE_UNITS * value) / TOLERANCE_UNITS != value:
                raise OptionError(
                    f"{self.prefix}{name} is {value}; it must have at most six decimal places"
                )
        for name in ("finest_ratios", "coarse_ratios"):
            if not getattr(self, name):
                raise OptionError(f"{self.prefix}{name} is empty; it must have at least one ratio")

    def is_refined(self, depth: int) -> bool:
        """Return whether levels of this depth are refined; the finest has depth 0."""
        return depth % self.level_step == 0

    def ratios_and_tolerance(self, *, finest: bool) -> tuple[tuple[int, ...], float]:
        """Return the filter ratios and the tolerance of the finest level, or of all others."""
        if finest:
            return self.finest_ratios, self.tolerance
        coarse = self.tolerance if self.coarse_tolerance is None else self.coarse_tolerance
        return self.coarse_ratios, coarse

    def has_flows(self, depth: int) -> bool:
        """Return whether flows may run on the level of this depth; the finest has depth 0."""
        return self.flow_sweeps > 0 and depth % self.flow_step == 0


@dataclass(frozen=True)
class SmallOptions(Checked):
    """Options of small graphs. One thread partitions such a graph from beginning to end.

    Other stages have no effect on small graphs. If an option of another stage is changed, no graph
    is small, unless `max_vertices` is given, too.

    Attributes
    ----------
    max_vertices : int
        Maximum number of vertices of a small graph.
    max_degree : int
        Maximum average degree of a small graph.
    coarsest, per_part : int
        Coarsening ends at this number of vertices, or of vertices per part, if that is more.
    middle, middle_per_part : int
        Tries begin at a level of at most this number of vertices, or of vertices per part.
    min_tries, max_tries, vertices_per_try : int
        There is a try for each `vertices_per_try` vertices of the graph, within two bounds. Each
        coarsens the level further, partitions the coarsest level by recursive bisection and refines
        up to the level again. The best one continues.
    bisections : int
        Number of times that bisections of the last depth are tried; one less for each depth before.
    growings : int
        Number of bisections that are grown on the coarsest level of a bisection.
    communities : int
        As in `CoarsenOptions`, but for k > 2, and down to the level at which tries begin; whether a
        vertex has more than five times the average degree is decided on the finest level.
    cycles : int
        Number of V-cycles: from the level of the tries, or from the finest level if a vertex has
        more than five times the average degree.
    flow_levels : int
        Number of finest levels with flows between pairs of parts.
    hops : int
        Flows move vertices within this distance, in edges, of the cut between two parts.
    """

    prefix: ClassVar[str] = "small."

    max_vertices: int = option(0)
    max_degree: int = option(12)
    coarsest: int = option(120, 2)
    per_part: int = option(30, 1)
    middle: int = option(0)
    middle_per_part: int = option(0)
    min_tries: int = option(1, 1)
    max_tries: int = option(1, 1)
    vertices_per_try: int = option(1250, 1)
    bisections: int = option(1, 1)
    growings: int = option(4, 1)
    communities: int = option(0)
    cycles: int = option(0)
    flow_levels: int = option(1)
    hops: int = option(1)


@dataclass(frozen=True)
class Options(Checked):
    """All options of a run.

    `jetpy.preset` returns those of a preset, and `changed` returns a copy with other values.

    Attributes
    ----------
    coarsen, initial, refine
        Options of the stages.
    small : SmallOptions
        Options of small graphs.
    branches : tuple of {'two-hop', 'union-find', 'constrained'}
        Coarsening methods of further hierarchies, which share the finest levels with the first.
    portfolio_limit : int
        The hierarchies separate at the finest level with at most this number of vertices and
        directed edges together.
    branch_shrink : float
        Further hierarchies exist only if a level of the first has, on average, more than this
        fraction of the vertices of the previous one (geometric mean over the levels that they would
        not share); 0: always.
    branch_parts_tried : int
        The coarsest graph of a further hierarchy is partitioned branch_parts_tried / k times, at
        least once, and not more often than the first hierarchy's.
    cycles : int
        Number of V-cycles after the refinement of a level chosen by the next two options.
        With several weights per vertex, three times as many on the finest level instead.
    cycle_limit : int or None
        V-cycles start at the finest level with at most this number of vertices and directed edges
        together.
    cycle_step : int
        If `cycle_limit` is None, V-cycles start at every `cycle_step`-th level, including the
        finest.
    gathers_core : bool
        Whether a second refinement of the finest level starts with the vertices of the highest
        degrees in one part, if many edges between them are cut; the better partition is kept.
    cut_share : float or None
        When parts are divided further, this happens on coarse levels if the cut is at most this
        fraction of its value if all edges were cut; None: on the finest level.
    generations : int
        Default number of partitions that are found or recombined.

    Raises
    ------
    OptionError
        If a value does not have the type of its field, or is out of range.

    Examples
    --------
    >>> import jetpy
    >>> options = jetpy.preset("jet").changed({"refine.patience": 20})
    >>> options.refine.patience, options.coarsen.rating
    (20, 'weight')
    """

    coarsen: CoarsenOptions = field(default_factory=CoarsenOptions)
    initial: InitialOptions = field(default_factory=InitialOptions)
    refine: RefineOptions = field(default_factory=RefineOptions)
    small: SmallOptions = field(default_factory=SmallOptions)
    branches: tuple[choices.Coarsening, ...] = ("union-find",)
    portfolio_limit: int = option(200_000)
    branch_shrink: float = option(0.57, most=1)
    branch_parts_tried: int = option(8)
    cycles: int = option(0)
    cycle_limit: int | None = option(30_000)
    cycle_step: int = option(3, 1)
    gathers_core: bool = False
    cut_share: float | None = option(None, most=1)
    generations: int = option(1, 1)

    def changed(self, changes: Mapping[str, Any]) -> Options:
        """Return a copy with other values of some options, by the names of `values`.

        If an option that small graphs ignore is changed, no graph is small (`SmallOptions`).

        Raises
        ------
        OptionError
            If `changes` is not a mapping, a name is unknown, or a value is out of range.
        """
        changed = super().changed(changes)
        is_ignored = any(not name.startswith(SmallOptions.prefix) for name in changes)
        if not is_ignored or "small.max_vertices" in changes:
            return changed
        return replace(changed, small=replace(changed.small, max_vertices=0))


@dataclass(frozen=True)
class Effort:
    """Limits of an evolutionary search; the first one reached ends it.

    Attributes
    ----------
    generations : int or None
        Number of generations, at least 1; None: no limit.
    time_limit : float or None
        Total seconds; the search ends if another generation would exceed them. None: no limit.

    Raises
    ------
    OptionError
        If a value is out of range or not a number.
    """

    generations: int | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if self.generations is not None:
            object.__setattr__(
                self, "generations", whole_number("generations", self.generations, 1)
            )
        if self.time_limit is not None:
            seconds = finite_number("time_limit", self.time_limit)
            if seconds == 0:
                raise OptionError(
                    f"time_limit is {self.time_limit}; it must be a positive number of seconds"
                )
            object.__setattr__(self, "time_limit", seconds)

    def shared(self, runs: int) -> Effort:
        """Return the effort of each of `runs` consecutive runs, which share the time equally."""
        return self if self.time_limit is None else replace(self, time_limit=self.time_limit / runs)


ONCE = Effort(1)
"""One partition."""


def choose_effort(options: Options, generations: int | None, time_limit: float | None) -> Effort:
    """Return the requested effort; by default, the generations of `options`.

    Raises
    ------
    OptionError
        If a value is out of range or not a number.
    """
    if generations is None and time_limit is None:
        return Effort(options.generations)
    return Effort(generations, time_limit)


@dataclass(frozen=True)
class IncrementalOptions(Checked):
    """Options of incremental partitioning of a changing graph.

    With the preset `igkway`, the defaults are those of the paper: one try, and None for
    `max_degree`, `refine_after`, `repartition_after` and `max_drift`.

    Attributes
    ----------
    tries : int
        The first partition is the best of this number of runs with consecutive seeds. All later
        partitions depend on it, and cuts of some graphs vary by a tenth.
    extra_buckets : int
        Number of buckets of 32 slots per vertex in addition to the buckets that its neighbours fill
        (gamma in iG-kway).
    max_degree : int or None
        A vertex with more neighbours keeps its part until the whole partition is refined. Most
        batches change a small fraction of its edges, but all its neighbours would be visited.
    refine_after, repartition_after : float or None
        The whole partition is refined, or recomputed, once the number of modifiers since the last
        time exceeds this fraction of the graph's vertices and edges; None: never.
    max_drift : float or None
        The partition is also recomputed once the cut has grown by this fraction since the last
        time because vertices did not fit into the parts that their edges prefer.
    on_host : bool
        With a GPU, the host stores the graph and applies batches, and the GPU partitions whole
        graphs. This is faster for batches of a few thousand modifiers, in which the GPU would
        mostly wait for the host.
    """

    tries: int = option(3, 1)
    extra_buckets: int = option(1)
    max_degree: int | None = option(1024)
    refine_after: float | None = option(0.01)
    repartition_after: float | None = option(0.05)
    max_drift: float | None = option(0.05)
    on_host: bool = True
