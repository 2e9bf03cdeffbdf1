"""Partition many graphs at once, in parallel on threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import repeat
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.api.plans import OneRun, Plan, make_plan
from jetpy.api.request import Request
from jetpy.api.run import Execution, run, run_small
from jetpy.device.backends import CPU
from jetpy.engines.threads import available_threads, uninterrupted
from jetpy.errors import GraphError, JetpyError, OptionError
from jetpy.graph.checks import integer
from jetpy.graph.csr import Graph
from jetpy.io.graphs import as_graph
from jetpy.problem.options import Options
from jetpy.progress import ProgressOption, telling
from jetpy.result.partition import Partition

Result = TypeVar("Result")
CHUNK_GRAPHS, CHUNK_SIZE, CHUNKS = 64, 1 << 18, 8
"""A chunk, which one thread partitions by one call, has at most 64 graphs and 262,144 vertices and
directed edges, and there are at least eight chunks for each thread."""
LANES = 2
"""Threads of Python that partition graphs which are all small: while one has launched a chunk on
its share of the CPU threads, the other makes results. More would wait for the interpreter."""
ROUNDS = 2
"""A chunk of small graphs has at least this number of graphs for each CPU thread of its launch, if
there are enough graphs."""
WAKING = 0.5
"""Seconds between looks at whether Ctrl-C has come."""


def partition_many(
    graphs: Iterable[Any],
    k: int | Sequence[int] | None = None,
    *,
    vertex_weights: Iterable[npt.ArrayLike | None] | None = None,
    edge_weights: Iterable[npt.ArrayLike | None] | None = None,
    vertex_sizes: Iterable[npt.ArrayLike | None] | None = None,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: Iterable[int | None] | None = None,
    imbalance: float | Sequence[float] | None = None,
    large_imbalance: bool = False,
    lower_imbalance: float | None = None,
    min_weights: npt.ArrayLike | None = None,
    max_weights: npt.ArrayLike | None = None,
    targets: npt.ArrayLike | None = None,
    fixed: Iterable[npt.ArrayLike | None] | None = None,
    home: Iterable[npt.ArrayLike | None] | None = None,
    migration: float = 1.0,
    together: Iterable[npt.ArrayLike | None] | None = None,
    within: Iterable[npt.ArrayLike | None] | None = None,
    objective: choices.Objective = "cut",
    connected: bool = False,
    seed: int | Sequence[int] = 0,
    preset: choices.Preset = "default",
    coarsening: choices.Coarsening | None = None,
    refinement: choices.Refinement | None = None,
    options: Options | Mapping[str, Any] | None = None,
    generations: int | None = None,
    time_limit: float | None = None,
    backend: choices.Backend = "auto",
    threads: int | None = None,
    device: int | bool | None = None,
    repair: bool = False,
    pattern: bool = False,
    scale: bool = False,
    progress: ProgressOption = None,
    profile: bool = False,
) -> list[Partition]:
    """Partition many graphs in parallel; each gets the same parts as from `partition`.

    `partition` uses all threads for one graph, which does not pay off for small graphs. This
    function runs one graph per thread; a thread that is done takes the next graph.

    Parameters
    ----------
    graphs : iterable of graphs
        Each is a graph as for `partition`. All are collected in a list first.
    k : int or sequence of int, optional
        Number of parts, for all graphs or for each graph; without it, as for `partition`.
    vertex_weights, edge_weights, vertex_sizes, n : iterable, optional
    fixed, home, together, within : iterable, optional
        As for `partition`, one item per graph; None if a graph has none.
    seed : int or sequence of int
        As for `partition`, for all graphs or for each graph.
    weight, node_weight, imbalance, large_imbalance, lower_imbalance, min_weights, max_weights
    targets, migration, objective, connected, preset, coarsening, refinement, options, generations
    time_limit, backend, device, repair, pattern, scale, profile
        As for `partition`, for all graphs.
    threads : int, optional
        Number of CPU threads of the whole call; by default all that the process may use. Each graph
        gets one thread, or more if there are fewer graphs than threads. Graphs that `auto`
        partitions on a GPU take turns there. Other back ends partition one graph after another,
        each with `threads` threads.
    progress : bool or callable, optional
        As for `partition`, with a single stage, graphs, which counts finished graphs.

    Returns
    -------
    list of Partition
        The result of each graph, in their order.

    Raises
    ------
    GraphError, OptionError, BackendError
        As for `partition`; the message names the first graph with an error, as ``graphs[3]``. jetpy
        checks all graphs before it partitions any. GraphError also if `graphs` is a single graph;
        OptionError also if an option does not have one item per graph.

    Examples
    --------
    >>> import jetpy
    >>> graphs = [jetpy.generators.grid(20, width) for width in (10, 20, 30)]
    >>> results = jetpy.partition_many(graphs, 4, threads=2)
    >>> [len(result.parts) for result in results]
    [200, 400, 600]
    >>> bool((results[1].parts == jetpy.partition(graphs[1], 4).parts).all())
    True
    """
    if isinstance(graphs, str) or not isinstance(graphs, Iterable):
        raise GraphError(f"graphs is a {type(graphs).__name__}; graphs must be a list of graphs")
    listed = list(graphs)
    count = len(listed)
    of_graphs = _rows(
        count,
        vertex_weights=vertex_weights,
        edge_weights=edge_weights,
        vertex_sizes=vertex_sizes,
        n=n,
    )
    of_runs = _rows(
        count,
        k=_of_each(k, count),
        seed=_of_each(seed, count),
        fixed=fixed,
        home=home,
        together=together,
        within=within,
    )
    side_by_side = backend in ("auto", CPU) and device is None
    callers, each = _shares(threads, count) if side_by_side else (1, threads)
    is_over = False

    def end() -> None:
        nonlocal is_over
        is_over = True

    def stop(stage: str, done: int, total: int) -> None:
        if is_over:
            raise CancelledError

    def check(places: range) -> list[Graph]:
        """Return the graphs of some places."""
        found = []
        for i in places:
            stop("graphs", i, count)
            with _named(i):
                found.append(
                    as_graph(
                        listed[i],
                        **of_graphs[i],
                        weight=weight,
                        node_weight=node_weight,
                        repair=repair,
                        pattern=pattern,
                        scale=scale,
                    )
                )
        return found

    plans = Plans(
        imbalance=imbalance,
        large_imbalance=large_imbalance,
        lower_imbalance=lower_imbalance,
        min_weights=min_weights,
        max_weights=max_weights,
        targets=targets,
        migration=migration,
        objective=objective,
        connected=connected,
        preset=preset,
        coarsening=coarsening,
        refinement=refinement,
        options=options,
        generations=generations,
        time_limit=time_limit,
    )
    at_once = side_by_side and not profile
    results: list[Partition] = []
    with telling(progress) as tell, uninterrupted(end), ExitStack() as pools:
        pool = pools.enter_context(ThreadPoolExecutor(callers))
        try:
            checks = [pool.submit(check, chunk) for chunk in _chunks([1] * count, callers)]
            ready = [graph for future in checks for graph in _result(future)]
            chosen = []
            for i, graph in enumerate(ready):
                with _named(i):
                    chosen.append(plans.of(graph, **of_runs[i]))
            wanted = 1
            if at_once and all(map(is_task, chosen)) and callers > LANES:
                callers, each = LANES, int(each or 1) * callers // LANES
                wanted = ROUNDS * each
                pool = pools.enter_context(ThreadPoolExecutor(LANES))
            execution = Execution(backend, each, device, stop, profile)
            work = [graph.n + len(graph.indices) for graph in ready]
            runs = deque(
                pool.submit(solve_plans, chosen[c.start : c.stop], c, execution, at_once=at_once)
                for c in _chunks(work, callers, wanted)
            )
            while runs:
                for result in _result(runs.popleft()):
                    results.append(result)
                    tell("graphs", len(results), count)
        finally:
            end()
    return results


class Plans:
    """The plans of graphs that share most options of `partition`."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._requests: dict[tuple[Any, ...], Request] = {}

    def of(self, graph: Graph, *, k: int | None, seed: int, **rows: Any) -> Plan:
        """Return the plan of a graph; `rows` are options with one row for each vertex, or None.

        The requests of plain graphs of equal size and weight differ in the graph alone.
        """
        is_plain = graph.constraint_weights is None and all(own is None for own in rows.values())
        key = k, seed, graph.n, len(graph.indices), graph.total_vertex_weight
        if is_plain and key in self._requests:
            return OneRun(replace(self._requests[key], graph=graph))
        plan = make_plan(graph, k=k, seed=seed, **rows, **self._options)
        if is_plain and isinstance(plan, OneRun):
            self._requests[key] = plan.request
        return plan


