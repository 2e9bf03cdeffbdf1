"""Many graphs at once, each partitioned as alone, side by side on threads."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy import names
from jetpy.api import partition
from jetpy.backends import CPU
from jetpy.backends.threads import available_threads
from jetpy.bars import telling
from jetpy.checks import integer
from jetpy.errors import JetpyError, OptionError
from jetpy.progress import ProgressOption
from jetpy.result import Partition


def partition_many(
    graphs: Iterable[Any],
    k: int | Sequence[int],
    *,
    vertex_weights: Iterable[npt.ArrayLike | None] | None = None,
    edge_weights: Iterable[npt.ArrayLike | None] | None = None,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: Iterable[int | None] | None = None,
    imbalance: float | Sequence[float] = 0.03,
    large_imbalance: bool = False,
    targets: npt.ArrayLike | None = None,
    fixed: Iterable[npt.ArrayLike | None] | None = None,
    home: Iterable[npt.ArrayLike | None] | None = None,
    migration: float = 1.0,
    objective: names.Objective = "cut",
    connected: bool = False,
    seed: int | Sequence[int] = 0,
    preset: names.Preset = "default",
    coarsening: names.Coarsening | None = None,
    refinement: names.Refinement | None = None,
    generations: int | None = None,
    time_limit: float | None = None,
    backend: names.Backend = "auto",
    threads: int | None = None,
    device: int | bool | None = None,
    repair: bool = False,
    pattern: bool = False,
    scale: bool = False,
    progress: ProgressOption = None,
    profile: bool = False,
) -> list[Partition]:
    """Partition many graphs, side by side on threads; each gets the parts that it gets alone.

    `partition` uses all threads for one graph, which does not pay for a small one. This gives each
    graph a thread, and a thread the next graph once it is done with one.

    Parameters
    ----------
    graphs : iterable of graphs
        Each is whatever `partition` takes as a graph. They are listed first.
    k : int or sequence of int
        Number of parts, of all graphs or of each.
    vertex_weights, edge_weights, n, fixed, home : iterable, optional
        As for `partition`, an item for each graph; None for a graph that has none of its own.
    seed : int or sequence of int
        As for `partition`, for all graphs or for each.
    weight, node_weight, imbalance, large_imbalance, targets, migration, objective, connected
    preset, coarsening, refinement, generations, time_limit, backend, device, repair, pattern
    scale, profile
        As for `partition`, for all graphs.
    threads : int, optional
        CPU threads of the whole call; all that the process may use by default. A graph gets one
        of them, or more where there are fewer graphs than threads. Graphs that `auto` partitions
        on a GPU take turns there. The other back ends partition one graph after the other, each
        with `threads` threads.
    progress : bool or callable, optional
        As for `partition`, with the one stage graphs, which counts those that are done.

    Returns
    -------
    list of Partition
        The result of each graph, in their order.

    Raises
    ------
    GraphError, OptionError, BackendError
        As for `partition`; the message names the first graph that it comes from, as ``graphs[3]``.
        No more graphs are begun then. OptionError also where an option has more or fewer items
        than there are graphs.

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
    listed = list(graphs)
    count = len(listed)
    columns = {
        "k": repeat(k, count) if np.ndim(k) == 0 else k,
        "seed": repeat(seed, count) if np.ndim(seed) == 0 else seed,
        "vertex_weights": vertex_weights,
        "edge_weights": edge_weights,
        "n": n,
        "fixed": fixed,
        "home": home,
    }
    options: dict[str, Any] = {
        "weight": weight,
        "node_weight": node_weight,
        "imbalance": imbalance,
        "large_imbalance": large_imbalance,
        "targets": targets,
        "migration": migration,
        "objective": objective,
        "connected": connected,
        "preset": preset,
        "coarsening": coarsening,
        "refinement": refinement,
        "generations": generations,
        "time_limit": time_limit,
        "backend": backend,
        "device": device,
        "repair": repair,
        "pattern": pattern,
        "scale": scale,
        "profile": profile,
    }
    own = _rows({name: values for name, values in columns.items() if values is not None}, count)
    side_by_side = backend in ("auto", CPU) and device is None
    callers, each = _shares(threads, count) if side_by_side else (1, threads)
    is_over = threading.Event()

    def stop(stage: str, done: int, total: int) -> None:
        if is_over.is_set():
            raise CancelledError

    def partition_one(i: int) -> Partition:
        stop("graphs", i, count)
        with _named(i):
            return partition(listed[i], **own[i], **options, threads=each, progress=stop)

    results = []
    with telling(progress) as tell, ThreadPoolExecutor(callers) as pool:
        try:
            for result in pool.map(partition_one, range(count)):
                results.append(result)
                tell("graphs", len(results), count)
        except BaseException:  # Ctrl-C, say
            is_over.set()
            raise
    return results


def _rows(columns: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """Return the options of each of so many graphs, of options that have an item for each.

    Raises
    ------
    OptionError
        If one has more or fewer items.
    """
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    for name, values in columns.items():
        items = list(values)
        if len(items) != count:
            raise OptionError(f"{name} has {len(items)} items, but there are {count} graphs")
        for row, item in zip(rows, items, strict=True):
            row[name] = item
    return rows


def _shares(threads: int | None, graphs: int) -> tuple[int, int]:
    """Return how many graphs are partitioned at once, and how many threads each of them gets.

    >>> _shares(4, 1000), _shares(16, 3), _shares(2, 0)
    ((4, 1), (3, 5), (1, 2))

    Raises
    ------
    OptionError
        If `threads` is not an integer from 1 on.
    """
    most = available_threads() if threads is None else integer("threads", threads)
    if most < 1:
        raise OptionError(f"threads is {most}; at least 1 is needed")
    workers = max(1, min(most, graphs))
    return workers, most // workers


@contextmanager
def _named(i: int) -> Iterator[None]:
    """Have errors name the graph that they come from."""
    try:
        yield
    except JetpyError as error:
        raise type(error)(f"graphs[{i}]: {error}") from error
    except Exception as error:
        error.add_note(f"This is about graphs[{i}] of jetpy.partition_many.")
        raise
