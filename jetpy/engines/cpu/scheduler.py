"""How the members of a crew share launches: code that runs without the interpreter.

The thread that launches is the leader, member 0. A launch is split into pieces. Each member is
dealt consecutive pieces, so that it works on the same vertices in every launch, and takes pieces of
other members when its own are done. The leader opens a turn by one word that all members watch; as
many members join as the launch has work for. When no piece is left, the leader closes the turn and
waits for the members that are still working. A member that has not joined by then stays out, so
that a busy processor delays nobody. Waiting members spin for a while, then sleep. Results do not
depend on which member did what.

It is written in the kernel language, where `int` has 64 bits. All that members share are words of 8
bytes, at least a cache line for each that is often written to; crews, members and programs are
known by their addresses, which are numbers.
"""

from __future__ import annotations

from jetpy.engines.cpu import FOR, GRAIN, REDUCE, SCAN, TASKS
from jetpy.engines.cpu.machine import (
    call_range,
    compare_exchange,
    exchange,
    fetch_add,
    give_way,
    load,
    lock,
    pause,
    plain_load,
    plain_store,
    prepare,
    signal,
    store,
    unlock,
    wait,
)
from jetpy.kernel_language.pykokkos_standin import function

COUNTING = 4
"""The first pass of a scan."""

MAX_PIECES, SMALLEST, LARGEST = 1024, 64, 2048
"""Pieces of a launch, and indices of one: more only where pieces would be too many."""
EACH = 4
"""Pieces, at least, for each member, if they are not too small."""
SPINS = 4000
"""Looks of a waiting member before it sleeps: some 50 to 200 us."""
PATIENCE = 200
"""Looks at a member that works before the leader lets others use its processor."""

IDLE, WORKING, ASLEEP, DISMISSED = range(4)
"""States of a member."""

WORD, LINE = 8, 64
"""Bytes of a word and of a cache line."""
FUNCTION_OF, KIND_OF, BLOCK_OF, COUNT_OF, MORE_OF, PLACE_OF, TOTAL_OF = range(0, 7 * WORD, WORD)
"""Places of a launch in a program."""
STEP = 7 * WORD
"""Bytes of a launch in a program."""

TURN, SLEEPERS, TOTAL = LINE, 2 * LINE, 3 * LINE
"""Places in a crew, of which the first word says whether it is led: the number of the turn, odd
while it is open; how many members sleep; the sum of a reduction."""
FUNCTION, COUNT, PIECE, PASS, BLOCK, WIDTH = range(4 * LINE, 4 * LINE + 6 * WORD, WORD)
"""Places of the job."""
SUMS = 5 * LINE
"""Where the sums of a scan's pieces begin."""
MEMBERS = SUMS + WORD * MAX_PIECES
"""Where the members begin."""
NEXT, MUTEX, CONDITION = LINE, 2 * LINE, 4 * LINE
"""Places in a member, of which the first word is its state: the next of its pieces, above that the
turn that it is of, and what the member sleeps by."""
MEMBER = 6 * LINE
"""Bytes of a member."""
EXPORTED = ("launch", "run", "serve", "found", "dismiss")
"""Functions that the interpreter calls."""
PIECE_BITS = 16
PIECE_MASK = (1 << PIECE_BITS) - 1


def bytes_of(members: int) -> int:
    """Return how many bytes a crew needs."""
    return MEMBERS + members * MEMBER


@function
def least_of(a: int, b: int) -> int:
    """Return the smaller of two numbers."""
    if a < b:
        return a
    return b


@function
def member_of(crew: int, number: int) -> int:
    """Return a member."""
    return crew + MEMBERS + number * MEMBER


