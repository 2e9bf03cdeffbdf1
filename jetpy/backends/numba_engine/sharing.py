"""How the members of a crew share launches: code that runs without the interpreter.

Whoever launches is the leader, member 0. The indices of a launch are cut into pieces, and these are
dealt to the members, to each some in a row, so that a member works on the same vertices from
launch to launch; whoever has done his own takes those of others. The leader opens a turn by one
word that all members watch, and as many of them come as the launch can feed. When no piece is left
it closes the turn, and waits for those who are at work: whoever has not come by then does not, so
that a processor that does something else holds nothing up. Members that wait spin for a while, then
sleep. Results do not depend on who did what.

All that members share are int64 words, at least a cache line for each that is often written to.
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

MOST_PIECES, SMALLEST, LARGEST = 1024, 64, 2048
"""Pieces of a launch, and indices of one: more only where pieces would be too many."""
EACH = 4
"""Pieces, at least, for each member, if they are not too small."""
SPINS = 4000
"""Looks of a waiting member before it sleeps: some 50 to 200 us."""
PATIENCE = 200
"""Looks at a member that works before the leader lets others use its processor."""

IDLE, WORKING, ASLEEP, DISMISSED = range(4)
"""States of a member."""

FUNCTION_OF, KIND_OF, BLOCK_OF, COUNT_OF, MORE_OF, PLACE_OF, TOTAL_OF = range(7)
STEP = 7
"""Words of a launch in a program, and how many."""

LINE = 8
"""Words of a cache line."""
TURN, SLEEPERS, TOTAL = LINE, 2 * LINE, 3 * LINE
"""Places among the words of a crew, of which the first says whether it is led: the number of the
turn, odd while it is open; how many members sleep; the sum of a reduction."""
FUNCTION, COUNT, PIECE, PASS, BLOCK, WIDTH = range(4 * LINE, 4 * LINE + 6)
"""Places of the job."""
SUMS = 5 * LINE
"""Where the sums of a scan's pieces begin."""
MEMBERS = SUMS + MOST_PIECES
"""Where the words of the members begin."""
NEXT, MUTEX, CONDITION = LINE, 2 * LINE, 4 * LINE
"""Places among the words of a member, of which the first is its state: the next of its pieces,
above that the turn that it is of, and what the member sleeps by."""
MEMBER = 6 * LINE
"""Words of a member."""
PIECE_BITS = 16
PIECE_MASK = (1 << PIECE_BITS) - 1


def words_of(members: int) -> int:
    """Return how many words a crew needs."""
    return MEMBERS + members * MEMBER


@inner
def member_of(crew: Words, number: int) -> Words:
    """Return the words of a member."""
    return after(crew, MEMBERS + number * MEMBER)


@inner
def take_piece(next_piece: Words, turn: int, first: int, stop: int) -> int:
    """Take a piece of those that a member was dealt, ``first..stop - 1``; return `stop` if none is.

    Who comes first says that they are of this turn.
    """
    if first == stop:
        return stop
    word = load(next_piece)
    if word >> PIECE_BITS != turn:
        taken = (turn << PIECE_BITS) + first + 1
        if compare_exchange(next_piece, word, taken) == word:
            return first
        word = load(next_piece)
    if word & PIECE_MASK >= stop:
        return stop
    return min(stop, fetch_add(next_piece, 1) & PIECE_MASK)


@inner
def work(crew: Words, number: int, turn: int) -> None:
    """Do pieces of the job until all are taken."""
    function, n = load(after(crew, FUNCTION)), load(after(crew, COUNT))
    size, step = load(after(crew, PIECE)), load(after(crew, PASS))
    block, width = load(after(crew, BLOCK)), load(after(crew, WIDTH))
    pieces = (n - 1) // size + 1
    total = 0
    for place in range(width):
        other = number + place
        if other >= width:
            other -= width
        next_piece = after(member_of(crew, other), NEXT)
        first, stop = pieces * other // width, pieces * (other + 1) // width
        while True:
            piece = take_piece(next_piece, turn, first, stop)
            if piece == stop:
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
    if total != 0:
        fetch_add(after(crew, TOTAL), total)


