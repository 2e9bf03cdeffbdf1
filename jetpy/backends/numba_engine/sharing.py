"""How the members of a crew share launches: code that runs without the interpreter.

Whoever launches is the leader, member 0. The indices of a launch are cut into pieces, and these are
dealt to the members, to each some in a row, so that a member works on the same vertices from
launch to launch; whoever has done his own takes those of others. The leader calls as many members
as a launch can feed. Members that wait spin for a while, then sleep. Whoever has not come when all
pieces are done is not waited for: a processor that does something else holds nothing up. Results do
not depend on who did what.

All that members share are int64 words, at least a cache line for each that is written to.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from jetpy.backends.numba_engine import FOR, GRAIN, REDUCE, SCAN, TASKS
from jetpy.backends.numba_engine.machine import (
    after,
    call_range,
    compare_exchange,
    condition_init,
    condition_signal,
    condition_wait,
    exchange,
    fetch_add,
    load,
    mutex_init,
    mutex_lock,
    mutex_unlock,
    pause,
    sched_yield,
    store,
    words_at,
)

Words = Any
"""Pointer to int64 words."""
inner = njit(error_model="numpy")

COUNTING = 4
"""The first pass of a scan."""

MOST_PIECES, SMALLEST = 1024, 64
"""Pieces of a launch, and indices of one."""
SPINS = 4000
"""Looks of a waiting member before it sleeps: some 50 to 200 us."""
PATIENCE = 200
"""Looks at a member that works before the leader lets others use its processor."""

IDLE, CALLED, WORKING, ASLEEP, DISMISSED = range(5)
"""States of a member."""

FUNCTION_OF, KIND_OF, BLOCK_OF, COUNT_OF, PLACE_OF, TOTAL_OF = range(6)
STEP = 6
"""Words of a launch in a program, and how many."""

LINE = 8
"""Words of a cache line."""
FUNCTION, COUNT, PIECE, PASS, BLOCK, WIDTH = range(LINE, LINE + 6)
"""Places of the job among the words of a crew, of which the first says whether it is led."""
SUMS = 2 * LINE
"""Where the sums of a scan's pieces begin."""
MEMBERS = SUMS + MOST_PIECES
"""Where the words of the members begin."""
NEXT, STOP, SUM, MUTEX, CONDITION = LINE, LINE + 1, LINE + 2, 2 * LINE, 4 * LINE
"""Places among the words of a member, of which the first is its state: the next of its pieces, the
end of these, its sum, and what it sleeps by."""
MEMBER = 6 * LINE
"""Words of a member."""


def words_of(members: int) -> int:
    """Return how many words a crew needs."""
    return MEMBERS + members * MEMBER


@inner
def member_of(crew: Words, number: int) -> Words:
    """Return the words of a member."""
    return after(crew, MEMBERS + number * MEMBER)


@inner
def work(crew: Words, number: int) -> None:
    """Do pieces of the job until all are taken."""
    function, n = load(after(crew, FUNCTION)), load(after(crew, COUNT))
    size, step = load(after(crew, PIECE)), load(after(crew, PASS))
    block, width = load(after(crew, BLOCK)), load(after(crew, WIDTH))
    total = 0
    for turn in range(width):
        other = number + turn
        if other >= width:
            other -= width
        owner = member_of(crew, other)
        stop = load(after(owner, STOP))
        while load(after(owner, NEXT)) < stop:
            piece = fetch_add(after(owner, NEXT), 1)
            if piece >= stop:
                break
            start = piece * size
            end = min(n, start + size)
            if step == FOR:
                call_range(function, start, end, 0, 1, block)
            elif step == REDUCE:
                total = call_range(function, start, end, total, 1, block)
            elif step == COUNTING:
                store(after(crew, SUMS + piece), call_range(function, start, end, 0, 0, block))
            else:
                call_range(function, start, end, load(after(crew, SUMS + piece)), 1, block)
    store(after(member_of(crew, number), SUM), total)


@inner
def summon(member: Words, state: int) -> None:
    """Give a member another state, and wake it if it sleeps."""
    if exchange(member, state) == ASLEEP:
        mutex_lock(after(member, MUTEX))
        condition_signal(after(member, CONDITION))
        mutex_unlock(after(member, MUTEX))


