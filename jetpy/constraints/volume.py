"""Small communication volume: partitions of small cut, improved by moves on every level.

The nets are contracted with the vertices, so the volume on a coarse level equals that on the
finest, and no level increases it.
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
from jetpy.multilevel.hierarchy import HierarchyLevel, coarsen, finest_level, inject
from jetpy.multilevel.overlay import overlay
from jetpy.multilevel.uncoarsening import uncoarsen
from jetpy.problem.fixed import NO_PART
from jetpy.problem.problem import Problem
from jetpy.progress import no_progress

Parts = npt.NDArray[np.int32]

FINENESS = 1000
"""Weight of an edge between two vertices of degree 1."""
VARIANT = 1
"""Variant of tie breaking in coarsening that differs from the first hierarchy."""


def degree_normalised(graph: Graph) -> Graph:
    """Return a graph with edge weights for which the cut approximates the volume better.

    The weight of an edge is proportional to 1 over the fourth root of the product of its ends'
    degrees: edges of vertices of high degree count less, because a vertex sends to each part once.
    If vertices have sizes, it is also proportional to the sum of the sizes of its ends.
    """
    entries, degrees = max(len(graph.indices), 1), graph.degrees
    roots = np.sqrt(np.sqrt(degrees.astype(np.float64)))
    scale = min(FINENESS, INT32_MAX // 2 // entries)
    sizes = np.ones(graph.n, np.int64)
    if graph.vertex_sizes is not None:
        sizes = graph.vertex_sizes.astype(np.int64)
    average = max(int((degrees * sizes).sum()), 1) / entries  # of the ends of edges
    weights = np.empty_like(graph.edge_weights)
    for start, stop in graph.row_blocks():
        row = slice(graph.indptr[start], graph.indptr[stop])
        u, v = graph.sources(start, stop), graph.indices[row]
        wanted = scale * ((sizes[u] + sizes[v]) / (2 * average)) / (roots[u] * roots[v])
        weights[row] = np.maximum(np.rint(wanted), 1)
    return replace(graph, edge_weights=weights)


def reduce_volume(
    backend: Backend,
    graph: Graph,
    problem: Problem,
    parts: Parts,
    others: Sequence[Parts],
    pinned: IntArray,
) -> Parts:
    """Return a partition (int32, shape (n,)) of at most the volume of `parts`.

    With other partitions, vertices on which all agree are contracted, and moves reduce the volume
    on all levels, from the coarsest up. Without others, moves run on the finest level only.
    `pinned` (int32, shape (n,)) are the parts of vertices that must stay, -1 for free vertices.
    Limits that `parts` keep are kept, and no part becomes empty.
    """
    weighted = degree_normalised(graph) if others else graph
    finest = finest_level(
        backend,
        upload(backend, weighted),
        _blocks(backend, [parts, *others], problem.k),
        backend.from_host(pinned) if (pinned != NO_PART).any() else None,
    )
    hierarchy = [finest]
    if others:
        hierarchy = coarsen(finest, [problem], no_progress, variant=VARIANT)
    return _refine_levels(hierarchy, weighted, problem, parts, pinned)


def _blocks(backend: Backend, partitions: Sequence[Parts], k: int) -> Array:
    """Return blocks (int32, shape (n,)) of vertices that share a part in all partitions."""
    blocks, *others = (backend.from_host(parts) for parts in partitions)
    for other in others:
        blocks = overlay(backend, blocks, other, k).blocks
    return blocks


def _refine_levels(
    hierarchy: list[HierarchyLevel], graph: Graph, problem: Problem, parts: Parts, pinned: IntArray
) -> Parts:
    """Improve a partition of the finest level on all levels, from the coarsest up."""
    finest = hierarchy[0].backend
    weights, nets, stay = [graph.vertex_weights], [neighbourhoods(graph)], [pinned != NO_PART]
    current, held = (finest.from_host(array) for array in (parts, pinned))
    for finer, level in pairwise(hierarchy):
        current, held = (inject(finer, level, array) for array in (current, held))
        stay.append(level.backend.to_host(held) != NO_PART)
        coarse = download(level.backend, level.graph)
        weights.append(coarse.vertex_weights)
        nets.append(contract(nets[-1], finer.backend.to_host(level.coarse_of), coarse))

    def refine(level: HierarchyLevel, finer: Sequence[HierarchyLevel], parts: Array) -> Array:
        backend, start = level.backend, level.backend.to_host(parts)
        given = nets.pop(), weights.pop(), start, problem, stay.pop()
        return backend.from_host(shrink_volume(backend, *given))

    found, _ = uncoarsen(hierarchy, current, refine)
    return finest.to_host(found)
