"""Union-find coarsening: groups of any size in one step, or groups of a few vertices."""

from __future__ import annotations

import numpy as np

from jetpy.coarsening.constraints import WeightBounds, constrain
from jetpy.device.device_graph import DeviceGraph, all_vertices
from jetpy.engines.base import Array, Backend
from jetpy.problem.options import CoarsenOptions
from jetpy.workloads.coarsening import union_find as kernels
from jetpy.workloads.coarsening.union_find import (
    NO_CHOICE,
    NO_SCORE,
    Groups,
    Oversized,
    Selection,
    Subsets,
)
from jetpy.workloads.common.groups import Constraints

FAITHFUL = 16
"""Rounds of joining as in the paper. Later rounds take shortcuts, which only long chains need."""


def group_vertices(
    backend: Backend,
    graph: DeviceGraph,
    options: CoarsenOptions,
    heaviest: int,
    seed: int,
    parts: Array | None,
    most: int,
) -> Array:
    """Return the vertex that identifies each vertex's group (int32, shape (n,)).

    Each vertex selects a neighbour; selections form subsets (G-kway, section 3.1). A subset of more
    than `most` vertices, or heavier than `heaviest`, is split in the order in which its vertices
    joined (iG-kway, section IV). No group has more vertices, and only single vertices are heavier.
    If `parts` (int32, shape (n,)) are given, the vertices of a group are in one part.
    """
    constraints = constrain(backend, graph, WeightBounds(heaviest), parts)
    selected = _select(backend, graph, constraints, options.score, seed)
    subsets = _unite(backend, selected)
    _split(backend, graph, subsets, most, heaviest)
    return subsets.names


def _select(
    backend: Backend, graph: DeviceGraph, constraints: Constraints, by_degree: bool, seed: int
) -> Array:
    """Return the neighbour that each vertex selects (int32, shape (n,)), or `NO_VERTEX`."""
    long_rows, n = graph.long_rows, graph.n
    size = n if long_rows.count else 0
    selection = Selection(
        backend.empty(n),
        backend.full(size, NO_SCORE, np.int64),
        backend.full(size, NO_CHOICE, np.int64),
        by_degree,
        seed,
    )
    rows = {"graph": graph, "selection": selection, "constraints": constraints}
    long_rows.launch(n, kernels.select_neighbours, **rows)
    long_rows.launch_lanes(kernels.compare_choices, **rows)
    long_rows.launch_each(kernels.select_chosen, selection=selection)
    return selection.selected


def _unite(backend: Backend, selected: Array) -> Subsets:
    """Return the subsets of vertices connected by selections, without sizes and weights.

    A vertex's label is the round in which it joined its subset; 0 if it identifies the subset.
    """
    n = len(selected)
    names, joined = all_vertices(backend, n), all_vertices(backend, n)
    labels, sizes, totals = (backend.full(n, 0, t) for t in (np.int32, np.int32, backend.sum_type))
    subsets = Subsets(names, joined, labels, sizes, totals)
    changed, label = n, 0
    while changed:
        label += 1
        backend.parallel_for(
            n,
            kernels.join_subsets,
            selected=selected,
            subsets=subsets,
            shortcut=label > FAITHFUL,
        )
        changed = backend.reduce(n, kernels.take_subsets, subsets=subsets, label=label)
    return subsets


def _split(
    backend: Backend, graph: DeviceGraph, subsets: Subsets, most: int, heaviest: int
) -> None:
    """Divide subsets that are too large or too heavy into groups, in place."""
    n, limits = graph.n, {"most": most, "heaviest": heaviest}
    backend.parallel_for(n, kernels.weigh_subsets, graph=graph, subsets=subsets)
    none = backend.empty(0)
    unsorted = Oversized(backend.empty(n, np.int64), none, none, n.bit_length())
    count = backend.scan(n, kernels.list_oversized, subsets=subsets, oversized=unsorted, **limits)
    if count == 0:
        return
    keys, firsts = backend.sorted(unsorted.keys[:count]), subsets.sizes  # reused memory
    oversized = Oversized(keys, firsts, backend.empty(count, np.int64), unsorted.bits)
    backend.parallel_for(count, kernels.find_first, oversized=oversized)
    backend.scan(count, kernels.add_up, graph=graph, oversized=oversized)
    split = {"oversized": oversized, "groups": Groups(backend.empty(count), backend.empty(count))}
    backend.scan(count, kernels.split_subsets, graph=graph, **split, **limits)
    backend.parallel_for(count, kernels.name_groups, names=subsets.names, **split)