def is_task(plan: Plan) -> bool:
    """Return whether a plan is one run of a task, for a small graph."""
    return isinstance(plan, OneRun) and plan.request.is_small


def solve_plans(
    plans: Sequence[Plan], places: Sequence[int], execution: Execution, *, at_once: bool
) -> list[Partition]:
    """Carry out the plans of graphs, whose places errors name: those of small graphs `at_once`."""
    small = [at_once and is_task(plan) for plan in plans]
    requests = [plan.request for plan, is_small in zip(plans, small, strict=True) if is_small]
    together = iter(run_small(requests, execution) if requests else [])
    results = []
    for plan, place, is_small in zip(plans, places, small, strict=True):
        if is_small:
            results.append(next(together))
            continue
        with _named(place):
            results.append(run(plan.solve, plan.request, execution)[0])
    return results


def _chunks(sizes: Sequence[int], callers: int, wanted: int = 1) -> list[range]:
    """Return consecutive ranges of graphs of some sizes, for a number of threads.

    A range has `wanted` graphs even if each thread then gets fewer than `CHUNKS` ranges.

    >>> _chunks([10] * 32, 2)[:2], _chunks([CHUNK_SIZE] * 2, 1), _chunks([], 2)
    ([range(0, 2), range(2, 4)], [range(0, 1), range(1, 2)], [])
    >>> _chunks([10] * 32, 2, 12), _chunks([10] * 32, 2, 20)
    ([range(0, 12), range(12, 24), range(24, 32)], [range(0, 16), range(16, 32)])
    """
    count = len(sizes)
    most = max(1, min(CHUNK_GRAPHS, count // (CHUNKS * callers)), min(wanted, count // callers))
    chunks: list[range] = []
    begin = size = 0
    for i, own in enumerate(sizes):
        if i - begin == most or (i > begin and size + own > CHUNK_SIZE):
            chunks.append(range(begin, i))
            begin, size = i, 0
        size += own
    return chunks + [range(begin, len(sizes))] * (begin < len(sizes))


def _result(future: Future[Result]) -> Result:
    """Wait for a result without missing a Ctrl-C.

    Python misses one that comes just before the wait begins.
    """
    while not future.done():
        wait([future], WAKING)
    return future.result()


def _of_each(number: Any, count: int) -> Iterable[Any]:
    """Return one number per graph, given one for all or one for each of `count` graphs."""
    each: Iterable[Any] = repeat(number, count) if np.ndim(number) == 0 else number
    return each


def _rows(count: int, /, **columns: Iterable[Any] | None) -> list[dict[str, Any]]:
    """Return the options of each of `count` graphs, given options with one item per graph.

    Raises
    ------
    OptionError
        If an option has more or fewer items.
    """
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    for name, values in columns.items():
        items = [None] * count if values is None else list(values)
        if len(items) != count:
            raise OptionError(
                f"{name} has {len(items)} items; it must have one item for each of {count} graphs"
            )
        for row, item in zip(rows, items, strict=True):
            row[name] = item
    return rows


def _shares(threads: int | None, graphs: int) -> tuple[int, int]:
    """Return the number of graphs to partition at once, and the number of threads of each.

    >>> _shares(4, 1000), _shares(16, 3), _shares(2, 0)
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
def _named(i: int) -> Iterator[None]:
    """Add the index of the graph to errors."""
    try:
        yield
    except JetpyError as error:
        raise type(error)(f"graphs[{i}]: {error}") from error
    except Exception as error:
        error.add_note(f"The error concerns graphs[{i}] of jetpy.partition_many.")
        raise
