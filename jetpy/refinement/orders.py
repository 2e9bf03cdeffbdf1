"""The orders by which refinement goes, as `jetpy.workloads.conduct` reads and writes them."""

from __future__ import annotations

from enum import IntEnum


class Order(IntEnum):
    """Places in the orders."""

    SALT = 0
    RATIO = 1
    LOCK = 2
    TIE_LIMIT = 3
    KEEP = 4
    TASK = 5
    REQUEST = 6
    UNTAKEN = 7
    LAST_TASK = 8
    CUT = 9
    BEST_CUT = 10
    BEST_OVERLOAD = 11
    SINCE_BEST = 12
    WEAK = 13
    ITERATION = 14
    SEED = 15
    DUE = 16
    PATIENCE = 17
    TOLERANCE = 18
    WEAK_ROUNDS = 19
    SETTLES = 20


class Task(IntEnum):
    """What an iteration does."""

    NOTHING = 0
    PROPAGATE = 1
    REBALANCE_WEAKLY = 2
    REBALANCE_STRONGLY = 3


class Request(IntEnum):
    """What the host is asked for."""

    NOTHING = 0
    END = 1
    WATCH_MORE = 2
    ROOM = 3
    MOVES = 4
