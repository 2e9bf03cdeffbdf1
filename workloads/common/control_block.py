"""Layout of the control block and the counters.

The control block holds the task of the iteration and the progress of refinement. The back end and
the host both read and write it, so neither waits for the other between iterations.
"""

from enum import IntEnum

COUNTER_STRIPES = 64
"""Copies of a counter that many vertices add to, so that threads do not contend for one address."""
COUNTER_GAP = 8
"""Entries from one copy, or one counter, to the next, so that no two share a cache line."""
TOLERANCE_UNITS = 1_000_000
"""Tolerances are integers, in units of one millionth."""
BLOCK_BITS = 9
"""A block is 2^9 consecutive vertices."""


class Control(IntEnum):
    """Indices into the control block."""

    ITERATION_SEED = 0
    FILTER_RATIO = 1
    """Percentage c of the first filter of Jetlp (Jet, inequality 4.3)."""
    LOCK = 2
    """Index of the iteration among the iterations that propagate."""
    TIE_LIMIT = 3
    """A vertex may leave to a part that it is not adjacent to if its internal weight, in 128ths of
    its vertex weight, is at most this."""
    IS_BEST = 4
    """Whether to store the parts, because they are the best so far."""
    TASK = 5
    """The task of the iteration (`Task`)."""
    REQUEST = 6
    """The request to the host (`Request`)."""
    IS_PENDING = 7
    """Whether an iteration has run whose results have not been read yet."""
    LAST_TASK = 8
    """The task of that iteration."""
    CUT = 9
    BEST_CUT = 10
    BEST_OVERLOAD = 11
    """Largest weight of a part of the best partition outside its limits; at most 0 if all are
    within."""
    SINCE_BEST = 12
    """Iterations since the best partition."""
    WEAK_ITERATIONS = 13
    """Consecutive weak rebalancing iterations."""
    ITERATIONS = 14
    SEED = 15
    """Seed of the run."""
    NEXT_TASK = 16
    """The task of the next iteration, before the plan exists."""
    PATIENCE = 17
    """Iterations without a better partition after which refinement ends."""
    TOLERANCE = 18
    """A cut below this fraction of the best cut, in millionths, resets the patience."""
    MAX_WEAK_ITERATIONS = 19
    """Weak rebalancing iterations before strong ones (b_max of Jet, Algorithm 4.1)."""
    ENDS_WITHOUT_GAIN = 20
    """Whether an iteration from a balanced partition is the last if it is not clearly better."""
    ROOM = 21
    """Number of active vertices at which the kernels request a larger capacity from the host."""
    PROPAGATING = 22
    """The next entries are launch counts, read when a launch is due. This one: the number of active
    vertices if the iteration propagates, otherwise 0."""
    REBALANCING = 23
    """Number of active vertices if the iteration rebalances, otherwise 0."""
    LISTED = 24
    """Number of vertices of the list built last."""
    MOVES = 25
    """Number of indices that share the lists of moved vertices if rows are updated, otherwise 0."""
    ROWS = 26
    """Number of rows if they are rebuilt, otherwise 0."""
    GHOSTS = 27
    """First ghost."""
    HIGHER_GHOSTS = 28
    """First ghost whose global id is above the global ids of the owned vertices."""
    MAX_MOVED = 29
    """If more vertices than this move, rows are rebuilt."""
    ALL_MOVED = 30
    """Number of vertices that have moved, over all pieces of the graph."""
    INACTIVE = 31
    """Number of inactive vertices over all pieces; 0 if one process has the whole graph."""
    WITHOUT_ROOM = 32
    """Number of pieces whose launches cover fewer than their active vertices; 0 if one process has
    the whole graph."""
    VERTICES = 33
    """Number of vertices of the level."""
    LOCKED_FOR = 34
    """Number of label propagation iterations in which a moved vertex stays in place: 1 or 0."""
    EXTRA_PATIENCE = 35
    """Whether the patience doubles while the partition would be the best if it were balanced."""
    REBALANCES_BY_CUT = 36
    """Whether weak rebalancing rates moves by the cut, even if the metric is another one."""
    CHECKS_ROOM = 37
    """Whether weak rebalancing only moves a vertex to parts with room for it."""
    CHANGE_STRIPES = 38
    """Number of stripes of the counters from `Counter.CHANGES` on, a power of two. With 1, a move
    changes the part weights at once."""
    CHANGE_GAP = 39
    """Number of counters from one of these stripes to the next."""
    HAS_LOWER_LIMITS = 40
    """Whether a part has a lower limit."""
    EXCESS = 41
    """With several weights: the excess of all parts before the iteration."""


class Task(IntEnum):
    """The task of an iteration."""

    NOTHING = 0
    PROPAGATE = 1
    """Move vertices of a balanced partition: Jetlp, or independent sets."""
    REBALANCE_WEAKLY = 2
    REBALANCE_STRONGLY = 3
    FINISH = 4
    """Move nothing, but store the weights of the best partition."""
    REPEAT = 5
    """Rebalance again by the same plan."""
    FILL_UNDERLOADED = 6
    """Move vertices into parts below their lower limits."""


class Request(IntEnum):
    """A request to the host."""

    NOTHING = 0
    END = 1
    ACTIVATE = 2
    """Rebalance again with more active vertices."""
    ROOM = 3
    """Launch over more active vertices."""
    MOVES = 4
    """Make moves that are too many for one index to examine."""


class Tasks(IntEnum):
    """The tasks that a sequence of launches can do, one bit each."""

    PROPAGATION = 1
    REBALANCING = 2
    ANY = 3


class Counter(IntEnum):
    """Indices into the counters. The first two have one copy per stripe (`striped_counters`)."""

    CUT_CHANGE = 0
    """Twice the change of the cut; twice the new cut if rows were rebuilt."""
    MOVED = COUNTER_STRIPES * COUNTER_GAP
    """Number of vertices in each list of moved vertices."""
    REBUILD = 2 * COUNTER_STRIPES * COUNTER_GAP
    """Whether rows must be rebuilt."""
    ACTIVE = REBUILD + COUNTER_GAP
    """Number of active vertices."""
    TOO_FEW = ACTIVE + COUNTER_GAP
    """Whether there are too few active vertices to rebalance."""
    CHANGES = TOO_FEW + COUNTER_GAP
    """Weight change of each part, by stripe."""
