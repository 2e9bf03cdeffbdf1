"""A kernel that calls functions of `jetpy.workloads.common.fm` one at a time."""

from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.fm import (
    Moves,
    begin_pass,
    dequeue,
    enqueue,
    first_queued,
    keep_moves,
    lock,
    moves_in_vain,
    queued_gain,
    to_undo,
)
from jetpy.workloads.common.heaps import LOCKED


class Step(IntEnum):
    """What a step does."""

    ENQUEUE = 0
    DEQUEUE = 1
    LOCK = 2
    KEEP = 3


class Row(IntEnum):
    """Places in the row of a step, and in that of its answers."""

    STEP = 0
    VERTEX = 1
    SIDE = 2
    GAIN = 3
    COUNT = 4
    FIRST = 0
    """The first vertices of both queues."""
    QUEUED_GAIN = 2
    IN_VAIN = 3


@pk.workunit
def take_steps(
    i: int,
    here: int,
    count: int,
    steps: pk.View1D[pk.int32],
    answers: pk.View1D[pk.int64],
    undone: pk.View1D[pk.int32],
    moves: Moves,
):
    """Take the steps of a pass, those of vertices that are not locked, and answer after each."""
    begin_pass(here, moves)
    for j in range(count):
        row: int = j * Row.COUNT
        step: int = steps[row + Row.STEP]
        v: int = steps[row + Row.VERTEX]
        side: int = steps[row + Row.SIDE]
        if step == Step.KEEP:
            keep_moves(here, moves)
        elif moves.positions[v] != LOCKED:
            if step == Step.ENQUEUE:
                enqueue(v, steps[row + Row.GAIN], side, here, moves)
            elif step == Step.DEQUEUE:
                dequeue(v, side, here, moves)
            else:
                lock(v, side, here, moves)
        for queue in range(2):
            answers[row + Row.FIRST + queue] = first_queued(queue, here, moves)
        answers[row + Row.QUEUED_GAIN] = queued_gain(v, side, here, moves)
        answers[row + Row.IN_VAIN] = moves_in_vain(here, moves)
    for place in to_undo(here, moves):
        undone[moves.moved[place]] = 1
