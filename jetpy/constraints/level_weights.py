"""Several weights of the vertices of a level, on its back end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import carry
from jetpy.engines.base import Array, Backend
from jetpy.problem.multiconstraint import MultiConstraint
from jetpy.workloads.common.loads import Loads
from jetpy.workloads.constraints.multiconstraint_jet import weigh_groups


def carried(several: MultiConstraint, source: Backend, target: Backend) -> MultiConstraint:
    """Return constraints with the weights on another back end."""
    flat = carry(several.weights.ravel(), source, target)
    return replace(several, weights=flat.reshape(several.weights.shape))


def add_up(backend: Backend, weights: Array, groups: Array, sums: Array) -> None:
    """Add the weights of vertices to the sums of their groups.

    Parameters
    ----------
    backend : Backend
    weights : int32, shape (n, c)
    groups : int32, shape (n,)
    sums : int64, shape (groups * c,)
    """
    n, kinds = weights.shape
    own: dict[str, Any] = {"groups": groups, "weights": weights.ravel(), "kinds": kinds}
    backend.parallel_for(n, weigh_groups, sums=sums, **own)


def sums_of(backend: Backend, weights: Array, groups: Array, count: int) -> Array:
    """Return the weights of groups, int64, shape (count * c,); arguments as for `add_up`."""
    sums = backend.full(count * weights.shape[1], 0, np.int64)
    add_up(backend, weights, groups, sums)
    return sums


def as_weights(sums: Array, kinds: int) -> Array:
    """Return sums below 2**31 as weights, int32, shape (n, c)."""
    return sums.astype(np.int32).reshape(-1, kinds)


def held_on(backend: Backend, several: MultiConstraint, parts: Array) -> npt.NDArray[np.int64]:
    """Return the weights of parts, int64, shape (k, c); `parts` (int32) are on the back end."""
    sums = sums_of(backend, several.weights, parts, len(several.limits))
    return backend.to_host(sums).reshape(several.limits.shape)


def loads_of(backend: Backend, several: MultiConstraint, parts: Array | None = None) -> Loads:
    """Return weights that are on a back end and limits, with the loads of `parts`, or of 0."""
    size = several.limits.size
    if parts is None:
        held = backend.full(size, 0, np.int64)
    else:
        held = sums_of(backend, several.weights, parts, len(several.limits))
    return Loads(
        weights=several.weights.ravel(),
        limits=backend.from_host(several.limits.ravel()),
        lower_limits=backend.from_host(several.lower_limits.ravel()),
        loads=held,
        factors=backend.from_host(several.factors),
        kinds=several.limits.shape[1],
    )
