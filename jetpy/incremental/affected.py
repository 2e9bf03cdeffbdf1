"""Search for affected vertices, and selection of vertices to place again (iG-kway, V-C)."""

from __future__ import annotations

import numpy as np

from jetpy.engines.base import Array
from jetpy.graph.csr import IntArray
from jetpy.incremental.buckets import BucketList
from jetpy.incremental.column import BlankColumn
from jetpy.workloads.incremental import affected as kernels
from jetpy.workloads.incremental.affected import Affected


def find_entering(
    graph: BucketList, modified: IntArray, marks: BlankColumn, k: int, max_degree: int
) -> IntArray:
    """Return the vertices that enter the pseudo-partition, int32, ascending.

    Parameters
    ----------
    graph : BucketList
        New vertices are in part k.
    modified : int32
        Vertices whose edges have changed, and new vertices.
    marks : BlankColumn
        `Mark.NONE` for all vertices.
    k : int
    max_degree : int
        Vertices with more neighbours keep their parts.
    """
    backend, rows, count = graph.backend, graph.device, len(modified)

    def weighed(vertices: Array) -> Affected:
        affected = Affected(vertices, backend.full(len(vertices), 0), marks.for_size(graph.ids))
        backend.parallel_for(
            len(vertices) * graph.lanes,
            kernels.weigh_rows,
            affected=affected,
            max_degree=max_degree,
            graph=rows,
        )
        backend.parallel_for(
            len(vertices), kernels.mark_weighed, affected=affected, graph=rows, k=k
        )
        return affected

    found = backend.empty(count + int(graph.degrees.host[modified].sum()))
    found[:count] = backend.from_host(modified)
    first, length = weighed(found[:count]), backend.full(1, count)
    backend.parallel_for(
        count * graph.lanes,
        kernels.find_neighbours,
        affected=first,
        graph=rows,
        found=found,
        length=length,
    )
    found = found[: backend.to_host(length)[0]]
    weighed(found[count:])
    entering = backend.empty(len(found))
    number = backend.scan(
        len(found),
        kernels.list_entering,
        vertices=found,
        marks=first.marks,
        entering=entering,
    )
    marks.blank(found)
    return np.sort(backend.to_host(entering[:number]))
