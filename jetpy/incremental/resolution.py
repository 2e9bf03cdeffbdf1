"""Conversion of a batch of modifiers to edits of the rows of a bucket list, with checks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.errors import GraphError
from jetpy.graph.csr import INT32_MAX, IntArray
from jetpy.incremental.batch import Modifiers, begins_of, ends_of, is_among, name
from jetpy.incremental.buckets import BucketList
from jetpy.incremental.edits import Edits
from jetpy.workloads.incremental.buckets import NO_PLACE, EdgeModifiers


def resolve(graph: BucketList, modifiers: Modifiers) -> Edits:
    """Look up the edges of modifiers, and return the edits.

    Raises
    ------
    GraphError
        If an edge to delete does not exist, an edge to insert exists, or weights overflow.
    """
    incident = graph.edges_of(modifiers.deleted_vertices)
    deleted = modifiers.deleted_edges
    if len(incident):
        deleted = np.sort(np.concatenate([deleted, incident]))
        deleted = deleted[begins_of(deleted)]
    low, high = ends_of(deleted)
    sources, targets = np.concatenate([low, high]), np.concatenate([high, low])
    inserted = modifiers.inserted_edges
    known = inserted[(inserted & 0xFFFFFFFF) < graph.ids]
    lower, other = _by_degree(graph, known)
    places, weights = graph.find(np.concatenate([sources, lower]), np.concatenate([targets, other]))
    is_there = places != NO_PLACE
    _check_edges(deleted, is_there[: len(deleted)], known, is_there[len(sources) :])
    gone = graph.vertex_weights.host[modifiers.deleted_vertices]
    vertex_weight = _sum(modifiers.vertex_weights) - _sum(gone)
    edge_weight = _sum(modifiers.edge_weights) - _sum(weights[: len(deleted)])
    _check_sum("vertex weights", graph.vertex_weight + vertex_weight)
    _check_sum("edge weights, in both directions,", 2 * (graph.edge_weight + edge_weight))
    low, high = ends_of(inserted)
    origins = np.concatenate([sources, low, high])
    ends = np.concatenate([targets, high, low])
    nowhere = np.full(2 * len(inserted), NO_PLACE, np.int32)
    places = np.concatenate([places[: len(sources)], nowhere])
    added = np.zeros(len(sources), np.int32), modifiers.edge_weights, modifiers.edge_weights
    order = np.argsort(_keys(origins, ends, places))
    origins, places = origins[order], places[order]
    begins = begins_of(origins)
    signs = np.where(places == NO_PLACE, 1, -1).astype(np.int32)
    return Edits(
        new_weights=modifiers.vertex_weights,
        dead=modifiers.deleted_vertices,
        modifiers=EdgeModifiers(
            vertices=origins[begins],
            starts=np.append(begins, np.int32(len(origins))),
            places=places,
            targets=ends[order],
            weights=np.concatenate(added)[order],
        ),
        growth=np.add.reduceat(signs, begins) if len(begins) else begins,
        edges=len(inserted) - len(deleted),
        edge_weight=edge_weight,
        vertex_weight=vertex_weight,
    )


def _keys(origins: IntArray, ends: IntArray, places: IntArray) -> npt.NDArray[np.int64]:
    """Return the sort keys of modifiers.

    The order is by vertex; then deletions by descending place; then insertions by target.
    """
    wide = np.where(
        places == NO_PLACE, ends.astype(np.int64) + 2**31, INT32_MAX - places.astype(np.int64)
    )
    keys: npt.NDArray[np.int64] = (origins.astype(np.int64) << 32) + wide
    return keys


def _by_degree(graph: BucketList, edges: npt.NDArray[np.int64]) -> tuple[IntArray, IntArray]:
    """Return the ends of edges: the end of smaller degree, and the other end."""
    u, v = ends_of(edges)
    swap = graph.degrees.host[u] > graph.degrees.host[v]
    return np.where(swap, v, u), np.where(swap, u, v)


def _check_edges(
    deleted: npt.NDArray[np.int64],
    is_there: npt.NDArray[np.bool_],
    inserted: npt.NDArray[np.int64],
    was_there: npt.NDArray[np.bool_],
) -> None:
    if not is_there.all():
        edge = deleted[is_there.argmin()]
        raise GraphError(f"{name(edge)} cannot be deleted: it does not exist")
    if was_there.any():
        stays = was_there & ~is_among(inserted, deleted)
        if stays.any():
            edge = inserted[stays.argmax()]
            raise GraphError(
                f"{name(edge)} cannot be inserted: it already exists; to change its weight, "
                "also delete it in the same batch"
            )


def _check_sum(what: str, total: int) -> None:
    if total > INT32_MAX:
        raise GraphError(f"{what} overflow: their sum is {total}, but must be below 2**31")


def _sum(weights: IntArray) -> int:
    return int(weights.sum(dtype=np.int64))
