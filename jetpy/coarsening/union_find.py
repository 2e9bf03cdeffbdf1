"""Union-find coarsening: groups of vertices of any size in one go, or of a few vertices each."""

from __future__ import annotations

import numpy as np

from jetpy.coarsening.constraints import constrain
from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.problem.options import CoarsenOptions
from jetpy.workloads.coarsening import union_find as kernels
from jetpy.workloads.coarsening.union_find import (
    NO_CHOICE,
    NO_SCORE,
    Crowded,
    Groups,
    Selection,
    Subsets,
)
from jetpy.workloads.common.groups import Constraints

FAITHFUL = 16
"""Rounds of joining as in the paper; then those with shortcuts, which only long chains need."""


def group_vertices(
    backend: Backend,
    graph: DeviceGraph,
    options: CoarsenOptions,
    heaviest: int,
    seed: int,
    parts: Array | None,
    most: int,
) -> Array:
    """Return the vertex that names each vertex's group (int32, shape (n,)).

    Vertices and the neighbours that they select make subsets (G-kway, section 3.1). Subsets of
    more than `most` vertices, or heavier than `heaviest`, are split in the order in which their
    vertices joined (iG-kway, section IV): no group is larger, and only single vertices are
    heavier. All vertices of a group are in the same part where `parts` (int32, shape (n,)) are
    given.
    """
    constraints = constrain(backend, graph, heaviest, parts)
    selected = _select(backend, graph, constraints, options.score, seed)
    subsets = _unite(backend, selected)
    _split(backend, graph, subsets, most, heaviest)
    return subsets.names


def _select(
    backend: Backend, graph: DeviceGraph, constraints: Constraints, by_degree: bool, seed: int
) -> Array:
    """Return the neighbour that each vertex selects (int32, shape (n,)), `NO_VERTEX` for none."""
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
    """Return the subsets of vertices that hang together by selections, sizes and weights not yet.

    The label of a vertex is the round in which it joined its subset, 0 for the one that names it.
    """
    n = len(selected)
    names = backend.xp.arange(n, dtype=selected.dtype)
    labels, sizes, totals = (backend.full(n, 0, t) for t in (np.int32, np.int32, backend.sum_type))
    subsets = Subsets(names, names.copy(), labels, sizes, totals)
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
    """Turn subsets into groups, in place: those that are too large or too heavy become several."""
    n, limits = graph.n, {"most": most, "heaviest": heaviest}
    backend.parallel_for(n, kernels.weigh_subsets, graph=graph, subsets=subsets)
    none = backend.empty(0)
    unsorted = Crowded(backend.empty(n, np.int64), none, none, n.bit_length())
    count = backend.scan(n, kernels.list_crowded, subsets=subsets, crowded=unsorted, **limits)
    if count == 0:
        return
    keys, firsts = backend.sorted(unsorted.keys[:count]), subsets.sizes  # which has served
    crowded = Crowded(keys, firsts, backend.empty(count, np.int64), unsorted.bits)
    backend.parallel_for(count, kernels.find_first, crowded=crowded)
    backend.scan(count, kernels.add_up, graph=graph, crowded=crowded)
    split = {"crowded": crowded, "groups": Groups(backend.empty(count), backend.empty(count))}
    backend.scan(count, kernels.split_subsets, graph=graph, **split, **limits)
    backend.parallel_for(count, kernels.name_groups, names=subsets.names, **split)
