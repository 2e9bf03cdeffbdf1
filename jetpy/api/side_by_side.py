"""Plans of many graphs, carried out side by side on threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TypeVar

from jetpy.api.plans import Plan
from jetpy.api.run import Execution, carry_out, is_task, run_small
from jetpy.device.backends import CPU, is_for_cpu
from jetpy.engines.threads import available_threads
from jetpy.errors import JetpyError, OptionError
from jetpy.graph.checks import integer
from jetpy.result.partition import Partition

Result = TypeVar("Result")
Placed = Iterator[tuple[int, Partition]]
"""Results with the places of their graphs, in any order."""
LAUNCH_GRAPHS, LAUNCH_GRAPHS_PER_THREAD, LAUNCH_GRAPHS_ON_GPU = 64, 16, 1024
"""Number of small graphs in a launch: at least, for each CPU thread, and with a GPU. Threads then
wait little at the end of a launch."""
LAUNCHES = 8
"""Minimum number of launches on CPUs, if there are at least two graphs for each thread in each."""
LAUNCH_SIZE = 1 << 18
"""Maximum number of vertices and directed edges in a launch for each CPU thread, if there are at
least two graphs for each."""
GPU_SIZE, GPU_GAIN = 1 << 22, 200
"""Minimum number of vertices and directed edges of all small graphs for which `auto` uses a GPU,
and the number of times that they must be as much work as a large graph before it starts one: it
saves only 40 microseconds for a graph of 1,000 vertices."""
WAKING = 0.5
"""Seconds between looks at whether Ctrl-C has come."""


def solve_all(plans: Sequence[Plan], execution: Execution, pools: ExitStack) -> Placed:
    """Carry out plans, and yield each result as soon as it is known.

    Threads end when `pools` does. Options of the execution are those of `jetpy.partition_many`.
    """
    is_small = [is_task(plan, execution) for plan in plans]
    large = [i for i in range(len(plans)) if not is_small[i]]
    small = [i for i in range(len(plans)) if is_small[i]]
    if large:
        yield from _solve_large(plans, large, execution, pools)
    if small:
        yield from _solve_small(plans, small, execution, pools)


def _solve_large(
    plans: Sequence[Plan], places: Sequence[int], execution: Execution, pools: ExitStack
) -> Placed:
    """Carry out plans of large graphs, each by some of the threads."""
    callers, each = 1, execution.threads
    if execution.backend in ("auto", CPU) and execution.device is None:
        callers, each = shares(execution.threads, len(places))
    own = replace(execution, threads=each)

    def solve(place: int) -> Partition:
        with named(place):
            return carry_out(plans[place], own)

    pool = pools.enter_context(ThreadPoolExecutor(callers))
    runs = [(place, pool.submit(solve, place)) for place in places]
    yield from ((place, result_of(future)) for place, future in runs)


def _solve_small(
    plans: Sequence[Plan], places: Sequence[int], execution: Execution, pools: ExitStack
) -> Placed:
    """Carry out plans of small graphs, many by each launch on all threads."""
    requests = {place: plans[place].request for place in places}
    sizes = [request.graph.n + len(request.graph.indices) for request in requests.values()]
    backend = _backend_for(sum(sizes), execution)
    with execution.lease(plans[places[0]].request.graph, backend) as engine:
        threads, has_gpu = engine.host.threads, engine.tasks_at_once > 0
    most = LAUNCH_GRAPHS_ON_GPU
    if not has_gpu:
        wanted = max(LAUNCH_GRAPHS, LAUNCH_GRAPHS_PER_THREAD * threads)
        most = min(wanted, max(2 * threads, len(places) // LAUNCHES))
    pool = pools.enter_context(ThreadPoolExecutor(1))
    launches = []
    for chunk in chunks(sizes, most, 2 * threads, LAUNCH_SIZE * threads):
        own = [places[i] for i in chunk]
        some = [requests[place] for place in own]
        launches.append((own, pool.submit(run_small, some, execution, backend)))
    for own, launch in launches:
        results = result_of(launch)
        yield from zip(own, results, strict=True)


def _backend_for(size: int, execution: Execution) -> str:
    """Return the back end for small graphs with a number of vertices and directed edges in all."""
    backend, device = execution.backend, execution.device
    is_little = backend == "auto" and device is None and size < GPU_SIZE
    return CPU if is_little or is_for_cpu(backend, device, size / GPU_GAIN) else backend


def chunks(sizes: Sequence[int], most: int, least: int, largest: int) -> list[range]:
    """Return consecutive ranges of at most `most` items of some sizes.

    A range of more than `least` items has at most the total size `largest`.

    >>> chunks([10] * 5, 2, 1, 99), chunks([], 2, 1, 99)
    ([range(0, 2), range(2, 4), range(4, 5)], [])
    >>> chunks([10] * 4, 4, 1, 25), chunks([10] * 5, 4, 3, 25)
    ([range(0, 2), range(2, 4)], [range(0, 3), range(3, 5)])
    """
    found: list[range] = []
    begin = size = 0
    for i, own in enumerate(sizes):
        if i - begin == most or (i - begin >= least and size + own > largest):
            found.append(range(begin, i))
            begin, size = i, 0
        size += own
    return found + [range(begin, len(sizes))] * (begin < len(sizes))


def result_of(future: Future[Result]) -> Result:
    """Wait for a result without missing a Ctrl-C.

    Python misses one that comes just before the wait begins.
    """
    while not future.done():
        wait([future], WAKING)
    return future.result()


def shares(threads: int | None, graphs: int) -> tuple[int, int]:
    """Return the number of graphs to partition at once, and the number of threads of each.

    >>> shares(4, 1000), shares(16, 3), shares(2, 0)
    ((4, 1), (3, 5), (1, 2))

    Raises
    ------
    OptionError
        If `threads` is not an integer from 1 on.
    """
    most = available_threads() if threads is None else integer("threads", threads)
    if most < 1:
        raise OptionError(f"threads is {most}; threads must be at least 1")
    workers = max(1, min(most, graphs))
    return workers, most // workers


@contextmanager
def named(place: int) -> Iterator[None]:
    """Add the place of the graph to errors."""
    try:
        yield
    except JetpyError as error:
        raise type(error)(f"graphs[{place}]: {error}") from error
    except Exception as error:
        error.add_note(f"The error concerns graphs[{place}] of jetpy.partition_many.")
        raise
