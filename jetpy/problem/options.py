"""All parameters of the partitioner, in frozen dataclasses; presets combine them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

from jetpy import choices
from jetpy.errors import OptionError
from jetpy.graph.checks import finite_number, flag, whole_number
from jetpy.workloads.common.control_block import TOLERANCE_UNITS

INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class CoarsenOptions:
    """Options of coarsening (Jet, section 3.1; G-kway, section 3.1; iG-kway, section IV).

    Attributes
    ----------
    method : {'two-hop', 'union-find', 'constrained'}
    rounds : int
        Two-hop: maximum number of handshake rounds per level.
    two_hop_share : float
        Two-hop: fraction of unmatched vertices above which the next kind of match is tried.
    max_matchmaker : int
        Two-hop: vertices of larger degree do not match their neighbours and have no twins.
    score : bool
        Union-find, constrained: among edges of equal weight, prefer neighbours of low degree.
    group_size : int
        Constrained: maximum number of vertices that become one coarse vertex.
    per_part : int or None
        Stop at this number of vertices per part; None: see `coarsest_size` in
        `jetpy.multilevel.hierarchy`.
    min_shrink : float
        Stop when a level has more than this fraction of the vertices of the previous level.
    """

    method: choices.Coarsening = "two-hop"
    rounds: int = 10
    two_hop_share: float = 0.25
    max_matchmaker: int = 4096
    score: bool = True
    group_size: int = 6
    per_part: int | None = None
    min_shrink: float = 0.95


@dataclass(frozen=True)
class InitialOptions:
    """Options of the initial partition of the coarsest graph.

    The number of tries is max(3, parts_tried / k), limited by `max_tries` and `max_entries`, but at
    least 1. Half of the tries are partitions; each of their bisections is tried twice on average
    (`jetpy.initial.coarsest`).

    Attributes
    ----------
    method : {'bisection', 'metis'}
        Recursive bisection by the back end, or by METIS.
    max_tries : int
    parts_tried : int
    max_entries : int
        Maximum number of vertices and directed edges of the coarsest graph times tries. Coarsening
        continues for some levels if four tries would exceed it.
    """

    method: choices.Initial = "bisection"
    max_tries: int = 8
    parts_tried: int = 96
    max_entries: int = 400_000


@dataclass(frozen=True)
class RefineOptions:
    """Options of refinement on a level (Jet, section 4; G-kway, section 3.2).

    Refinement by independent sets continues until no move is left, whatever the patience, which
    then applies to rebalancing. It requires the tolerance 1 (`INDEPENDENT_SET` in
    `jetpy.problem.presets`).

    Attributes
    ----------
    method : {'jet', 'independent-set'}
    finest_ratios, coarse_ratios : tuple of int
        Filter ratios c in percent, on the finest level and on all others. Each ratio has its own
        refinement loop.
    patience : int
        Iterations without a new best partition before a loop ends. The number doubles while a part
        is above its limit and either no balanced partition is known or the cut is smaller than
        the cut of the best partition.
    tolerance : float
        A cut below this factor times the best cut resets the patience (phi in the paper): from 0 to
        1, with at most six decimal places.
    weak_rounds : int
        Number of consecutive weak rebalancing iterations before strong ones. If `patience` is not
        larger, strong iterations follow label propagation only while the patience is doubled.
    coarse_slack : float
        Extra room of parts on coarse levels, as a fraction of an average vertex.
    overfill : int or None
        Percentage by which label propagation may exceed the limit of a part; None: any.
    flow_sweeps : int
        Maximum number of times that flows visit each pair of parts; 0: no flows.
    flow_hops : int
        Flows move vertices within this distance, in edges, of the cut between two parts.
    flow_step : int
        Flows run on every `flow_step`-th level, including the finest.
    flow_size : int
        Flows run on levels with at most this number of vertices and directed edges together.

    Raises
    ------
    OptionError
        If the tolerance is not a number, or is out of range.
    """

    method: choices.Refinement = "jet"
    finest_ratios: tuple[int, ...] = (25,)
    coarse_ratios: tuple[int, ...] = (75,)
    patience: int = 8
    tolerance: float = 0.999
    weak_rounds: int = 8
    coarse_slack: float = 0.5
    overfill: int | None = 2
    flow_sweeps: int = 1
    flow_hops: int = 3
    flow_step: int = 3
    flow_size: int = 4_000_000

    def __post_init__(self) -> None:
        tolerance = finite_number("tolerance", self.tolerance)
        if tolerance > 1 or round(TOLERANCE_UNITS * tolerance) / TOLERANCE_UNITS != tolerance:
            raise OptionError(
                f"tolerance is {self.tolerance}; it must be a number in 0..1 with at most six "
                "decimal places"
            )

    def has_flows(self, depth: int) -> bool:
        """Return whether flows may run on the level of this depth; the finest has depth 0."""
        return self.flow_sweeps > 0 and depth % self.flow_step == 0


@dataclass(frozen=True)
class Options:
    """All options of a run.

    Attributes
    ----------
    coarsen, initial, refine
        Options of the stages.
    branches : tuple of {'two-hop', 'union-find', 'constrained'}
        Coarsening methods of further hierarchies, which share the finest levels with the first
        (`jetpy.multilevel.hierarchy_portfolio`).
    portfolio_limit : int
        The hierarchies separate at the finest level with at most this number of vertices and
        directed edges together.
    branch_parts_tried : int
        The coarsest graph of a further hierarchy is partitioned branch_parts_tried / k times, at
        least once, and not more often than the first hierarchy's.
    cycles : int
        Number of V-cycles after the refinement of a level chosen by the next two options.
    cycle_limit : int or None
        V-cycles start at the finest level with at most this number of vertices and directed edges
        together.
    cycle_step : int
        If `cycle_limit` is None, V-cycles start at every `cycle_step`-th level, including the
        finest.
    cut_share : float or None
        When parts are divided further, this happens on coarse levels if the cut is at most this
        fraction of its value if all edges were cut; None: on the finest level.
    generations : int
        Default number of partitions that are found or recombined (`jetpy.multilevel.evolution`).
    """

    coarsen: CoarsenOptions = field(default_factory=CoarsenOptions)
    initial: InitialOptions = field(default_factory=InitialOptions)
    refine: RefineOptions = field(default_factory=RefineOptions)
    branches: tuple[choices.Coarsening, ...] = ("union-find",)
    portfolio_limit: int = 200_000
    branch_parts_tried: int = 8
    cycles: int = 1
    cycle_limit: int | None = 30_000
    cycle_step: int = 3
    cut_share: float | None = None
    generations: int = 1


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
class IncrementalOptions:
    """Options of incremental partitioning of a changing graph.

    Attributes
    ----------
    tries : int
        The first partition is the best of this number of runs with consecutive seeds. All later
        partitions depend on it, and cuts of some graphs vary by a tenth.
    extra_buckets : int
        Number of buckets of 32 slots per vertex in addition to the buckets that its neighbours fill
        (gamma in iG-kway).
    max_degree : int
        A vertex with more neighbours keeps its part until the whole partition is refined. Most
        batches change a small fraction of its edges, but all its neighbours would be visited.
    refine_after, repartition_after : float
        The whole partition is refined, or recomputed, once the number of modifiers since the last
        time exceeds this fraction of the graph's vertices and edges.
    max_drift : float
        The partition is also recomputed once the cut has grown by this fraction since the last
        time because vertices did not fit into the parts that their edges prefer.
    on_host : bool
        With a GPU, the host stores the graph and applies batches, and the GPU partitions whole
        graphs. This is faster for batches of a few thousand modifiers, in which the GPU would
        mostly wait for the host.
    """

    tries: int = 3
    extra_buckets: int = 1
    max_degree: int = 1024
    refine_after: float = 0.01
    repartition_after: float = 0.05
    max_drift: float = 0.05
    on_host: bool = True

    def __post_init__(self) -> None:
        for option in fields(self):
            check = {"int": whole_number, "float": finite_number, "bool": flag}[str(option.type)]
            object.__setattr__(self, option.name, check(option.name, getattr(self, option.name)))
        if self.tries < 1:
            raise OptionError("tries is 0; it must be at least 1")