@inner
def wake(crew: Words, member: Words) -> None:
    """Wake a member that has slept, after its state has been changed."""
    fetch_add(after(crew, SLEEPERS), -1)
    mutex_lock(after(member, MUTEX))
    condition_signal(after(member, CONDITION))
    mutex_unlock(after(member, MUTEX))


@inner
def share(crew: Words, width: int) -> None:
    """Have a job done by the leader and those of the members 1..width - 1 who come in time."""
    turn = load(after(crew, TURN)) + 1
    exchange(after(crew, TURN), turn)
    if load(after(crew, SLEEPERS)) > 0:
        for number in range(1, width):
            member = member_of(crew, number)
            if load(member) == ASLEEP and compare_exchange(member, ASLEEP, IDLE) == ASLEEP:
                wake(crew, member)
    work(crew, 0, turn)
    exchange(after(crew, TURN), turn + 1)
    for number in range(1, width):
        member = member_of(crew, number)
        looks = 0
        while load(member) == WORKING:
            looks += 1
            if looks < PATIENCE:
                pause()
            else:
                sched_yield()


@inner
def piece_size(kind: int, n: int, width: int) -> int:
    """Return how many indices a piece has."""
    least = (n - 1) // MOST_PIECES + 1
    if kind == TASKS:
        return least
    return max(least, SMALLEST, min(LARGEST, n // (EACH * width)))


@inner
def launch_shared(crew: Words, width: int, function: int, kind: int, n: int, block: int) -> int:
    """Run a launch by several members; return the total of a reduction or scan."""
    size = piece_size(kind, n, width)
    store(after(crew, FUNCTION), function)
    store(after(crew, COUNT), n)
    store(after(crew, PIECE), size)
    store(after(crew, PASS), COUNTING if kind == SCAN else FOR if kind == TASKS else kind)
    store(after(crew, BLOCK), block)
    store(after(crew, WIDTH), width)
    store(after(crew, TOTAL), 0)
    share(crew, width)
    if kind != SCAN:
        return load(after(crew, TOTAL))
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

    A program is launches in a row, `STEP` words each: function, kind and block; where a number is
    read, by how many indices are more than that, and a place in the block where the number belongs;
    where the total goes. Addresses and the place may be zero: the number of indices is in the
    block, and no argument; the total is not wanted; there is no end.
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
                if step[PLACE_OF] != 0:
                    words_at(block)[step[PLACE_OF]] = n
                words_at(block)[0] = n + step[MORE_OF]
            total = launch_led(crew, width, step[FUNCTION_OF], step[KIND_OF], block)
            if step[TOTAL_OF] != 0:
                store(words_at(step[TOTAL_OF]), total)
        if until != 0 and load(words_at(until)) != 0:
            break
    if leads:
        store(crew, 0)
    return times


@inner
def sleep(crew: Words, member: Words, last: int) -> None:
    """Sleep until woken, unless a turn has been opened since the last."""
    fetch_add(after(crew, SLEEPERS), 1)
    if compare_exchange(member, IDLE, ASLEEP) == IDLE:
        turn = load(after(crew, TURN))
        if turn == last or turn % 2 == 0 or compare_exchange(member, ASLEEP, IDLE) != ASLEEP:
            mutex_lock(after(member, MUTEX))
            while load(member) == ASLEEP:
                condition_wait(after(member, CONDITION), after(member, MUTEX))
            mutex_unlock(after(member, MUTEX))
            return
    fetch_add(after(crew, SLEEPERS), -1)


def serve(crew_address: int, number: int) -> int:
    """Be a member of the crew until it is dismissed."""
    crew = words_at(crew_address)
    member, turns = member_of(crew, number), after(crew, TURN)
    last = looks = 0
    while True:
        turn = load(turns)
        if turn != last and turn % 2 == 1:
            last = turn
            if (
                number < load(after(crew, WIDTH))
                and compare_exchange(member, IDLE, WORKING) == IDLE
            ):
                if load(turns) == turn:
                    work(crew, number, turn)
                    looks = 0
                compare_exchange(member, WORKING, IDLE)
        elif load(member) == DISMISSED:
            return 0
        elif looks < SPINS:
            looks += 1
            pause()
        else:
            looks = 0
            sleep(crew, member, last)


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
        member = member_of(crew, number)
        if exchange(member, DISMISSED) == ASLEEP:
            wake(crew, member)
    return 0
