"""Orderings of sparse symmetric matrices, and vertex separators of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy.typing as npt

from jetpy import choices
from jetpy.api.ordering_run import (
    BACKENDS,
    OrderingRun,
    checked_start,
    chosen_backend,
    cpus,
    structure_of,
)
from jetpy.api.run import Execution
from jetpy.device.backends import CPU, lease
from jetpy.engines.base import Backend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.graph.checks import finite_number, flag, one_of, whole_number
from jetpy.graph.csr import IntArray
from jetpy.graph.raw import Pattern
from jetpy.graph.validate import check_one_weight
from jetpy.io.graphs import as_graph
from jetpy.io.patterns import checked_permutation, pattern_graph
from jetpy.multilevel.outcome import cpu_threads
from jetpy.ordering.constraints import checked_constraints
from jetpy.ordering.effort import chosen_effort, used_options
from jetpy.ordering.minimum_degree import eliminated_by_degree
from jetpy.ordering.separation import (
    divided,
    separated,
    side_limit,
    with_narrow_weights,
    with_some_weight,
)
from jetpy.progress import Progress, ProgressOption
from jetpy.result.ordering import Ordering
from jetpy.result.symbolic import Symbolic
from jetpy.result.vertex_separator import VertexSeparator


def order(
    matrix: Any,
    *,
    preset: choices.OrderingPreset = "default",
    last: npt.ArrayLike | None = None,
    keep_last_order: bool = False,
    together: npt.ArrayLike | None = None,
    start: npt.ArrayLike | None = None,
    seed: int = 0,
    n: int | None = None,
    symmetrize: bool = False,
    backend: choices.Backend = "auto",
    threads: int | None = None,
    device: int | bool | None = None,
    progress: ProgressOption = None,
    profile: bool = False,
) -> Ordering:
    """Order a sparse symmetric matrix by the method that suits each of its components.

    The methods are nested dissection, minimum degree, and the order that the rows already have.
    jetpy computes the operations of each exactly, and takes the order with the fewest. If the given
    order of a component, or that by minimum degree, has no fill, no order is better, and jetpy does
    not dissect this component. `choices` of the result has what was chosen, and why.

    (`Partition.order` is something else: it sorts the vertices of a partition by part.)

    Parameters
    ----------
    matrix, n, symmetrize
        As for `symbolic`.
    preset : {'fast', 'default', 'best'}
        How much time to spend on nested dissection.
    last, keep_last_order, together, start, seed, backend, threads, device, progress, profile
        As for `nested_dissection`. With `start`, it is the given order.

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
    The rows of a chain are already in an order without fill. A grid is dissected.

    >>> import jetpy
    >>> print(*jetpy.order(jetpy.generators.grid(1000, 1)).choices)
    given order for 1,000 rows: no fill
    >>> [choice.method for choice in jetpy.order(jetpy.generators.grid(60, 60)).choices]
    ['nested_dissection']
    """
    options = used_options(preset)
    seed = whole_number("seed", seed)
    graph = pattern_graph(matrix, n, symmetrize=symmetrize)
    constraints = checked_constraints(last, keep_last_order, together, graph.n)
    run = OrderingRun("order", options, seed, constraints, graph.indptr, graph.indices)
    begin = checked_start(start, graph.n)
    return run.order(graph, Execution(backend, threads, device, progress, profile), begin)


def nested_dissection(
    matrix: Any,
    *,
    preset: choices.OrderingPreset = "default",
    tries: int | None = None,
    leaf_size: int | None = None,
    imbalances: Sequence[float] | None = None,
    largest_side: float | None = None,
    last: npt.ArrayLike | None = None,
    keep_last_order: bool = False,
    together: npt.ArrayLike | None = None,
    start: npt.ArrayLike | None = None,
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
        option, `best` dissects the whole matrix with two values.
    last : integers, optional
        Rows that come after all others, for example those of a Schur complement. jetpy orders them
        by minimum degree.
    keep_last_order : bool
        Leave the rows of `last` in the order in which it has them.
    together : integers, shape (n,), optional
        Group of each row, -1 for none, as for `partition`. The rows of a group are consecutive in
        the order, for example the two rows of a 2 x 2 pivot.
    start : integers, shape (n,), optional
        An order to improve, as `Ordering.perm` has it: row ``start[0]`` comes first. Its separators
        compete with those of the tries, and the result never takes more operations, unless rows
        are dense, in `last` or in `together`.
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
    options = used_options(
        preset,
        tries=tries,
        leaf_size=leaf_size,
        imbalances=imbalances,
        largest_side=largest_side,
    )
    seed = whole_number("seed", seed)
    graph = pattern_graph(matrix, n, symmetrize=symmetrize)
    constraints = checked_constraints(last, keep_last_order, together, graph.n)
    pattern = graph.indptr, graph.indices
    run = OrderingRun("nested_dissection", options, seed, constraints, *pattern)
    begin = checked_start(start, graph.n)
    return run.order(graph, Execution(backend, threads, device, progress, profile), begin)


def minimum_degree(
    matrix: Any,
    *,
    last: npt.ArrayLike | None = None,
    keep_last_order: bool = False,
    together: npt.ArrayLike | None = None,
    n: int | None = None,
    symmetrize: bool = False,
) -> Ordering:
    """Order a sparse symmetric matrix by approximate minimum degree.

    Each step eliminates a row that is then adjacent to few others (Amestoy, Davis, Duff, SIAM
    Journal on Matrix Analysis and Applications 17, 1996). Dense rows, which have more than 10
    sqrt(n) entries, come last. All others are in a postorder of the elimination tree, so that
    columns with similar patterns are neighbours. The order depends on the matrix alone.

    Parameters
    ----------
    matrix, n, symmetrize
        As for `symbolic`.
    last, keep_last_order, together
        As for `nested_dissection`.

    Returns
    -------
    Ordering

    Raises
    ------
    GraphError
        As `symbolic` does.
    OptionError
        If `last` or `together` is wrong.

    Examples
    --------
    >>> import jetpy
    >>> order = jetpy.minimum_degree(jetpy.generators.grid(30, 30))
    >>> order.fill < jetpy.symbolic(jetpy.generators.grid(30, 30)).fill / 2
    True
    """
    graph = pattern_graph(matrix, n, symmetrize=symmetrize)
    constraints = checked_constraints(last, keep_last_order, together, graph.n)
    with lease(CPU, 1) as host, host.using():
        start = perf_counter()
        found = eliminated_by_degree(host, *constraints.reduce(graph))
        order, _ = constraints.expand(*found)
        seconds = perf_counter() - start
    return Ordering(order, structure_of(graph, order), "minimum_degree", seconds)


def symbolic(
    matrix: Any,
    perm: npt.ArrayLike | None = None,
    *,
    n: int | None = None,
    symmetrize: bool = False,
) -> Symbolic:
    """Compute the elimination tree and the exact fill of a sparse Cholesky factorization.

    It takes nearly linear time in the entries of the matrix, not of the factor (Gilbert, Ng,
    Peyton, SIAM Journal on Matrix Analysis and Applications 15, 1994), on one CPU thread.

    Parameters
    ----------
    matrix : sparse matrix, path, `Graph`, or other input of `as_graph`
        Only the positions of its entries matter. The diagonal does not; it counts as full. A
        `Graph` is trusted: it may not be checked again.
    perm : integers, shape (n,), optional
        The order of elimination: row ``perm[0]`` comes first. The factor is that of
        ``matrix[perm][:, perm]`` in NumPy's notation. By default, the rows keep their order.
    n : int, optional
        Number of rows, as for `as_graph`: an edge list does not show empty last rows.
    symmetrize : bool
        Add missing reverses of entries, so that the pattern becomes symmetric.

    Returns
    -------
    Symbolic

    Raises
    ------
    GraphError
        If the pattern is not symmetric and `symmetrize` is False, or `matrix` breaks a rule of
        `as_graph`.
    OptionError
        If `perm` is not a permutation of 0..n - 1.

    Examples
    --------
    An arrow matrix, whose first row is full: eliminated first, that row makes the factor dense.

    >>> import numpy as np
    >>> import jetpy
    >>> arrow = np.eye(4, dtype=int)
    >>> arrow[0] = arrow[:, 0] = 1
    >>> jetpy.symbolic(arrow)
    Symbolic(n = 4, fill 10, operations 30, height 4)
    >>> jetpy.symbolic(arrow, [3, 2, 1, 0])
    Symbolic(n = 4, fill 7, operations 13, height 2)
    """
    graph = pattern_graph(matrix, n, symmetrize=symmetrize)
    return structure_of(graph, checked_permutation(perm, graph.n))


def vertex_separator(
    graph: Any,
    *,
    imbalance: float = 0.2,
    preset: choices.OrderingPreset = "default",
    tries: int | None = None,
    seed: int = 0,
    vertex_weights: npt.ArrayLike | None = None,
    n: int | None = None,
    symmetrize: bool = False,
    scale: bool = False,
    backend: choices.Backend = "auto",
    threads: int | None = None,
    device: int | bool | None = None,
    progress: ProgressOption = None,
) -> VertexSeparator:
    """Separate a graph in two by few vertices, as ``METIS_ComputeVertexSeparator`` does.

    Without the separator, no edge joins the two sides. The methods are those that
    `nested_dissection` uses for the root of its tree. jetpy prefers a slightly heavier separator if
    its sides are much better balanced.

    If the graph is complete, no set of vertices separates it: all vertices get label 2. In any
    other graph with a vertex, both sides have vertices. They keep the limit unless jetpy finds no
    separator that allows it, for example because of one heavy vertex; then `feasible` is False. The
    separator is empty if the components of a graph fit into the two sides when each, from the
    heaviest on, goes to the lighter side.

    Parameters
    ----------
    graph : Graph, path, sparse matrix, or other input of `as_graph`
        Edge weights do not matter, nor do self-loops.
    imbalance : float
        Maximum imbalance, in 0..1: a side weighs at most (1 + imbalance) times half of the total
        vertex weight. At 1, sides have no limit. METIS has the same default.
    preset : {'fast', 'default', 'best'}
        How much time to spend for a lighter separator.
    tries : int, optional
        Number of separators that are computed; jetpy keeps the best one.
    seed : int
    vertex_weights : whole numbers from 0 on, shape (n,), optional
        Replace the vertex weights of the graph. If all are 0, jetpy separates the graph as if all
        were 1.
    n, scale
        As for `as_graph`; `scale` concerns vertex weights only.
    symmetrize : bool
        Add missing reverse edges.
    backend, threads
        As for `nested_dissection`. The result is the same on all back ends.
    device : int or True, optional
        As for `partition`; the labels are on the host in any case.
    progress
        As for `partition`.

    Returns
    -------
    VertexSeparator

    Raises
    ------
    GraphError
        If an edge lacks its reverse and `symmetrize` is False, or `graph` breaks a rule of
        `as_graph`.
    OptionError, BackendError
        As `nested_dissection` does.

    Examples
    --------
    >>> import jetpy
    >>> found = jetpy.vertex_separator(jetpy.generators.grid(20, 30))
    >>> found.weight
    20
    >>> found.sizes.sum() == 600 and found.feasible
    True
    """
    imbalance = finite_number("imbalance", imbalance, 1)
    effort = chosen_effort(preset, tries)
    seed = whole_number("seed", seed)
    one_of(BACKENDS, "backend", backend)
    flag("symmetrize", symmetrize)
    pattern: Pattern = True if symmetrize else "symmetric"
    checked = as_graph(graph, vertex_weights=vertex_weights, n=n, pattern=pattern, scale=scale)
    check_one_weight(checked, "vertex_separator")
    weighed = with_some_weight(checked)
    limit = side_limit(weighed, imbalance)
    narrow = with_narrow_weights(weighed)

    def work(engine: Backend, tell: Progress) -> tuple[IntArray, int, float]:
        with cpus(engine, narrow, threads) as host, Stopwatch(engine, "separate") as watch:
            separate = partial(divided, engine, host, effort=effort, seed=seed)
            labels = separated(separate, narrow, weighed, limit)
        return labels, cpu_threads(host), watch.seconds

    execution = Execution(backend, threads, device, progress)
    found, engine, _ = execution.run(work, narrow, chosen_backend(backend, device))
    labels, used_threads, seconds = found
    used = engine.name, used_threads, seconds
    return VertexSeparator(checked, labels, side_limit(checked, imbalance), seed, *used)
