"""Plain dissections of small graphs, and matrices with one row for each unit of vertex weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

import jetpy
from jetpy.device.backends import lease
from jetpy.ordering.quotient_graphs import Matrix, block_orders
from jetpy.result.separator_tree import SeparatorTree

Array = np.ndarray


def random_graph(seed: int, n: int, density: float, heaviest: int) -> jetpy.Graph:
    """Return a graph whose vertices have random weights up to `heaviest`."""
    rng = np.random.default_rng(seed)
    pattern = rng.random((n, n)) < density
    graph = jetpy.as_graph(sp.csr_array((pattern | pattern.T).astype(np.int32)), pattern=True)
    return replace(graph, vertex_weights=rng.integers(1, heaviest + 1, n, dtype=np.int32))


def matrix_of(graph: jetpy.Graph) -> sp.csr_array:
    """Return the adjacency matrix."""
    rows = graph.edge_weights, graph.indices, graph.indptr
    return sp.csr_array(rows, shape=(graph.n, graph.n))


def expanded(graph: jetpy.Graph, order: Array) -> tuple[sp.csr_array, Array]:
    """Return the matrix in which w rows replace a vertex of weight w, and the order of its rows."""
    sizes = graph.vertex_weights
    vertex_of = np.repeat(np.arange(graph.n), sizes)
    pattern = (matrix_of(graph) + sp.eye_array(graph.n)).tocsr()[vertex_of][:, vertex_of]
    starts = np.cumsum(sizes) - sizes
    rows = [np.arange(starts[v], starts[v] + sizes[v]) for v in order]
    return pattern, np.concatenate([*rows, np.empty(0, int)]).astype(int)


def dissected(graph: jetpy.Graph, leaf: int) -> tuple[Array, SeparatorTree]:
    """Separate by levels of breadth-first search; return an order and the separator tree.

    Leaves have at most `leaf` vertices, 2 or more. Each node is ordered by minimum degree.
    """
    matrix = matrix_of(graph)
    nodes: list[Array] = []
    parents: list[int] = []

    def add(vertices: Array, children: list[int]) -> int:
        nodes.append(vertices)
        parents.append(-1)
        for child in children:
            parents[child] = len(nodes) - 1
        return len(nodes) - 1

    def divide(vertices: Array) -> int:
        if len(vertices) <= leaf:
            return add(vertices, [])
        inside, reached = np.zeros((2, graph.n), bool)
        inside[vertices], reached[vertices[0]] = True, True
        last = reached
        while last.any() and 2 * reached.sum() < len(vertices):
            last = inside & ~reached & (matrix @ reached > 0)
            reached = reached | last
        sides = reached & ~last, inside & ~reached
        children = [divide(np.flatnonzero(side)) for side in sides if side.any()]
        return add(np.flatnonzero(last), children)

    divide(np.arange(graph.n))
    starts = np.cumsum([0, *(len(node) for node in nodes)])
    tree = SeparatorTree(np.array(parents, np.int32), starts.astype(np.int32))
    node_of = np.empty(graph.n, np.int32)
    node_of[np.concatenate(nodes)] = np.repeat(np.arange(len(tree)), tree.sizes)
    with lease("cpu", 1) as host, host.using():
        return block_orders(Matrix(host, host, graph), node_of, len(tree)).order, tree
