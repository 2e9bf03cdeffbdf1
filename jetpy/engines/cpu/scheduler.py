"""The scheduler: threads share launches without the interpreter.

The thread that launches is the leader, worker 0. A launch is divided into pieces. Each worker is
assigned consecutive pieces, so that it processes the same vertices in every launch, and steals
pieces of other workers when its own are done. The leader opens a turn by writing one word that all
workers poll; as many workers join as the launch has work for. When no piece is left, the leader
closes the turn and waits for the workers that still work. A worker that has not joined by then
stays out, so that a busy processor does not delay the launch. Waiting workers spin, then sleep.
Results do not depend on which worker processes a piece.

The code is in the kernel language, where `int` has 64 bits. All shared data are words of 8 bytes;
words that are written often have a cache line each. Pools, workers and programs are represented by
their addresses, which are integers.
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
"""Kind of the first pass of a scan."""

MAX_PIECES, SMALLEST, LARGEST = 1024, 64, 2048
"""Maximum number of pieces of a launch; minimum and usual maximum number of indices of a piece."""
EACH = 4
"""Minimum number of pieces per worker, unless they would be too small."""
SPINS = 4000
"""Number of polls by a waiting worker before it sleeps, about 50 to 200 us."""
PATIENCE = 200
"""Number of times the leader polls a working worker before it yields its processor."""

IDLE, WORKING, ASLEEP, DISMISSED = range(4)
"""States of a worker."""

WORD, LINE = 8, 64
"""Bytes of a word and of a cache line."""
FUNCTION_OF, KIND_OF, BLOCK_OF, COUNT_OF, MORE_OF, PLACE_OF, TOTAL_OF = range(0, 7 * WORD, WORD)
"""Offsets of fields in a launch of a program."""
STEP = 7 * WORD
"""Bytes of a launch in a program."""

TURN, SLEEPERS, TOTAL = LINE, 2 * LINE, 3 * LINE
"""Offsets in a pool: number of the turn, odd while it is open; number of sleeping workers; sum of a
reduction. The first word of a pool is 1 while a thread leads it."""
FUNCTION, COUNT, PIECE, PASS, BLOCK, WIDTH = range(4 * LINE, 4 * LINE + 6 * WORD, WORD)
"""Offsets of the current job in a pool."""
SUMS = 5 * LINE
"""Offset of the sums of a scan's pieces."""
WORKERS = SUMS + WORD * MAX_PIECES
"""Offset of the workers."""
NEXT, MUTEX, CONDITION = LINE, 2 * LINE, 4 * LINE
"""Offsets in a worker: its next piece, with the turn in the upper bits; the mutex and the condition
variable by which it sleeps. The first word of a worker is its state."""
WORKER = 6 * LINE
"""Bytes of a worker."""
EXPORTED = ("launch", "run", "serve", "found", "dismiss", "fill")
"""Functions called by the interpreter."""
PIECE_BITS = 16
PIECE_MASK = (1 << PIECE_BITS) - 1


def bytes_of(workers: int) -> int:
    """Return the number of bytes of a pool."""
    return WORKERS + workers * WORKER


@function
def least_of(a: int, b: int) -> int:
    """Return the smaller of two numbers."""
    if a < b:
        return a
    return b


@function
def worker_of(pool: int, number: int) -> int:
    """Return the address of a worker."""
    return pool + WORKERS + number * WORKER


@function
def take_piece(next_piece: int, turn: int, first: int, stop: int) -> int:
    """Take one of the pieces ``first..stop - 1`` of a worker; return `stop` if none is left.

    The first taker of a turn resets the word for this turn.
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
    """Process pieces of the job until all are taken."""
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
    """Wake a worker that has slept, after its state has changed."""
    fetch_add(pool + SLEEPERS, -1)
    lock(worker + MUTEX)
    signal(worker + CONDITION)
    unlock(worker + MUTEX)


@function
def share(pool: int, width: int) -> None:
    """Run a job with the leader and those workers of 1..width - 1 that join in time."""
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
    """Return the number of indices of a piece."""
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
    """Run a launch with several workers; return the total of a reduction or scan."""
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
    """Run a launch with as many workers as it has work for; return its total."""
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
    """Run a launch, alone if another thread leads the pool; return the total."""
    if threads == 1 or compare_exchange(pool, 0, 1) != 0:
        return launch_led(pool, 1, function, kind, block)
    total: int = launch_led(pool, threads, function, kind, block)
    store(pool, 0)
    return total


@function
def run(pool: int, threads: int, program: int, steps: int, until: int, most: int) -> int:
    """Run a program until a word is not zero, at most `most` times; return the number of runs.

    A program is a sequence of launches of `STEP` bytes: function, kind and block; address of an
    index count, the number added to it, and the word of the block that receives the count as an
    argument; address for the total. A zero means: the index count is in the block; no argument is
    the count; the total is not stored. `until` is 0 if there is no such word.
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
def fill(start: int, stop: int, total: int, last: int, block: int) -> int:
    """Fill words start..stop - 1 of an array, as the range of a workunit; return `total`.

    The block has the index count, the address of the array, and the word.
    """
    array: int = plain_load(block + WORD)
    word: int = plain_load(block + 2 * WORD)
    for i in range(start, stop):
        plain_store(array + WORD * i, word)
    return total


@function
def sleep(pool: int, worker: int, last: int) -> None:
    """Sleep until woken, unless a turn has opened since turn `last`."""
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
    """Work for the pool as a worker until dismissed."""
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
    """Initialise a pool whose words are zero."""
    for number in range(1, workers):
        worker: int = worker_of(pool, number)
        prepare(worker + MUTEX, worker + CONDITION)
    return 0


@function
def dismiss(pool: int, workers: int) -> int:
    """Dismiss all workers."""
    for number in range(1, workers):
        worker: int = worker_of(pool, number)
        if exchange(worker, DISMISSED) == ASLEEP:
            wake(pool, worker)
    return 0