@inner
def share(crew: Words, width: int) -> int:
    """Have a job done by the leader and those of the members 1..width - 1 who come in time."""
    pieces = (load(after(crew, COUNT)) - 1) // load(after(crew, PIECE)) + 1
    for number in range(width):
        member = member_of(crew, number)
        store(after(member, NEXT), pieces * number // width)
        store(after(member, STOP), pieces * (number + 1) // width)
        store(after(member, SUM), 0)
    for number in range(1, width):
        summon(member_of(crew, number), CALLED)
    work(crew, 0)
    total = load(after(member_of(crew, 0), SUM))
    for number in range(1, width):
        member = member_of(crew, number)
        if compare_exchange(member, CALLED, IDLE) != CALLED:
            looks = 0
            while load(member) == WORKING:
                looks += 1
                if looks < PATIENCE:
                    pause()
                else:
                    sched_yield()
            total += load(after(member, SUM))
    return total


@inner
def launch_shared(crew: Words, width: int, function: int, kind: int, n: int, block: int) -> int:
    """Run a launch by several members; return the total of a reduction or scan."""
    size = max(1 if kind == TASKS else SMALLEST, (n - 1) // MOST_PIECES + 1)
    store(after(crew, FUNCTION), function)
    store(after(crew, COUNT), n)
    store(after(crew, PIECE), size)
    store(after(crew, PASS), COUNTING if kind == SCAN else FOR if kind == TASKS else kind)
    store(after(crew, BLOCK), block)
    store(after(crew, WIDTH), width)
    total = share(crew, width)
    if kind == SCAN:
        total = 0
        for piece in range((n - 1) // size + 1):
            place = after(crew, SUMS + piece)
            count = load(place)
            store(place, total)
            total += count
        store(after(crew, PASS), SCAN)
        share(crew, width)
    return total


@inner
def launch_led(crew: Words, threads: int, function: int, kind: int, block: int) -> int:
    """Run a launch, by as many members as it can feed; return the total of a reduction or scan."""
    n = load(words_at(block))
    width = min(threads, n if kind == TASKS else n // GRAIN)
    if width <= 1:
        return call_range(function, 0, n, 0, 1, block)
    return launch_shared(crew, width, function, kind, n, block)


def launch(crew_address: int, threads: int, function: int, kind: int, block: int) -> int:
    """Run a launch, alone while somebody else leads the crew; return the total."""
    if threads == 1:
        return launch_led(words_at(crew_address), 1, function, kind, block)
    crew = words_at(crew_address)
    if compare_exchange(crew, 0, 1) != 0:
        return launch_led(crew, 1, function, kind, block)
    total = launch_led(crew, threads, function, kind, block)
    store(crew, 0)
    return total


def run(crew_address: int, threads: int, program: int, steps: int, until: int, most: int) -> int:
    """Run a program until a word is not zero, at most so many times; return how many.

    A program is launches in a row, `STEP` words each: function, kind and block; where the number of
    indices is read, and a place in the block where that belongs, too; where the total goes.
    Addresses may be zero: the number is in the block, the total is not wanted, there is no end.
    """
    crew = words_at(crew_address)
    leads = threads > 1 and compare_exchange(crew, 0, 1) == 0
    width = threads if leads else 1
    times = 0
    while times < most:
        times += 1
        for number in range(steps):
            step = words_at(program + 8 * STEP * number)
            block = step[BLOCK_OF]
            if step[COUNT_OF] != 0:
                n = load(words_at(step[COUNT_OF]))
                words_at(block)[0] = n
                words_at(block)[step[PLACE_OF]] = n
            total = launch_led(crew, width, step[FUNCTION_OF], step[KIND_OF], block)
            if step[TOTAL_OF] != 0:
                store(words_at(step[TOTAL_OF]), total)
        if until != 0 and load(words_at(until)) != 0:
            break
    if leads:
        store(crew, 0)
    return times


def serve(crew_address: int, number: int) -> int:
    """Be a member of the crew until it is dismissed."""
    crew = words_at(crew_address)
    member = member_of(crew, number)
    looks = 0
    while True:
        state = load(member)
        if state == CALLED:
            if compare_exchange(member, CALLED, WORKING) == CALLED:
                work(crew, number)
                compare_exchange(member, WORKING, IDLE)
            looks = 0
        elif state == DISMISSED:
            return 0
        elif looks < SPINS:
            looks += 1
            pause()
        else:
            looks = 0
            if compare_exchange(member, IDLE, ASLEEP) == IDLE:
                mutex_lock(after(member, MUTEX))
                while load(member) == ASLEEP:
                    condition_wait(after(member, CONDITION), after(member, MUTEX))
                mutex_unlock(after(member, MUTEX))


def found(crew_address: int, members: int) -> int:
    """Prepare the words of a crew, which are zero."""
    crew = words_at(crew_address)
    for number in range(1, members):
        mutex_init(after(member_of(crew, number), MUTEX), 0)
        condition_init(after(member_of(crew, number), CONDITION), 0)
    return 0


def dismiss(crew_address: int, members: int) -> int:
    """Have all members leave."""
    crew = words_at(crew_address)
    for number in range(1, members):
        summon(member_of(crew, number), DISMISSED)
    return 0
