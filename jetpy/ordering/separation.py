"""Separation of a graph in two by a set of vertices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Backend
from jetpy.graph.csr import INT32_MAX, Graph, IntArray
from jetpy.ordering.dense_rows import induced_subgraph
from jetpy.ordering.dissection import separators, whole_graph, within_limits
from jetpy.ordering.effort import Effort
from jetpy.ordering.large_nodes import LargeNodes
from jetpy.problem.limits import limits_of
from jetpy.problem.metrics import label_components
from jetpy.workloads.ordering.separators import SEPARATOR
from jetpy.workloads.ordering.tries import THOUSAND

Weights = npt.NDArray[np.int64]

Divide = Callable[[Graph, int], IntArray]
"""Returns the labels of a graph whose sides may each have a share of its weight, in thousandths."""

UNKNOWN = -1
"""Label of a vertex that has not been assigned."""


def side_limit(graph: Graph, imbalance: float) -> int:
    """Return the maximum weight of a side."""
    total = graph.total_vertex_weight
    half = np.array(-(-total // 2), np.int64)
    return int(limits_of(half, imbalance, max(INT32_MAX, total)))


def with_some_weight(graph: Graph) -> Graph:
    """Return the graph with vertex weights of 1 if all are 0."""
    if graph.total_vertex_weight:
        return graph
    return replace(graph, vertex_weights=np.ones(graph.n, np.int32))


def with_narrow_weights(graph: Graph) -> Graph:
    """Return the graph with positive vertex weights that sum to less than 2**31.

    Larger ones are divided by an integer just large enough, rounding down but not below 1. Weights
    of 0 become 1, after all others are multiplied, if possible by more than their number: so few
    vertices of weight 0 are better than many, but lighter separators are better than both.
    """
    weights, total = graph.vertex_weights, graph.total_vertex_weight
    free, most = int((weights == 0).sum()), INT32_MAX - graph.n
    if not free and total <= INT32_MAX:
        return graph
    if total <= most:
        return replace(graph, vertex_weights=np.maximum(weights * min(free + 1, most // total), 1))
    return replace(graph, vertex_weights=np.maximum(weights // -(-total // most), 1))


def separated(divide: Divide, narrow: Graph, graph: Graph, limit: int) -> IntArray:
    """Return the label of each vertex; `narrow` is the graph with weights for 32-bit sums."""
    n, weights = graph.n, graph.vertex_weights.astype(np.int64)
    if 2 * graph.m == n * (n - 1):
        return np.full(n, SEPARATOR, np.int32)
    if weights.max() > limit:  # only the separator can hold this vertex
        rest = np.flatnonzero(weights <= limit).astype(np.int32)
        labels = np.full(n, SEPARATOR, np.int32)
        part, exact = induced_subgraph(narrow, rest), induced_subgraph(graph, rest)
        labels[rest] = separated(divide, part, exact, limit)
        if _excess(labels, weights, limit) == 0:
            return labels
    components = label_components(graph, np.zeros(n, np.int32))
    sums = np.bincount(components, weights).astype(np.int64)
    if len(sums) > 1:
        labels = np.full(n, UNKNOWN, np.int32)
        is_divided = True
        if sums.max() > limit:
            heaviest = np.flatnonzero(components == sums.argmax()).astype(np.int32)
            part = induced_subgraph(narrow, heaviest)
            share = _share(limit, int(sums.max()))
            labels[heaviest] = divide(part, share)
            is_divided = bool((labels[heaviest] != SEPARATOR).any())
        _pack(labels, components, sums, weights)
        if is_divided and _excess(labels, weights, limit) == 0:
            return labels
    share = _share(limit, graph.total_vertex_weight)
    labels = divide(narrow, share)
    _relieve(labels, weights, limit)
    other = _lightest_neighbourhood(graph, weights, limit)
    worse = _excess(labels, weights, limit) > _excess(other, weights, limit)
    return other if worse else labels


def _share(limit: int, total: int) -> int:
    """Return the share of a total weight that a limit allows, in thousandths, as kernels take it.

    If rounding up exceeds the limit, it is rounded down.
    """
    if total <= limit:
        return int(THOUSAND)
    share: int = min(THOUSAND, -(-THOUSAND * limit // total))
    if share < THOUSAND and total * share // THOUSAND > limit:
        share -= 1
    return share


def divided(
    engine: Backend, host: Backend, graph: Graph, share: int, effort: Effort, seed: int
) -> IntArray:
    """Return the labels of a graph, divided by multilevel bisection, flows and passes.

    Each side may have `share` thousandths of the weight.
    """
    imbalance = 2 * share / THOUSAND - 1
    limited = replace(
        effort,
        small_tries=effort.tries,
        imbalances=(imbalance,),
        largest_side=share / THOUSAND,
        skew=0,
    )
    large = LargeNodes(engine, host, within_limits(limited, graph))
    return host.to_host(separators(large, whole_graph(engine, host, graph, seed)))


def _pack(labels: IntArray, components: IntArray, sums: Weights, weights: Weights) -> None:
    """Put components without a label on the lighter side, the heaviest first; in place."""
    first, second = (int(weights[labels == side].sum()) for side in range(2))
    side_of = np.zeros(len(sums), np.int32)
    is_open = np.zeros(len(sums), bool)
    is_open[components[labels == UNKNOWN]] = True
    order = np.argsort(-sums, kind="stable")
    for component in order[is_open[order]].tolist():
        if second < first:
            side_of[component] = 1
            second += int(sums[component])
        else:
            first += int(sums[component])
    unknown = labels == UNKNOWN
    labels[unknown] = side_of[components[unknown]]


def _excess(labels: IntArray, weights: Weights, limit: int) -> int:
    """Return the excess of the heavier side over the limit.

    If a side has no vertices, return the total weight, but at least 1.
    """
    sides = [weights[labels == side] for side in range(2)]
    if not all(map(len, sides)):
        return max(int(weights.sum()), 1)
    return max(0, *(int(side.sum()) - limit for side in sides))


def _relieve(labels: IntArray, weights: Weights, limit: int) -> None:
    """Move the heaviest vertices of a side above the limit to the separator, in place.

    A side that would be left empty stays as it is.
    """
    for side in range(2):
        members = np.flatnonzero(labels == side)
        members = members[np.argsort(-weights[members], kind="stable")]
        sums = np.cumsum(weights[members])
        if len(members) and sums[-1] > limit:
            count = int(np.searchsorted(sums, sums[-1] - limit)) + 1
            if count < len(members):
                labels[members[:count]] = SEPARATOR


def _lightest_neighbourhood(graph: Graph, weights: Weights, limit: int) -> IntArray:
    """Return the labels if the neighbours of one vertex separate it from all others.

    It is the vertex with the smallest excess over the limit, then the lightest neighbours.
    """
    n = graph.n
    around = np.bincount(graph.sources(0, n), weights[graph.indices], n).astype(np.int64)
    others = weights.sum() - around - weights
    excess = np.maximum(np.maximum(weights, others) - limit, 0)
    possible = np.flatnonzero(graph.degrees < n - 1)
    v = possible[np.lexsort((around[possible], excess[possible]))[0]]
    labels = np.ones(n, np.int32)
    labels[graph.indices[graph.indptr[v] : graph.indptr[v + 1]]] = SEPARATOR
    labels[v] = 0
    return labels