@function
def take_piece(next_piece: int, turn: int, first: int, stop: int) -> int:
    """Take a piece of those that a member was dealt, ``first..stop - 1``; return `stop` if none is.

    Who comes first says that they are of this turn.
    """
    if first == stop:
        return stop
    word: int = load(next_piece)
    if word >> PIECE_BITS != turn:
        taken: int = (turn << PIECE_BITS) + first + 1
        if compare_exchange(next_piece, word, taken) == word:
            return first
        word = load(next_piece)
    if word & PIECE_MASK >= stop:
        return stop
    return least_of(stop, fetch_add(next_piece, 1) & PIECE_MASK)


@function
def work(crew: int, number: int, turn: int) -> None:
    """Do pieces of the job until all are taken."""
    function: int = load(crew + FUNCTION)
    n: int = load(crew + COUNT)
    size: int = load(crew + PIECE)
    step: int = load(crew + PASS)
    block: int = load(crew + BLOCK)
    width: int = load(crew + WIDTH)
    pieces: int = (n - 1) // size + 1
    total: int = 0
    for place in range(width):
        other: int = number + place
        if other >= width:
            other -= width
        next_piece: int = member_of(crew, other) + NEXT
        first: int = pieces * other // width
        stop: int = pieces * (other + 1) // width
        while True:
            piece: int = take_piece(next_piece, turn, first, stop)
            if piece == stop:
                break
            start: int = piece * size
            end: int = least_of(n, start + size)
            if step == FOR:
                call_range(function, start, end, 0, 1, block)
            elif step == REDUCE:
                total = call_range(function, start, end, total, 1, block)
            elif step == COUNTING:
                store(crew + SUMS + WORD * piece, call_range(function, start, end, 0, 0, block))
            else:
                call_range(function, start, end, load(crew + SUMS + WORD * piece), 1, block)
    if total != 0:
        fetch_add(crew + TOTAL, total)


@function
def wake(crew: int, member: int) -> None:
    """Wake a member that has slept, after its state has been changed."""
    fetch_add(crew + SLEEPERS, -1)
    lock(member + MUTEX)
    signal(member + CONDITION)
    unlock(member + MUTEX)


@function
def share(crew: int, width: int) -> None:
    """Have a job done by the leader and those of the members 1..width - 1 who come in time."""
    turn: int = load(crew + TURN) + 1
    exchange(crew + TURN, turn)
    if load(crew + SLEEPERS) > 0:
        for number in range(1, width):
            sleeper: int = member_of(crew, number)
            if load(sleeper) == ASLEEP and compare_exchange(sleeper, ASLEEP, IDLE) == ASLEEP:
                wake(crew, sleeper)
    work(crew, 0, turn)
    exchange(crew + TURN, turn + 1)
    for number in range(1, width):
        member: int = member_of(crew, number)
        looks: int = 0
        while load(member) == WORKING:
            looks += 1
            if looks < PATIENCE:
                pause()
            else:
                give_way()


