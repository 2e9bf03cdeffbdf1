"""The best of nested dissection, minimum degree and the given order for each component."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph, IntArray
from jetpy.ordering.block_elimination import Costs
from jetpy.ordering.component_search import find_components
from jetpy.ordering.compression import Mask, compress, contracted
from jetpy.ordering.dense_rows import induced_subgraph
from jetpy.ordering.dissection import FEWEST, whole_graph
from jetpy.ordering.effort import Effort
from jetpy.ordering.elimination import elimination_tree, totals_of
from jetpy.ordering.multisector import with_last
from jetpy.ordering.nested_dissection import groups_dissected, node_operations
from jetpy.ordering.quotient_graphs import Matrix, block_orders
from jetpy.progress import Progress
from jetpy.result.ordering_choice import METHODS, OrderingChoice
from jetpy.result.separator_tree import SeparatorTree
from jetpy.workloads.ordering.separators import SEPARATOR


@dataclass(frozen=True, eq=False)
class Components:
    """The components of a graph without the vertices that come last, small ones first.

    Attributes
    ----------
    component_of : int32, shape (n,)
        Component of each vertex; `count` for a vertex that comes last.
    starts : int32, shape (count + 2,)
        The vertices of component i are in columns ``starts[i]..starts[i + 1] - 1`` of all orders;
        the vertices that come last have the last columns.
    rows : int64, shape (count,)
        Weight of each component.
    is_small : bool, shape (count,)
        Whether nested dissection would not divide a component.
    """

    component_of: IntArray
    starts: IntArray
    rows: npt.NDArray[np.int64]
    is_small: Mask

    @classmethod
    def of(cls, host: Backend, graph: Graph, is_last: Mask, leaf_weight: int) -> Components:
        """Find the components."""
        sides = host.from_host(np.where(is_last, SEPARATOR, 0).astype(np.int32))
        found = find_components(host, whole_graph(host, host, graph, 0), sides)
        is_component = found.nodes >= 0
        is_small = (found.weights <= leaf_weight) | (found.sizes < FEWEST)
        order = np.lexsort((~is_small, ~is_component))
        numbers = np.empty(len(order), np.int32)
        numbers[order] = np.arange(len(order))
        component_of = np.empty(graph.n, np.int32)
        component_of[host.to_host(found.components.order)] = np.repeat(numbers, found.sizes)
        count = int(is_component.sum())
        sizes = np.bincount(component_of, minlength=count + 1)
        kept = order[:count]
        return cls(
            component_of,
            np.append(0, np.cumsum(sizes)).astype(np.int32),
            found.weights[kept].astype(np.int64),
            is_small[kept],
        )

    @property
    def sizes(self) -> npt.NDArray[np.int32]:
        """Number of vertices of each component."""
        return np.diff(self.starts[:-1])

    def grouped(self, order: IntArray) -> IntArray:
        """Return an order in which components follow each other."""
        return order[np.argsort(self.component_of[order], kind="stable")]

    def replaced(self, order: IntArray, is_replaced: Mask, vertices: IntArray) -> IntArray:
        """Return the order with the vertices of some components in another order."""
        result = order.copy()
        result[np.flatnonzero(np.repeat(is_replaced, self.sizes))] = self.grouped(vertices)
        return result


@dataclass(frozen=True, eq=False)
class Candidate:
    """An order of all vertices, in which components follow each other, and what they cost.

    Attributes
    ----------
    order : int32, shape (n,)
    operations : float64, shape (count,)
        Operations of each component; infinite if the method was not tried.
    has_fill : bool, shape (count,)
    """

    order: IntArray
    operations: Costs
    has_fill: Mask


def _operations_without_fill(graph: Graph, components: Components, order: IntArray) -> Costs:
    """Return the operations of each component in an order if there were no fill, shape (count,)."""
    columns = np.empty_like(order)
    columns[order] = np.arange(graph.n, dtype=np.int32)
    tails, weights = graph.sources(0, graph.n), graph.vertex_weights.astype(np.float64)
    later = columns[tails] < columns[graph.indices]
    counts = weights + np.bincount(tails[later], weights[graph.indices[later]], graph.n)
    sums = np.bincount(
        components.component_of,
        weights * counts * (counts - weights + 1) + weights * (weights - 1) * (2 * weights - 1) / 6,
        len(components.starts) - 1,
    )
    return sums[:-1].astype(np.float64, copy=False)


def ordered_by_component(
    engine: Backend,
    host: Backend,
    graph: Graph,
    is_last: Mask,
    effort: Effort,
    seed: int,
    tell: Progress,
    start: IntArray | None = None,
) -> tuple[IntArray, SeparatorTree, tuple[OrderingChoice, ...]]:
    """Return the order of elimination (int32, shape (n,)), its separator tree, and the choices.

    Each component of the matrix without dense rows, and without the rows that `is_last` (bool,
    shape (n,)) selects, has the order with the fewest operations. `start` (int32, shape (n,)) is an
    order to start from, instead of the given one.
    """
    compression = compress(host, graph, is_last)
    matrix, is_last = Matrix(engine, host, compression.graph), compression.is_last
    components = Components.of(host, matrix.graph, is_last, effort.leaf_weight)
    if start is not None:
        start = contracted(start, compression.group_of)
    given = _given(matrix, components, start)
    by_degree = _by_degree(matrix, components, given)
    dissected, tree, nodes = _dissected(
        engine, host, matrix.graph, components, by_degree, effort, seed, tell, start
    )
    candidates = (by_degree, dissected, given)  # as in METHODS
    kinds = np.argmin([candidate.operations for candidate in candidates], axis=0)
    columns, count = np.repeat(kinds, components.sizes), components.starts[-2]
    order = np.choose(columns, [candidate.order[:count] for candidate in candidates])
    order = with_last(matrix, order, is_last)
    tree = _joined(components, tree, nodes, kinds == METHODS.index("nested_dissection"))
    choices = _choices(components, candidates, kinds)
    return compression.expand(order), compression.expand_tree(tree, order), choices


def _given(matrix: Matrix, components: Components, start: IntArray | None) -> Candidate:
    """Return the order that the vertices of each component have in `start`, or already have."""
    host, graph, starts = matrix.host, matrix.graph, components.starts
    order = components.grouped(np.arange(graph.n, dtype=np.int32) if start is None else start)
    tree = SeparatorTree(np.full(len(starts) - 1, -1, np.int32), starts)
    elimination = elimination_tree(host, matrix.on_host, order, (starts[:-2], starts[1:-1]))
    totals = totals_of(host, matrix.on_host, elimination, tree)
    operations = host.to_host(totals.operations)[:-1]
    least = _operations_without_fill(graph, components, order)
    return Candidate(order, operations, operations > least)


def _by_degree(matrix: Matrix, components: Components, given: Candidate) -> Candidate:
    """Order components by minimum degree, except where the given order has no fill."""
    is_tried, count = given.has_fill, len(components.rows)
    numbers = np.append(np.where(is_tried, np.cumsum(is_tried) - 1, -1), -1).astype(np.int32)
    blocks = numbers[components.component_of]
    found = block_orders(matrix, blocks, int(is_tried.sum()))
    order = components.replaced(given.order, is_tried, found.order)
    operations = np.full(count, np.inf)
    operations[is_tried] = found.operations
    least = _operations_without_fill(matrix.graph, components, order)
    return Candidate(order, operations, is_tried & (operations > least))


def _dissected(
    engine: Backend,
    host: Backend,
    graph: Graph,
    components: Components,
    others: Candidate,
    effort: Effort,
    seed: int,
    tell: Progress,
    start: IntArray | None,
) -> tuple[Candidate, SeparatorTree, IntArray]:
    """Dissect the large components that have fill; the tree has only their vertices.

    The last array has the component of each node, int32.
    """
    own = components.component_of
    is_tried = others.has_fill & ~components.is_small
    count = len(is_tried)
    kept = np.flatnonzero(np.append(is_tried, is_tried.any())[own]).astype(np.int32)
    part = graph if len(kept) == graph.n else induced_subgraph(graph, kept)
    is_last = own[kept] == count
    if start is not None:
        numbers = np.full(graph.n, -1, np.int32)
        numbers[kept] = np.arange(len(kept))
        start = contracted(start, numbers)
    options = effort, seed, tell, start
    found, tree = groups_dissected(engine, host, part, is_last, *options)
    vertices = kept[found]
    order = components.replaced(others.order, is_tried, vertices[own[vertices] < count])
    nodes = own[vertices[tree.starts[:-1]]]
    by_node = node_operations(host, part, found, tree)
    operations = np.where(is_tried, np.bincount(nodes, by_node, count + 1)[:-1], np.inf)
    return Candidate(order, operations, others.has_fill), tree, nodes


def _joined(
    components: Components, tree: SeparatorTree, nodes: IntArray, is_dissected: Mask
) -> SeparatorTree:
    """Return the tree of all components, given that of a dissection and the component of each node.

    Small components together are one leaf, and so is each other one that is not dissected. The
    vertices that come last are the root.
    """
    few = int(components.is_small.sum())
    others = few + np.flatnonzero(~is_dissected[few:])
    is_kept = np.append(is_dissected, False)[nodes]
    kept = nodes[is_kept]
    keys = np.concatenate((kept, others, np.zeros(min(few, 1), int)))
    sizes = np.concatenate(
        (tree.sizes[is_kept], components.sizes[others], components.starts[few : few + min(few, 1)])
    )
    order = np.argsort(keys, kind="stable")
    numbers = np.empty(len(order) + 1, np.int32)
    numbers[order] = np.arange(len(order))
    numbers[-1] = -1
    above = np.append(np.where(is_kept, np.cumsum(is_kept) - 1, -1), -1)[tree.parents[is_kept]]
    parents = np.append(above, np.full(len(order) - len(kept), -1))[order]
    joined = SeparatorTree(numbers[parents], np.append(0, np.cumsum(sizes[order])).astype(np.int32))
    last = int(components.starts[-1] - components.starts[-2])
    return joined.below_root(last) if last else joined


def _choices(
    components: Components, candidates: tuple[Candidate, ...], kinds: npt.NDArray[np.intp]
) -> tuple[OrderingChoice, ...]:
    """Describe which method orders which components, and why."""
    operations = np.array([candidate.operations for candidate in candidates])
    has_fill = np.choose(kinds, [candidate.has_fill for candidate in candidates])
    choices = []
    for kind, fills in product(range(len(METHODS)), (False, True)):
        chosen = (kinds == kind) & (has_fill == fills)
        if not chosen.any():
            continue
        sums = operations[:, chosen].sum(axis=1)
        tried = {METHODS[i]: float(total) for i, total in enumerate(sums) if total < np.inf}
        choices.append(
            OrderingChoice(
                METHODS[kind],
                int(chosen.sum()),
                int(components.rows[chosen].sum()),
                tried,
                has_fill=fills,
            )
        )
    return tuple(choices)
