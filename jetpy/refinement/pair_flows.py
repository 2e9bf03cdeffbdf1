"""What the two ways to improve the pairs of a turn share: a level, and its processes."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.device.processes import ALONE, Processes
from jetpy.engines.base import Array, Backend
from jetpy.refinement.cut_edges import CutPairs
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.common.loads import Loads
from jetpy.workloads.flows.regions import Pair, Regions


class PairFlows(ABC):
    """Improves pairs of parts of a level by flows.

    Parameters
    ----------
    backend, graph
        A level on its back end.
    k : int
    max_hops : int
        Maximum distance of a region from the cut.
    places : int32, shape (n,)
        `OUTSIDE`, or `KEPT_OUTSIDE` for vertices that are in no region.
    processes : Processes
        Those that share the pairs of a turn. All have the level as a whole, or what their pairs
        need of it.
    several : Loads or None
        Several weights of vertices and parts, on the host. Flows keep their limits, and update the
        loads of the parts that this process improves.
    """

    _parts: Array

    def __init__(
        self,
        backend: Backend,
        graph: DeviceGraph,
        k: int,
        max_hops: int,
        places: Array,
        processes: Processes = ALONE,
        several: Loads | None = None,
    ) -> None:
        self.backend, self.graph, self._processes = backend, graph, processes
        self._k, self._max_hops, self._places = k, max_hops, places
        self._several = no_loads(backend.host) if several is None else several

    @abstractmethod
    def begin_sweep(self, parts: Array) -> CutPairs:
        """Return the adjacent pairs of a partition; `improve` changes its `parts` in place."""

    def begin_turns(self, turns: list[npt.NDArray[np.int64]]) -> None:  # noqa: B027
        """Prepare for the pairs of a sweep, given their indices, turn by turn."""

    @abstractmethod
    def improve(
        self, rows: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Improve pairs that have no part in common, all in parallel. Collective.

        Parameters
        ----------
        rows : int64, shape (count, Pair.COUNT)
            Their limits, those of the pairs of this process only.
        chosen : int64, shape (count,)
            Their indices among the pairs of the sweep.

        Returns
        -------
        int64, shape (pairs, Pair.COUNT)
            The updated rows, those of all processes.
        """

    def _with_others(
        self, rows: npt.NDArray[np.int64], regions: Regions, new_parts: Array
    ) -> npt.NDArray[np.int64]:
        """Return the rows of the pairs of all processes, and exchange the parts of moved vertices.

        The arguments are those of the pairs of this process, on the host.
        """
        processes, backend = self._processes, self.backend
        if processes is ALONE:
            return rows
        host, moved = backend.host, moved_vertices(rows, regions, new_parts)
        everywhere = host.to_host(processes.gather(host, rows.ravel()))
        processes.publish(backend, self._parts, backend.from_host(moved))
        return everywhere.reshape(-1, Pair.COUNT)


def no_loads(host: Backend) -> Loads:
    """Return no further weights, on the host."""
    nothing = host.empty(0, np.int64)
    return Loads(host.empty(0), nothing, nothing, nothing, nothing, kinds=0)


def moved_vertices(rows: npt.NDArray[np.int64], regions: Regions, new_parts: Array) -> Array:
    """Return the vertices of the regions of some pairs that have new parts."""
    first, size = rows[:, Pair.FIRST], rows[:, Pair.SIZE]
    places = np.repeat(first - np.cumsum(size) + size, size) + np.arange(size.sum())
    return regions.order[places[new_parts[places] != NO_PART]]
