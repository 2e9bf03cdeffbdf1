"""The control block and the counters: what stands where, and what it means.

The control block says what an iteration does, and how refinement goes. Back end and host both read
and write it, so that neither waits for the other between iterations.
"""

from enum import IntEnum

COUNTER_STRIPES = 64
"""Counters that a sum over many vertices is spread over, so that threads do not meet at one."""
TOLERANCE_UNITS = 1_000_000
"""Tolerances are whole numbers of units, this many to 1."""
BLOCK_BITS = 9
"""Blocks are of 2^9 vertices in a row."""


class Control(IntEnum):
    """Places in the control block."""

    ITERATION_SEED = 0
    FILTER_RATIO = 1
    """Share c of the first filter of Jetlp, in percent."""
    LOCK = 2
    """Number of the iteration among those that propagate."""
    TIE_LIMIT = 3
    """Most internal weight, in 128ths of its own, of a vertex that may leave to a part that it is
    not adjacent to."""
    IS_BEST = 4
    """Whether the parts are to be kept, as they are the best so far."""
    TASK = 5
    """What the iteration does (`Task`)."""
    REQUEST = 6
    """What the host is asked for (`Request`)."""
    IS_PENDING = 7
    """Whether an iteration was made whose results are not taken yet."""
    LAST_TASK = 8
    """What that iteration did."""
    CUT = 9
    BEST_CUT = 10
    BEST_OVERLOAD = 11
    """Most weight above its limit (negative: below) of a part of the best partition."""
    SINCE_BEST = 12
    """Iterations since the best partition."""
    WEAK_ITERATIONS = 13
    """Weak rebalancing iterations in a row."""
    ITERATIONS = 14
    SEED = 15
    """Seed of the run."""
    NEXT_TASK = 16
    """What the iteration is to do, before the plan is there."""
    PATIENCE = 17
    """Iterations without a better partition before the end."""
    TOLERANCE = 18
    """A cut below this, in millionths, times the best one resets the patience."""
    MAX_WEAK_ITERATIONS = 19
    """Weak rebalancing iterations before strong ones."""
    ENDS_WITHOUT_GAIN = 20
    """Whether, while balanced, an iteration that is not clearly better is the last one."""
    ROOM = 21
    """Active vertices at which the host is asked to make room for more."""
    PROPAGATING = 22
    """Indices of launches, for those who read them when a launch is due: active vertices, if the
    iteration propagates; else 0."""
    REBALANCING = 23
    """Active vertices, if the iteration rebalances; else 0."""
    LISTED = 24
    """Vertices listed last."""
    MOVES = 25
    """Those that share the lists of moved vertices, if rows are updated; else 0."""
    ROWS = 26
    """Number of rows if they are rebuilt, else 0."""
    GHOSTS = 27
    """First ghost."""
    HIGHER_GHOSTS = 28
    """First ghost whose number in the whole graph is above those of own vertices."""
    MAX_MOVED = 29
    """Moved vertices above which rows are rebuilt."""
    ALL_MOVED = 30
    """Vertices that have moved in all pieces of the graph."""
    INACTIVE = 31
    """Vertices that are not active in all pieces; 0 where the graph is whole."""
    WITHOUT_ROOM = 32
    """Pieces whose launches reach fewer than their active vertices; likewise."""
    VERTICES = 33
    """Vertices of the level."""
    LOCKED_FOR = 34
    """Number of iterations of label propagation in which a vertex that has moved stays: 1 or 0."""
    EXTRA_PATIENCE = 35
    """Whether the patience doubles while only the balance is missing."""
    CHECKS_ROOM = 37
    """Whether weak rebalancing only moves a vertex to parts with room for it."""
    REBALANCES_BY_CUT = 36
    """Whether weak rebalancing rates moves by their cut, whatever the metric."""


class Task(IntEnum):
    """What an iteration does."""

    NOTHING = 0
    PROPAGATE = 1
    """Moves while the partition is balanced: Jetlp, or independent sets."""
    REBALANCE_WEAKLY = 2
    REBALANCE_STRONGLY = 3
    FINISH = 4
    """Nothing, but the weights of the best partition are kept."""
    REPEAT = 5
    """Rebalances again by the same plan."""


class Request(IntEnum):
    """What the host is asked for."""

    NOTHING = 0
    END = 1
    ACTIVATE = 2
    """To rebalance again with more vertices active."""
    ROOM = 3
    """Launches over more active vertices."""
    MOVES = 4
    """To make moves that are too many for one index to look at them all."""


class Tasks(IntEnum):
    """What a sequence of launches can do: one bit for each task."""

    PROPAGATION = 1
    REBALANCING = 2
    ANY = 3


class Counter(IntEnum):
    """Places among the counters; of the first two, one for each stripe."""

    CUT_CHANGE = 0
    """Twice the change of the cut, or the new one if rows were rebuilt."""
    MOVED = COUNTER_STRIPES
    """Vertices in each list of moved ones."""
    REBUILD = 2 * COUNTER_STRIPES
    """Whether rows are to be rebuilt."""
    ACTIVE = 2 * COUNTER_STRIPES + 1
    """Active vertices."""
    TOO_FEW = 2 * COUNTER_STRIPES + 2
    """Whether the active vertices do not suffice to rebalance."""
