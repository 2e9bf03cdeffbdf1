"""Nested dissection of a matrix: the order of elimination and its separator tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jetpy.device.device_graph import download, upload
from jetpy.engines.base import Backend
from jetpy.graph.by_part import sort_by_part
from jetpy.graph.csr import Graph, IntArray
from jetpy.ordering.block_elimination import Costs
from jetpy.ordering.choice import choose
from jetpy.ordering.compression import Mask, compress
from jetpy.ordering.dissection import dissect
from jetpy.ordering.effort import Effort
from jetpy.ordering.elimination import elimination_tree, totals_of
from jetpy.ordering.induced_subgraphs import joined
from jetpy.ordering.multisector import with_last
from jetpy.ordering.processes import ALONE, Processes
from jetpy.ordering.quotient_graphs import Matrix, block_orders
from jetpy.progress import Progress
from jetpy.result.separator_tree import SeparatorTree


def dissected(
    engine: Backend,
    host: Backend,
    graph: Graph,
    is_last: Mask,
    effort: Effort,
    seed: int,
    tell: Progress,
    processes: Processes = ALONE,
) -> tuple[IntArray, SeparatorTree]:
    """Return the order of elimination (int32, shape (n,)) and its separator tree.

    The rows that `is_last` (bool, shape (n,)) selects come last. The processes find the same order
    as a single process. Each has the whole graph.
    """
    compression = compress(host, graph, is_last)
    groups = compression.graph, compression.is_last
    order, tree = groups_dissected(engine, host, *groups, effort, seed, tell, processes)
    return compression.expand(order), compression.expand_tree(tree, order)


def groups_dissected(
    engine: Backend,
    host: Backend,
    graph: Graph,
    is_last: Mask,
    effort: Effort,
    seed: int,
    tell: Progress,
    processes: Processes = ALONE,
) -> tuple[IntArray, SeparatorTree]:
    """Do the same as `dissected` for a compressed graph."""
    if effort.second_side is None:
        return _ordered(engine, host, graph, is_last, effort, seed, tell, processes)
    efforts = effort, replace(effort, largest_side=effort.second_side)
    both = (
        _ordered(engine, host, graph, is_last, each, seed, _half_of(tell, number), processes)
        for number, each in enumerate(efforts)
    )
    return min(both, key=lambda found: node_operations(host, graph, *found).sum())


def _half_of(tell: Progress, number: int) -> Progress:
    """Return the progress of the first or second of two equal halves."""
    return lambda stage, done, total: tell(stage, number * total + done, 2 * total)


def node_operations(host: Backend, graph: Graph, order: IntArray, tree: SeparatorTree) -> Costs:
    """Return the operations of the columns of each node: float64, shape (nodes,)."""
    elimination = elimination_tree(host, graph, order, tree.independent_ranges())
    totals = totals_of(host, upload(host, graph), elimination, tree)
    operations: Costs = host.to_host(totals.operations)
    return operations


def _ordered(
    engine: Backend,
    host: Backend,
    graph: Graph,
    is_last: Mask,
    effort: Effort,
    seed: int,
    tell: Progress,
    processes: Processes,
) -> tuple[IntArray, SeparatorTree]:
    """Return the order of a compressed graph by one dissection, and its separator tree."""
    node_of, tree = dissect(engine, host, graph, effort, seed, tell, processes, is_last)
    # vertices by node, because all that follows reads the rows of nodes
    vertices = sort_by_part(node_of, len(tree)).order
    by_node = download(host, joined(host, upload(host, graph), host.from_host(vertices)))
    matrix, is_last = Matrix(engine, host, by_node), is_last[vertices]
    blocks = np.where(is_last, -1, node_of[vertices]).astype(np.int32)
    order = block_orders(matrix, blocks, len(tree), processes)
    order = with_last(matrix, order, is_last)
    if effort.choice:
        order, tree = choose(matrix, order, tree, processes, int(is_last.any()))
    return vertices[order], tree
