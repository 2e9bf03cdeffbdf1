"""Nested dissection of a matrix: the order of elimination and its separator tree."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from jetpy.device.device_graph import download, upload
from jetpy.engines.base import Backend
from jetpy.graph.by_part import sort_by_part
from jetpy.graph.csr import Graph, IntArray
from jetpy.ordering.block_elimination import Costs
from jetpy.ordering.choice import choose
from jetpy.ordering.compression import Mask, compress, contracted
from jetpy.ordering.dissection import dissect
from jetpy.ordering.effort import Effort
from jetpy.ordering.elimination import elimination_tree, totals_of
from jetpy.ordering.induced_subgraphs import joined
from jetpy.ordering.multisector import with_last
from jetpy.ordering.quotient_graphs import Matrix, block_orders
from jetpy.ordering.start import Start
from jetpy.progress import Progress
from jetpy.result.separator_tree import SeparatorTree

Found = tuple[IntArray, SeparatorTree]
"""An order of elimination (int32) and its separator tree."""


def dissected(
    engine: Backend,
    host: Backend,
    graph: Graph,
    is_last: Mask,
    effort: Effort,
    seed: int,
    tell: Progress,
    start: IntArray | None = None,
) -> tuple[IntArray, SeparatorTree]:
    """Return the order of elimination (int32, shape (n,)) and its separator tree.

    The rows that `is_last` (bool, shape (n,)) selects come last. `start` (int32, shape (n,)) is an
    order to start from.
    """
    compression = compress(host, graph, is_last)
    groups = compression.graph, compression.is_last
    if start is not None:
        start = contracted(start, compression.group_of)
    order, tree = groups_dissected(engine, host, *groups, effort, seed, tell, start)
    return compression.expand(order), compression.expand_tree(tree, order)


def groups_dissected(
    engine: Backend,
    host: Backend,
    graph: Graph,
    is_last: Mask,
    effort: Effort,
    seed: int,
    tell: Progress,
    start: IntArray | None = None,
) -> tuple[IntArray, SeparatorTree]:
    """Do the same as `dissected` for a compressed graph."""
    efforts = [effort]
    if effort.first_side is not None:
        efforts.insert(0, replace(effort, largest_side=effort.first_side))
    finish = partial(_ordered, engine, host, graph, is_last, effort)
    dissection = partial(dissect, engine, host, graph, is_last=is_last)

    def operations(found: Found) -> float:
        return float(node_operations(host, graph, *found).sum())

    best = None
    if start is not None:
        given = Start.of(start)
        best = finish(*dissection(effort, seed, separate=given.separators), given)
    for number, each in enumerate(efforts):
        separate = None if best is None else Start.of(best[0]).better_separators
        share = _share_of(tell, number, len(efforts))
        found = finish(*dissection(each, seed, share, separate=separate))
        best = found if best is None else min(found, best, key=operations)
    assert best is not None
    return best


def _share_of(tell: Progress, number: int, count: int) -> Progress:
    """Return the progress of one of several equal shares."""
    return lambda stage, done, total: tell(stage, number * total + done, count * total)


def node_operations(host: Backend, graph: Graph, order: IntArray, tree: SeparatorTree) -> Costs:
    """Return the operations of the columns of each node: float64, shape (nodes,)."""
    uploaded = upload(host, graph)
    elimination = elimination_tree(host, uploaded, order, tree.independent_ranges())
    totals = totals_of(host, uploaded, elimination, tree)
    operations: Costs = host.to_host(totals.operations)
    return operations


def _ordered(
    engine: Backend,
    host: Backend,
    graph: Graph,
    is_last: Mask,
    effort: Effort,
    node_of: IntArray,
    tree: SeparatorTree,
    start: Start | None = None,
) -> Found:
    """Return the order of a dissected compressed graph, and its separator tree.

    The vertices of each node are ordered by minimum degree, or as in the order `start`.
    """
    # vertices by node, because all that follows reads the rows of nodes
    vertices = sort_by_part(node_of, len(tree)).order
    by_node = download(host, joined(host, upload(host, graph), host.from_host(vertices)))
    matrix, is_last = Matrix(engine, host, by_node), is_last[vertices]
    if start is None:
        blocks = np.where(is_last, -1, node_of[vertices]).astype(np.int32)
        order = block_orders(matrix, blocks, len(tree)).order
    else:
        order = start.ranked(vertices, node_of[vertices])
        order = order[~is_last[order]]
    order = with_last(matrix, order, is_last)
    if effort.choice:
        order, tree = choose(matrix, order, tree, int(is_last.any()))
    return vertices[order], tree
