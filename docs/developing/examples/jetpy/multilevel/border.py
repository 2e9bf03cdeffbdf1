"""Border weight of a part: weight of its vertices with a neighbour in another part."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.workloads.multilevel import border as kernels


def border_weights(
    backend: Backend, graph: DeviceGraph, parts: Array, k: int
) -> npt.NDArray[np.int64]:
    """Return the border weight of each part.

    Parameters
    ----------
    backend : Backend
    graph : DeviceGraph
    parts : int32, shape (n,), on the back end
    k : int

    Returns
    -------
    int64, shape (k,)
    """
    weights = backend.full(k, 0, backend.sum_type)
    backend.parallel_for(
        graph.n, kernels.weigh_border, graph=graph, parts=parts, weights=weights
    )
    return backend.to_host(weights).astype(np.int64)
