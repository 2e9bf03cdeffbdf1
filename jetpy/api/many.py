"""Partition many graphs at once, in parallel on threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.api.plans import OneRun, Plan, make_plan
from jetpy.api.request import Request
from jetpy.api.run import Execution
from jetpy.api.side_by_side import named, result_of, shares, solve_all
from jetpy.engines.threads import uninterrupted
from jetpy.errors import GraphError, OptionError
from jetpy.graph.csr import Graph
from jetpy.io.graphs import as_graph
from jetpy.problem.options import Options
from jetpy.progress import ProgressOption, telling
from jetpy.result.partition import Partition

SMALL = 1 << 17
"""Maximum number of vertices and directed edges of a first graph for which one thread checks all
graphs: several would wait for each other's turn at the interpreter."""


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
    function runs one graph per thread; a thread that is done takes the next graph. A GPU partitions
    many small graphs at the same time, and shares them with the threads of its host.

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
    weight, node_weight, repair, pattern, scale
        As for `as_graph`, for all graphs.
    imbalance, large_imbalance, lower_imbalance, min_weights, max_weights, targets, migration
    objective, connected, preset, coarsening, refinement, options, generations, time_limit, backend
    device, profile
        As for `partition`, for all graphs.
    threads : int, optional
        Number of CPU threads of the whole call; by default all that the process may use. Each graph
        gets one thread, or more if there are fewer large graphs than threads. Large graphs that
        `auto` partitions on a GPU take turns there. Other back ends partition one large graph after
        another, each with `threads` threads.
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
    callers, _ = shares(threads, count)
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
            with named(i):
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
    execution = Execution(backend, threads, device, stop, profile)
    results: dict[int, Partition] = {}
    with telling(progress) as tell, uninterrupted(end), ExitStack() as pools:
        pool = pools.enter_context(ThreadPoolExecutor(callers))
        try:
            ready = result_of(pool.submit(check, range(min(count, 1))))
            at_once = count if ready and ready[0].n + len(ready[0].indices) <= SMALL else 1
            checks = [
                pool.submit(check, range(i, min(i + at_once, count)))
                for i in range(1, count, at_once)
            ]
            ready += [graph for future in checks for graph in result_of(future)]
            chosen = []
            for i, graph in enumerate(ready):
                with named(i):
                    chosen.append(plans.of(graph, **of_runs[i]))
            for i, result in solve_all(chosen, execution, pools):
                results[i] = result
                tell("graphs", len(results), count)
        finally:
            end()
    return [results[i] for i in range(count)]


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
