"""Every knob of the partitioner, in frozen dataclasses; presets choose them by name."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

from jetpy import choices
from jetpy.errors import OptionError
from jetpy.graph.checks import finite_number, flag, whole_number
from jetpy.workloads.common.control_block import TOLERANCE_UNITS

INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class CoarsenOptions:
    """How the hierarchy is built (Jet, section 3.1; G-kway, section 3.1; iG-kway, section IV).

    Attributes
    ----------
    method : {'two-hop', 'union-find', 'constrained'}
    rounds : int
        Two-hop: most rounds of handshakes a level.
    two_hop_share : float
        Two-hop: share of unmatched vertices above which its next kind is tried.
    max_matchmaker : int
        Two-hop: degree above which a vertex makes no matches among its neighbours, nor has a twin.
    score : bool
        Union-find, constrained: among neighbours by edges of equal weight, prefer low degrees.
    group_size : int
        Constrained: most vertices that become one.
    per_part : int or None
        Stop at so many vertices for each part; None: as Jet, or sooner (`coarsest_size` in
        `jetpy.multilevel.hierarchy`).
    min_shrink : float
        Stop when a level has more than this share of the vertices of the level before.
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
    """How the coarsest graph is partitioned: parts_tried / k times, three at least, in two limits.

    Half of the tries are partitions of their own, whose bisections are tried twice on average
    (`jetpy.initial.coarsest`).

    Attributes
    ----------
    method : {'bisection', 'metis'}
        Recursive bisection by the back end, or by METIS.
    max_tries : int
    parts_tried : int
    max_entries : int
        Vertices and directed edges of the coarsest graph times tries; coarsening goes on for a
        while where four tries would be too many.
    """

    method: choices.Initial = "bisection"
    max_tries: int = 8
    parts_tried: int = 96
    max_entries: int = 400_000


@dataclass(frozen=True)
class RefineOptions:
    """How a level is refined (Jet, section 4; G-kway, section 3.2).

    Moves of independent sets go on until there are none, whatever the patience, which is then that
    of rebalancing; they need the tolerance 1 (`INDEPENDENT_SET` in `jetpy.problem.presets`).

    Attributes
    ----------
    method : {'jet', 'independent-set'}
    finest_ratios, coarse_ratios : tuple of int
        Filter ratios c in percent, each of which gets a loop of its own, on the finest level and
        on all others.
    patience : int
        Iterations without a new best partition before a loop ends. Twice this number while a part
        is above its limit and either no balanced partition is known or the cut is smaller than
        the cut of the best one.
    tolerance : float
        A cut below this times the best one resets the patience (phi of the paper): from 0 to 1,
        with at most six digits after the point.
    weak_rounds : int
        Weak rebalancing iterations in a row before strong ones. If `patience` is not larger, strong
        ones follow an iteration of label propagation only where patience is doubled.
    coarse_slack : float
        By how much of an average vertex a part may outgrow its limit on coarse levels.
    overfill : int or None
        By how much, in percent, a part may outgrow its limit in label propagation; None: any.
    flow_sweeps : int
        How often flows look at each pair of parts, at most; 0: no flows.
    flow_hops : int
        Steps from the cut between two parts within which vertices may move by a flow.
    flow_step : int
        Flows are on every so many-th level, the finest among them.
    flow_size : int
        They are on levels of at most so many vertices and directed edges together.

    Raises
    ------
    OptionError
        If the tolerance is another number, or no number.
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
                f"tolerance is {self.tolerance}; a number from 0 to 1 is needed, with at most six "
                "digits after the point"
            )

    def has_flows(self, depth: int) -> bool:
        """Whether there may be flows on a level, the finest being 0."""
        return self.flow_sweeps > 0 and depth % self.flow_step == 0


@dataclass(frozen=True)
class Options:
    """All options of a run.

    Attributes
    ----------
    coarsen, initial, refine
        Options of the stages.
    branches : tuple of {'two-hop', 'union-find', 'constrained'}
        Coarsenings of other hierarchies, which branch off at one level
        (`jetpy.multilevel.hierarchy_portfolio`).
    portfolio_limit : int
        That is the finest one with at most so many vertices and directed edges together.
    branch_parts_tried : int
        The coarsest graph of another hierarchy is partitioned branch_parts_tried / k times, at
        least once, and not more often than that of the first.
    cycles : int
        V-cycles after the refinement of a cycled level.
    cycle_limit : int or None
        Cycled is the finest level with at most so many vertices and directed edges together.
    cycle_step : int
        Where that is None, cycled is every so many-th level, the finest among them.
    cut_share : float or None
        Where parts are cut again, this is done on coarse levels if the cut is at most this share
        of what it would be if it were all edges; None: on the finest level.
    generations : int
        Partitions that are found or recombined (`jetpy.multilevel.evolution`), where nothing else
        is asked for.
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
    """When a population of partitions is done: by what comes first.

    Attributes
    ----------
    generations : int or None
        After so many, 1 or more; None: whenever the time is over.
    time_limit : float or None
        When another generation would take longer than so many seconds in all; None: never.

    Raises
    ------
    OptionError
        If a number is out of range, or no number.
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
                    f"time_limit is {self.time_limit}; a number of seconds above 0 is needed"
                )
            object.__setattr__(self, "time_limit", seconds)

    def shared(self, runs: int) -> Effort:
        """Return what each of so many runs may take of the time, one after the other."""
        return self if self.time_limit is None else replace(self, time_limit=self.time_limit / runs)


ONCE = Effort(1)
"""One partition."""


def choose_effort(options: Options, generations: int | None, time_limit: float | None) -> Effort:
    """Return the effort that is asked for; that of the options, if nothing is.

    Raises
    ------
    OptionError
        If a number is out of range, or no number.
    """
    if generations is None and time_limit is None:
        return Effort(options.generations)
    return Effort(generations, time_limit)


@dataclass(frozen=True)
class IncrementalOptions:
    """How a partition follows a changing graph.

    Attributes
    ----------
    tries : int
        The first partition is the best of so many, with seeds one apart: many others follow from
        it, and some graphs' cuts vary by a tenth.
    extra_buckets : int
        Buckets of 32 slots that each vertex gets beside those that its neighbours fill (gamma of
        iG-kway).
    max_degree : int
        A vertex with more neighbours keeps its part until the whole partition is refined. Most
        batches change some of its edges, but few of them; and all its neighbours would have to be
        looked at.
    refine_after, repartition_after : float
        The whole partition is refined, or found anew, when more modifiers were applied since the
        last time than this share of the graph's vertices and edges.
    max_drift : float
        It is also found anew when the cut has become larger by this share, since the last time,
        because parts had no room for vertices where their edges would have them.
    on_host : bool
        Beside a GPU, the host keeps the graph and applies batches, and the GPU partitions whole
        graphs: quicker for batches of a few thousand modifiers, of which the GPU would wait for
        the host most of the time.
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
            raise OptionError("tries is 0; one at least is needed")
