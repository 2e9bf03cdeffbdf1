"""How the workers of a pool share launches: code that runs without the interpreter.

The thread that launches is the leader, worker 0. A launch is split into pieces. Each worker is
dealt consecutive pieces, so that it works on the same vertices in every launch, and takes pieces of
other workers when its own are done. The leader opens a turn by one word that all workers watch; as
many workers join as the launch has work for. When no piece is left, the leader closes the turn and
waits for the workers that are still working. A worker that has not joined by then stays out, so
that a busy processor delays nobody. Waiting workers spin for a while, then sleep. Results do not
depend on which worker did what.

It is written in the kernel language, where `int` has 64 bits. All that workers share are words of 8
bytes, at least a cache line for each that is often written to; pools, workers and programs are
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
"""Pieces, at least, for each worker, if they are not too small."""
SPINS = 4000
"""Looks of a waiting worker before it sleeps: some 50 to 200 us."""
PATIENCE = 200
"""Looks at a worker that works before the leader lets others use its processor."""

IDLE, WORKING, ASLEEP, DISMISSED = range(4)
"""States of a worker."""

WORD, LINE = 8, 64
"""Bytes of a word and of a cache line."""
FUNCTION_OF, KIND_OF, BLOCK_OF, COUNT_OF, MORE_OF, PLACE_OF, TOTAL_OF = range(0, 7 * WORD, WORD)
"""Offsets of a launch in a program."""
STEP = 7 * WORD
"""Bytes of a launch in a program."""

TURN, SLEEPERS, TOTAL = LINE, 2 * LINE, 3 * LINE
"""Offsets in a pool: number of the turn, odd while it is open; number of workers that sleep; sum of
a reduction. The first word of a pool says whether a thread leads it."""
FUNCTION, COUNT, PIECE, PASS, BLOCK, WIDTH = range(4 * LINE, 4 * LINE + 6 * WORD, WORD)
"""Offsets of the job in a pool."""
SUMS = 5 * LINE
"""Where the sums of a scan's pieces begin."""
WORKERS = SUMS + WORD * MAX_PIECES
"""Where the workers begin."""
NEXT, MUTEX, CONDITION = LINE, 2 * LINE, 4 * LINE
"""Offsets in a worker: its next piece with the turn in the bits above; the mutex and the condition
by which it sleeps. The first word of a worker is its state."""
WORKER = 6 * LINE
"""Bytes of a worker."""
EXPORTED = ("launch", "run", "serve", "found", "dismiss")
"""Functions that the interpreter calls."""
PIECE_BITS = 16
PIECE_MASK = (1 << PIECE_BITS) - 1


def bytes_of(workers: int) -> int:
    """Return how many bytes a pool needs."""
    return WORKERS + workers * WORKER


@function
def least_of(a: int, b: int) -> int:
    """Return the smaller of two numbers."""
    if a < b:
        return a
    return b


@function
def worker_of(pool: int, number: int) -> int:
    """Return a worker."""
    return pool + WORKERS + number * WORKER


