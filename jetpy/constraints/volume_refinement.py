"""Refinement of the communication volume on a level by moves of single vertices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.constraints.nets import Nets
from jetpy.engines.base import Backend
from jetpy.graph.csr import IntArray
from jetpy.problem.problem import Problem
from jetpy.workloads.common.groups import NO_PART, Connectivity
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.constraints import volume as kernels
from jetpy.workloads.refinement.connectivity import UNUSED

PASSES = 20


def shrink_volume(
    backend: Backend,
    nets: Nets,
    vertex_weights: IntArray,
    parts: IntArray,
    problem: Problem,
    pinned: npt.NDArray[np.bool_],
) -> npt.NDArray[np.int32]:
    """Return a partition (int32, shape (n,)) of at most the same volume, computed on the host.

    Parts that keep the limits of the problem still do, and none becomes empty. Vertices that are
    `pinned` (bool, shape (n,)) stay. The cut may grow.
    """
    host, n, k = backend.host, nets.n, problem.k
    slots = np.concatenate([[0], np.minimum(np.diff(nets.starts), k).cumsum()])
    size = int(slots[-1])
    table = Connectivity(
        rows=host.from_host(slots[:-1].astype(host.sum_type)),
        parts=host.full(size, UNUSED),
        weights=host.full(size, 0, host.sum_type),
        k=k,
    )
    loads = np.bincount(parts, vertex_weights, k).astype(np.int64)
    sizes = np.bincount(parts, minlength=k)
    numbers = np.zeros(Field.COUNT, np.int64)
    numbers[Field.END] = n
    found = host.from_host(parts.copy())
    state = host.group(
        kernels.Volume,
        n,
        parts=found,
        loads=host.from_host(np.concatenate([loads, problem.limits, problem.lower_limits, sizes])),
        benefits=host.full(size, 0),
        pinned=host.from_host(np.where(pinned, parts, NO_PART).astype(np.int32)),
        keys=host.empty(n, np.int64),
        numbers=host.from_host(numbers),
    )
    host.run_tasks(
        1,
        kernels.shrink,
        passes=PASSES,
        seed=problem.seed,
        nets=_upload(host, nets, vertex_weights),
        table=table,
        state=state,
    )
    return host.to_host(found)


def _upload(host: Backend, nets: Nets, vertex_weights: IntArray) -> kernels.Nets:
    """Upload nets and the weights of vertices (int32, shape (n,)) to a back end."""
    starts, own = nets.by_vertex()
    return kernels.Nets(
        host.from_host(np.concatenate([starts, nets.starts[1:] + starts[-1]])),
        host.from_host(np.concatenate([own, nets.pins])),
        host.from_host(np.concatenate([vertex_weights, nets.weights]).astype(host.sum_type)),
        nets.n,
        nets.count,
    )
