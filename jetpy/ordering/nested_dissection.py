"""Nested dissection orderings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import numpy as np

from jetpy import choices
from jetpy.device.backends import CPU, device_of, lease
from jetpy.device.device_graph import download, upload, with_required_width
from jetpy.engines.base import Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.errors import OptionError
from jetpy.graph.by_part import sort_by_part
from jetpy.graph.checks import finite_number, one_of, whole_number
from jetpy.graph.csr import Graph
from jetpy.multilevel.execution import execute
from jetpy.multilevel.outcome import cpu_threads
from jetpy.ordering.choice import choose, totals_of
from jetpy.ordering.compression import Compression, compress
from jetpy.ordering.dissection import dissect
from jetpy.ordering.effort import Effort
from jetpy.ordering.induced_subgraphs import joined
from jetpy.ordering.ordering import Ordering
from jetpy.ordering.processes import ALONE, Processes
from jetpy.ordering.quotient_graphs import Matrix, block_orders
from jetpy.ordering.separator_tree import SeparatorTree
from jetpy.ordering.symbolic import Permutation, analysed, elimination_tree, pattern_graph
from jetpy.progress import Progress, ProgressOption

SPREAD = (0.1, 0.5, 0.3, 0.3)
"""Imbalances of several tries, in turn."""
EFFORTS: Mapping[str, Effort] = {
    "fast": Effort(tries=2, small_tries=1, imbalances=(0.1, 0.3)),
    "default": Effort(tries=4, small_tries=1, imbalances=SPREAD, choice=True),
    "best": Effort(
        tries=8,
        small_tries=4,
        imbalances=SPREAD,
        leaf_weight=120,
        growings=8,
        passes=8,
        step=1,
        flows=3,
        hops=10,
        second_side=0.6,
        choice=True,
    ),
}
"""What each preset spends on a separator."""
BACKENDS = get_args(choices.Backend)
MAX_TRIES = 64
MIN_SHARE = 0.5


def nested_dissection(
    matrix: Any,
    *,
    preset: choices.OrderingPreset = "default",
    tries: int | None = None,
    leaf_size: int | None = None,
    imbalances: Sequence[float] | None = None,
    largest_side: float | None = None,
    seed: int = 0,
    n: int | None = None,
    symmetrize: bool = False,
    backend: choices.Backend = "auto",
    threads: int | None = None,
    device: int | bool | None = None,
    progress: ProgressOption = None,
    profile: bool = False,
) -> Ordering:
    """Order a sparse symmetric matrix by nested dissection, so that its factor has little fill.

    A vertex separator divides the graph of the matrix in two. It comes last in the order, and the
    same method orders both sides. Small graphs are ordered by minimum degree. Sources: George, SIAM
    Journal on Numerical Analysis 10 (1973); Lipton, Rose, Tarjan, SIAM Journal on Numerical
    Analysis 16 (1979). The same input, options and seed give the same order on every back end
    and number of threads.

    Parameters
    ----------
    matrix, n, symmetrize
        As for `symbolic`.
    preset : {'fast', 'default', 'best'}
        How much time to spend for less fill. `default` and `best` order subtrees of the dissection
        by minimum degree or multisection instead where that takes fewer operations.
    tries : int, optional
        Separators that are computed for each separator of the tree; the best one is kept. Without
        this option, small subgraphs get fewer than others.
    leaf_size : int, optional
        Components of at most this number of rows are not divided.
    imbalances : sequence of float, optional
        Imbalances of the tries, in turn: a separator is grown until one side has the share (1 +
        imbalance) / 2 of the rows. Refinement may exceed that up to `largest_side`.
    largest_side : float, optional
        Largest share of the rows that may be on one side of a separator, in 0.5..1. Without this
        option, `best` tries two values for the whole matrix.
    seed : int
    backend : {'auto', 'cpu', 'cuda', 'kokkos-cuda', 'kokkos-openmp', 'kokkos-serial'}
        A back end on a GPU coarsens large subgraphs and finds the bands around their separators.
        `cuda` also shares small subgraphs and leaves with the host, which does the rest. `auto` is
        `cpu`, or a GPU if `device` is given.
    threads : int, optional
        CPU threads, also of the host of a GPU; by default all that this process may use.
    device : int or True, optional
        As for `partition`. True leaves the order on the GPU, too, as `device_perm` of the result.
    progress, profile
        As for `partition`.

    Returns
    -------
    Ordering

    Raises
    ------
    GraphError
        As `symbolic` does.
    OptionError, BackendError
        As `partition` does.

    Examples
    --------
    >>> import jetpy
    >>> grid = jetpy.generators.grid(40, 40)
    >>> order = jetpy.nested_dissection(grid)
    >>> order.fill < jetpy.symbolic(grid).fill / 2
    True
    """
    effort = chosen_effort(preset, tries, leaf_size, imbalances, largest_side)
    seed = whole_number("seed", seed)
    one_of(BACKENDS, "backend", backend)
    graph = pattern_graph(matrix, n, symmetrize=symmetrize)

    with leased(graph, backend, threads, device) as (engine, host):

        def work(own: Backend, tell: Progress) -> tuple[Permutation, SeparatorTree, Any, float]:
            others = own if host is engine else own.with_same_profile(host)
            with host.using(), Stopwatch(own, "order") as watch:
                order, tree = dissected(own, others, graph, effort, seed, tell)
                there = own.from_host(order) if device is True else None
            return order, tree, there, watch.seconds

        title = f"{graph.name}, {engine.name}" if profile else None
        found, cost = execute(work, engine, progress, (graph.n, graph.m), title)
        order, tree, there, seconds = found
        used = engine.name, cpu_threads(host)
        with host.using():
            structure = analysed(host, graph, order, tree.independent_ranges())
    method = "nested_dissection"
    return Ordering(order, structure, method, seconds, tree, cost.profile, *used, there)


@contextmanager
def leased(
    graph: Graph, backend: str, threads: int | None, device: int | bool | None
) -> Iterator[tuple[Backend, Backend]]:
    """Lend the block a back end, and one on CPUs; the same one if the first is on CPUs.

    Both have the width that the graph requires.
    """
    chosen = CPU if backend == "auto" and device is None else backend
    with ExitStack() as leases:
        engine = leases.enter_context(lease(chosen, threads, device_of(graph, chosen, device)))
        host = engine if engine.gpu is None else leases.enter_context(lease(CPU, threads))
        wide = with_required_width(engine, graph)
        yield wide, wide if host is engine else with_required_width(host, graph)


def dissected(
    engine: Backend,
    host: Backend,
    graph: Graph,
    effort: Effort,
    seed: int,
    tell: Progress,
    processes: Processes = ALONE,
) -> tuple[Permutation, SeparatorTree]:
    """Return the order of elimination (int32, shape (n,)) and its separator tree.

    The processes find the same ones as a single process. Each has the whole graph.
    """
    compression = compress(host, graph)
    groups = compression.graph
    if effort.second_side is None:
        order, tree = _ordered(engine, host, groups, effort, seed, tell, processes)
    else:
        efforts = effort, replace(effort, largest_side=effort.second_side)
        both = (
            _ordered(engine, host, groups, each, seed, _half_of(tell, number), processes)
            for number, each in enumerate(efforts)
        )
        order, tree = min(both, key=partial(_operations, host, groups))
    return compression.expand(order), _with_rows(tree, order, compression)


def _half_of(tell: Progress, number: int) -> Progress:
    """Return the progress of the first or second of two equal halves."""
    return lambda stage, done, total: tell(stage, number * total + done, 2 * total)


def _operations(host: Backend, graph: Graph, found: tuple[Permutation, SeparatorTree]) -> float:
    """Return the operations of a compressed matrix in an order."""
    order, tree = found
    elimination = elimination_tree(host, graph, order, tree.independent_ranges())
    totals = totals_of(host, upload(host, graph), elimination, tree)
    return float(host.to_host(totals.operations).sum())


def _ordered(
    engine: Backend,
    host: Backend,
    graph: Graph,
    effort: Effort,
    seed: int,
    tell: Progress,
    processes: Processes,
) -> tuple[Permutation, SeparatorTree]:
    """Return the order of a compressed graph by one dissection, and its separator tree."""
    node_of, tree = dissect(engine, host, graph, effort, seed, tell, processes)
    # vertices by node, because all that follows reads the rows of nodes
    vertices = sort_by_part(node_of, len(tree)).order
    by_node = download(host, joined(host, upload(host, graph), host.from_host(vertices)))
    matrix = Matrix(engine, host, by_node)
    order = block_orders(matrix, node_of[vertices], len(tree), processes)
    if effort.choice:
        order, tree = choose(matrix, order, tree, processes)
    return vertices[order], tree


def _with_rows(tree: SeparatorTree, order: Permutation, compression: Compression) -> SeparatorTree:
    """Return the tree with rows instead of groups as columns; dense rows become its root."""
    if compression.is_trivial:
        return tree
    rows_before = np.append(0, np.cumsum(compression.graph.vertex_weights[order]))
    sizes = np.diff(rows_before[tree.starts]).astype(np.int32)
    parents = tree.parents
    if len(compression.dense):
        sizes = np.append(sizes, np.int32(len(compression.dense)))
        parents = np.append(np.where(parents < 0, len(tree), parents), -1).astype(np.int32)
    return SeparatorTree(parents, np.append(np.int32(0), np.cumsum(sizes, dtype=np.int32)))


def chosen_effort(
    preset: str,
    tries: int | None = None,
    leaf_size: int | None = None,
    imbalances: Sequence[float] | None = None,
    largest_side: float | None = None,
) -> Effort:
    """Return the effort of a preset, changed by the options that are not None.

    Raises
    ------
    OptionError
        If a value is out of range.
    """
    one_of(get_args(choices.OrderingPreset), "preset", preset)
    effort = EFFORTS[preset]
    if tries is not None:
        number = whole_number("tries", tries, 1, MAX_TRIES)
        effort = replace(effort, tries=number, small_tries=number)
    if leaf_size is not None:
        effort = replace(effort, leaf_weight=whole_number("leaf_size", leaf_size, 1))
    if imbalances is not None:
        effort = replace(effort, imbalances=_checked_imbalances(imbalances))
    if largest_side is not None:
        share = finite_number("largest_side", largest_side)
        if not MIN_SHARE <= share <= 1:
            raise OptionError(f"largest_side is {share}; it must be a number in {MIN_SHARE}..1")
        effort = replace(effort, largest_side=share, second_side=None)
    return effort


def _checked_imbalances(values: Any) -> tuple[float, ...]:
    """Return imbalances as a tuple of floats in 0..1."""
    if not isinstance(values, Sequence) or not values:
        raise OptionError("imbalances is not a sequence of numbers with at least one entry")
    return tuple(finite_number(f"imbalances[{i}]", each, 1) for i, each in enumerate(values))