@function
def take_piece(next_piece: int, turn: int, first: int, stop: int) -> int:
    """Take a piece of those that a worker was dealt, ``first..stop - 1``; return `stop` if none is.

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
def work(pool: int, number: int, turn: int) -> None:
    """Do pieces of the job until all are taken."""
    function: int = load(pool + FUNCTION)
    n: int = load(pool + COUNT)
    size: int = load(pool + PIECE)
    step: int = load(pool + PASS)
    block: int = load(pool + BLOCK)
    width: int = load(pool + WIDTH)
    pieces: int = (n - 1) // size + 1
    total: int = 0
    for place in range(width):
        other: int = number + place
        if other >= width:
            other -= width
        next_piece: int = worker_of(pool, other) + NEXT
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
                store(pool + SUMS + WORD * piece, call_range(function, start, end, 0, 0, block))
            else:
                call_range(function, start, end, load(pool + SUMS + WORD * piece), 1, block)
    if total != 0:
        fetch_add(pool + TOTAL, total)


@function
def wake(pool: int, worker: int) -> None:
    """Wake a worker that has slept, after its state has been changed."""
    fetch_add(pool + SLEEPERS, -1)
    lock(worker + MUTEX)
    signal(worker + CONDITION)
    unlock(worker + MUTEX)


@function
def share(pool: int, width: int) -> None:
    """Have a job done by the leader and those of the workers 1..width - 1 who come in time."""
    turn: int = load(pool + TURN) + 1
    exchange(pool + TURN, turn)
    if load(pool + SLEEPERS) > 0:
        for number in range(1, width):
            sleeper: int = worker_of(pool, number)
            if load(sleeper) == ASLEEP and compare_exchange(sleeper, ASLEEP, IDLE) == ASLEEP:
                wake(pool, sleeper)
    work(pool, 0, turn)
    exchange(pool + TURN, turn + 1)
    for number in range(1, width):
        worker: int = worker_of(pool, number)
        looks: int = 0
        while load(worker) == WORKING:
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
def launch_shared(pool: int, width: int, function: int, kind: int, n: int, block: int) -> int:
    """Run a launch by several workers; return the total of a reduction or scan."""
    size: int = piece_size(kind, n, width)
    step: int = kind
    if kind == SCAN:
        step = COUNTING
    elif kind == TASKS:
        step = FOR
    store(pool + FUNCTION, function)
    store(pool + COUNT, n)
    store(pool + PIECE, size)
    store(pool + PASS, step)
    store(pool + BLOCK, block)
    store(pool + WIDTH, width)
    store(pool + TOTAL, 0)
    share(pool, width)
    if kind != SCAN:
        return load(pool + TOTAL)
    total: int = 0
    for piece in range((n - 1) // size + 1):
        place: int = pool + SUMS + WORD * piece
        count: int = load(place)
        store(place, total)
        total += count
    store(pool + PASS, SCAN)
    share(pool, width)
    return total


@function
def launch_led(pool: int, threads: int, function: int, kind: int, block: int) -> int:
    """Run a launch, by as many workers as it can feed; return the total of a reduction or scan."""
    n: int = load(block)
    width: int = n // GRAIN
    if kind == TASKS:
        width = n
    width = least_of(threads, width)
    if width <= 1:
        return call_range(function, 0, n, 0, 1, block)
    return launch_shared(pool, width, function, kind, n, block)


@function
def launch(pool: int, threads: int, function: int, kind: int, block: int) -> int:
    """Run a launch, alone while somebody else leads the pool; return the total."""
    if threads == 1 or compare_exchange(pool, 0, 1) != 0:
        return launch_led(pool, 1, function, kind, block)
    total: int = launch_led(pool, threads, function, kind, block)
    store(pool, 0)
    return total


@function
def run(pool: int, threads: int, program: int, steps: int, until: int, most: int) -> int:
    """Run a program until a word is not zero, at most so many times; return how many.

    A program is launches in a row, `STEP` bytes each: function, kind and block; where a number is
    read, by how many indices are more than that, and the word of the block where the number
    belongs; where the total goes. Addresses and the place may be zero: the number of indices is in
    the block, and no argument; the total is not wanted; there is no end.
    """
    leads: bool = threads > 1 and compare_exchange(pool, 0, 1) == 0
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
            total: int = launch_led(pool, width, function, kind, block)
            if plain_load(step + TOTAL_OF) != 0:
                store(plain_load(step + TOTAL_OF), total)
        if until != 0 and load(until) != 0:
            break
    if leads:
        store(pool, 0)
    return times


@function
def sleep(pool: int, worker: int, last: int) -> None:
    """Sleep until woken, unless a turn has been opened since the last."""
    fetch_add(pool + SLEEPERS, 1)
    if compare_exchange(worker, IDLE, ASLEEP) == IDLE:
        turn: int = load(pool + TURN)
        if turn == last or turn % 2 == 0 or compare_exchange(worker, ASLEEP, IDLE) != ASLEEP:
            lock(worker + MUTEX)
            while load(worker) == ASLEEP:
                wait(worker + CONDITION, worker + MUTEX)
            unlock(worker + MUTEX)
            return
    fetch_add(pool + SLEEPERS, -1)


@function
def serve(pool: int, number: int) -> int:
    """Be a worker of the pool until it is dismissed."""
    worker: int = worker_of(pool, number)
    last: int = 0
    looks: int = 0
    while True:
        turn: int = load(pool + TURN)
        if turn != last and turn % 2 == 1:
            last = turn
            if number < load(pool + WIDTH) and compare_exchange(worker, IDLE, WORKING) == IDLE:
                if load(pool + TURN) == turn:
                    work(pool, number, turn)
                    looks = 0
                compare_exchange(worker, WORKING, IDLE)
        elif load(worker) == DISMISSED:
            return 0
        elif looks < SPINS:
            looks += 1
            pause()
        else:
            looks = 0
            sleep(pool, worker, last)


@function
def found(pool: int, workers: int) -> int:
    """Prepare a pool, whose words are zero."""
    for number in range(1, workers):
        worker: int = worker_of(pool, number)
        prepare(worker + MUTEX, worker + CONDITION)
    return 0


@function
def dismiss(pool: int, workers: int) -> int:
    """Have all workers leave."""
    for number in range(1, workers):
        worker: int = worker_of(pool, number)
        if exchange(worker, DISMISSED) == ASLEEP:
            wake(pool, worker)
    return 0
