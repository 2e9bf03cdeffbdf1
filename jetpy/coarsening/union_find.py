"""Union-find coarsening: groups of vertices of any size in one go, or of a few vertices each."""

from __future__ import annotations

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import DeviceGraph
from jetpy.options import CoarsenOptions
from jetpy.workloads import union_find as kernels

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
    selected = _select(backend, graph, options, heaviest, seed, parts)
    subsets, labels = _unite(backend, selected)
    _split(backend, graph, subsets, labels, heaviest, most)
    return subsets


def _select(
    backend: Backend,
    graph: DeviceGraph,
    options: CoarsenOptions,
    heaviest: int,
    seed: int,
    parts: Array | None,
) -> Array:
    """Return the neighbour that each vertex selects (int32, shape (n,)), -1 for none."""
    hubs = graph.hubs
    selected = backend.empty(graph.n)
    scores = backend.full(graph.n if hubs.count else 0, -1, "int64")
    choices = backend.full(graph.n if hubs.count else 0, -1, "int64")
    rating = {
        "indptr": graph.indptr,
        "indices": graph.indices,
        "edge_weights": graph.edge_weights,
        "vertex_weights": graph.vertex_weights,
        "parts": graph.vertex_weights if parts is None else parts,
        "within_parts": int(parts is not None),
        "by_degree": int(options.score),
        "scores": scores,
        "seed": seed,
        "heaviest": heaviest,
    }
    hubs.launch(graph.n, kernels.select_neighbours, selected=selected, **rating)
    hubs.launch_lanes(kernels.compare_choices, choices=choices, **rating)
    hubs.launch_each(kernels.select_for_hubs, choices=choices, selected=selected)
    return selected


def _unite(backend: Backend, selected: Array) -> tuple[Array, Array]:
    """Return subset and label of each vertex (int32, shape (n,) each).

    A subset is named by its lowest vertex; the label is the round in which a vertex joined it, 0
    for the one that names it.
    """
    n = len(selected)
    subsets = backend.xp.arange(n, dtype=selected.dtype)
    joined, labels = subsets.copy(), backend.full(n, 0)
    changed, label = n, 0
    while changed:
        label += 1
        backend.parallel_for(
            n,
            kernels.join_subsets,
            selected=selected,
            subsets=subsets,
            joined=joined,
            shortcut=int(label > FAITHFUL),
        )
        changed = backend.reduce(
            n, kernels.take_subsets, subsets=subsets, joined=joined, labels=labels, label=label
        )
    return subsets, labels


def _split(
    backend: Backend, graph: DeviceGraph, subsets: Array, labels: Array, heaviest: int, most: int
) -> None:
    """Turn subsets into groups, in place: those that are too large or too heavy become several."""
    n, weights = graph.n, {"vertex_weights": graph.vertex_weights}
    sizes, totals = backend.full(n, 0), backend.full(n, 0)
    backend.parallel_for(
        n, kernels.weigh_subsets, subsets=subsets, sizes=sizes, totals=totals, **weights
    )
    limits = {"most": most, "heaviest": heaviest, "bits": n.bit_length()}
    keys = backend.empty(n, "int64")
    count = backend.scan(
        n,
        kernels.list_crowded,
        subsets=subsets,
        labels=labels,
        sizes=sizes,
        totals=totals,
        keys=keys,
        **limits,
    )
    if count == 0:
        return
    firsts, bits = sizes, {"bits": limits["bits"]}
    members = {"keys": backend.sorted(keys[:count])}
    backend.parallel_for(count, kernels.find_first, firsts=firsts, **members, **bits)
    sums = backend.empty(count, "int64")
    backend.scan(count, kernels.add_up, sums=sums, **members, **weights, **bits)
    groups, leaders = backend.empty(count), backend.empty(count)
    backend.scan(
        count,
        kernels.split_subsets,
        firsts=firsts,
        sums=sums,
        groups=groups,
        leaders=leaders,
        **members,
        **weights,
        **limits,
    )
    backend.parallel_for(
        count,
        kernels.follow_leaders,
        groups=groups,
        leaders=leaders,
        group_of=subsets,
        **members,
        **bits,
    )