@function
def piece_size(kind: int, n: int, width: int) -> int:
    """Return how many indices a piece has."""
    size: int = (n - 1) // MAX_PIECES + 1
    if kind == TASKS:
        return size
    wanted: int = least_of(LARGEST, n // (EACH * width))
    if size < wanted:
        size = wanted
    if size < SMALLEST:
        return SMALLEST
    return size


@function
def launch_shared(crew: int, width: int, function: int, kind: int, n: int, block: int) -> int:
    """Run a launch by several members; return the total of a reduction or scan."""
    size: int = piece_size(kind, n, width)
    step: int = kind
    if kind == SCAN:
        step = COUNTING
    elif kind == TASKS:
        step = FOR
    store(crew + FUNCTION, function)
    store(crew + COUNT, n)
    store(crew + PIECE, size)
    store(crew + PASS, step)
    store(crew + BLOCK, block)
    store(crew + WIDTH, width)
    store(crew + TOTAL, 0)
    share(crew, width)
    if kind != SCAN:
        return load(crew + TOTAL)
    total: int = 0
    for piece in range((n - 1) // size + 1):
        place: int = crew + SUMS + WORD * piece
        count: int = load(place)
        store(place, total)
        total += count
    store(crew + PASS, SCAN)
    share(crew, width)
    return total


@function
def launch_led(crew: int, threads: int, function: int, kind: int, block: int) -> int:
    """Run a launch, by as many members as it can feed; return the total of a reduction or scan."""
    n: int = load(block)
    width: int = n // GRAIN
    if kind == TASKS:
        width = n
    width = least_of(threads, width)
    if width <= 1:
        return call_range(function, 0, n, 0, 1, block)
    return launch_shared(crew, width, function, kind, n, block)


@function
def launch(crew: int, threads: int, function: int, kind: int, block: int) -> int:
    """Run a launch, alone while somebody else leads the crew; return the total."""
    if threads == 1 or compare_exchange(crew, 0, 1) != 0:
        return launch_led(crew, 1, function, kind, block)
    total: int = launch_led(crew, threads, function, kind, block)
    store(crew, 0)
    return total


@function
def run(crew: int, threads: int, program: int, steps: int, until: int, most: int) -> int:
    """Run a program until a word is not zero, at most so many times; return how many.

    A program is launches in a row, `STEP` bytes each: function, kind and block; where a number is
    read, by how many indices are more than that, and the word of the block where the number
    belongs; where the total goes. Addresses and the place may be zero: the number of indices is in
    the block, and no argument; the total is not wanted; there is no end.
    """
    leads: bool = threads > 1 and compare_exchange(crew, 0, 1) == 0
    width: int = 1
    if leads:
        width = threads
    times: int = 0
    while times < most:
        times += 1
        for number in range(steps):
            step: int = program + STEP * number
            block: int = plain_load(step + BLOCK_OF)
            count: int = plain_load(step + COUNT_OF)
            if count != 0:
                n: int = load(count)
                place: int = plain_load(step + PLACE_OF)
                if place != 0:
                    plain_store(block + WORD * place, n)
                plain_store(block, n + plain_load(step + MORE_OF))
            function: int = plain_load(step + FUNCTION_OF)
            kind: int = plain_load(step + KIND_OF)
            total: int = launch_led(crew, width, function, kind, block)
            if plain_load(step + TOTAL_OF) != 0:
                store(plain_load(step + TOTAL_OF), total)
        if until != 0 and load(until) != 0:
            break
    if leads:
        store(crew, 0)
    return times


@function
def sleep(crew: int, member: int, last: int) -> None:
    """Sleep until woken, unless a turn has been opened since the last."""
    fetch_add(crew + SLEEPERS, 1)
    if compare_exchange(member, IDLE, ASLEEP) == IDLE:
        turn: int = load(crew + TURN)
        if turn == last or turn % 2 == 0 or compare_exchange(member, ASLEEP, IDLE) != ASLEEP:
            lock(member + MUTEX)
            while load(member) == ASLEEP:
                wait(member + CONDITION, member + MUTEX)
            unlock(member + MUTEX)
            return
    fetch_add(crew + SLEEPERS, -1)


@function
def serve(crew: int, number: int) -> int:
    """Be a member of the crew until it is dismissed."""
    member: int = member_of(crew, number)
    last: int = 0
    looks: int = 0
    while True:
        turn: int = load(crew + TURN)
        if turn != last and turn % 2 == 1:
            last = turn
            if number < load(crew + WIDTH) and compare_exchange(member, IDLE, WORKING) == IDLE:
                if load(crew + TURN) == turn:
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


@function
def found(crew: int, members: int) -> int:
    """Prepare a crew, whose words are zero."""
    for number in range(1, members):
        member: int = member_of(crew, number)
        prepare(member + MUTEX, member + CONDITION)
    return 0


@function
def dismiss(crew: int, members: int) -> int:
    """Have all members leave."""
    for number in range(1, members):
        member: int = member_of(crew, number)
        if exchange(member, DISMISSED) == ASLEEP:
            wake(crew, member)
    return 0
