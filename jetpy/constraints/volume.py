"""Small communication volumes: partitions of small cuts, improved on every level by moves.

The volume on a coarse level is exactly that of the finest, as the nets are contracted with the
vertices, so that no level makes it larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from jetpy.constraints.nets import contract, neighbourhoods
from jetpy.constraints.volume_refinement import shrink_volume
from jetpy.device.device_graph import download, upload
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import INT32_MAX, Graph, IntArray
from jetpy.multilevel.hierarchy import HierarchyLevel, coarsen, finest_level, inject, project
from jetpy.multilevel.overlay import overlay
from jetpy.problem.fixed import NO_PART
from jetpy.problem.problem import Problem
from jetpy.progress import no_progress

Parts = npt.NDArray[np.int32]

FINENESS = 1000
"""Weight of an edge between vertices of one neighbour each."""
VARIANT = 1
"""Of the choices that coarsening makes, so that they are not those of the first hierarchy."""


def evened(graph: Graph) -> Graph:
    """Return a graph with weights that let its cut tell more of the volume.

    That of an edge is over the fourth root of the product of its ends' degrees: of the many edges
    of a vertex few count, as it sends to each part once only.
    """
    roots = np.sqrt(np.sqrt(graph.degrees.astype(np.float64)))
    scale = min(FINENESS, INT32_MAX // 2 // max(len(graph.indices), 1))
    weights = np.empty_like(graph.edge_weights)
    for start, stop in graph.row_blocks():
        entries = slice(graph.indptr[start], graph.indptr[stop])
        product = roots[graph.sources(start, stop)] * roots[graph.indices[entries]]
        weights[entries] = np.maximum(np.rint(scale / product), 1)
    return replace(graph, edge_weights=weights)


def reduce_volume(
    backend: Backend,
    graph: Graph,
    problem: Problem,
    parts: Parts,
    others: Sequence[Parts],
    pinned: IntArray,
) -> Parts:
    """Return a partition (int32, shape (n,)) of no larger volume than that of `parts`.

    With other partitions, vertices on which all agree become one on coarse levels; from the
    coarsest up, moves of what is one vertex reduce the volume. Without, on the finest alone.
    `pinned` (int32, shape (n,)) are the parts of vertices that are there and stay, -1 of others.
    Limits that `parts` keep are kept, and no part gets empty.
    """
    weighted = evened(graph) if others else graph
    finest = finest_level(
        backend,
        upload(backend, weighted),
        _blocks(backend, [parts, *others], problem.k),
        backend.from_host(pinned) if (pinned != NO_PART).any() else None,
    )
    hierarchy = [finest]
    if others:
        hierarchy = coarsen(finest, [problem], no_progress, variant=VARIANT)
    return _uncoarsen(hierarchy, weighted, problem, parts, pinned)


def _blocks(backend: Backend, partitions: Sequence[Parts], k: int) -> Array:
    """Return the blocks of vertices (int32, shape (n,)) that are together in all partitions."""
    blocks, *others = (backend.from_host(parts) for parts in partitions)
    for other in others:
        blocks = overlay(backend, blocks, other, k)
    return blocks


def _uncoarsen(
    hierarchy: list[HierarchyLevel], graph: Graph, problem: Problem, parts: Parts, pinned: IntArray
) -> Parts:
    """Improve a partition of the finest level on all levels, from the coarsest up."""
    graphs, nets = [graph], [neighbourhoods(graph)]
    current, held = (hierarchy[0].backend.from_host(array) for array in (parts, pinned))
    stay = [pinned != NO_PART]
    for finer, level in pairwise(hierarchy):
        current, held = (inject(finer, level, array) for array in (current, held))
        stay.append(level.backend.to_host(held) != NO_PART)
        graphs.append(download(level.backend, level.graph))
        nets.append(contract(nets[-1], finer.backend.to_host(level.coarse_of), graphs[-1]))
    while hierarchy:
        level = hierarchy.pop()
        weights = graphs.pop().vertex_weights
        start = level.backend.to_host(current)
        found = shrink_volume(
            level.backend, nets.pop(), weights, start, problem.limits, stay.pop(), problem.seed
        )
        current = project(level, level.backend.from_host(found), hierarchy)
    return found
