"""Work on the whole graph: process 0 gathers it, and finds what a single process finds.

The other processes wait. Process 0 alone needs memory for the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jetpy.api.plans import Plan, Refinement, Solved, weights_of
from jetpy.distributed.arguments import CollectiveArguments
from jetpy.distributed.block import UploadedRows, unit_weights
from jetpy.distributed.communicator import Communicator, starts_of
from jetpy.distributed.faults import run_collectively
from jetpy.distributed.gathering import check_memory
from jetpy.distributed.piece import Blocks
from jetpy.distributed.routing import gather_on_root, scatter_from_root
from jetpy.distributed.run import Found, checked_parts, moved_of
from jetpy.distributed.terminals import Places
from jetpy.distributed.together import group_names
from jetpy.engines.base import Backend
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.graph.dlpack import on_host
from jetpy.graph.validate import Naming, checked_sizes
from jetpy.problem.metrics import communication_volume
from jetpy.progress import Progress

Values = npt.NDArray[Any]


class PartLimits(NamedTuple):
    """Ideal, maximum and minimum weights of parts, int64, shape (k,) or (k, c)."""

    ideals: npt.NDArray[np.int64]
    limits: npt.NDArray[np.int64]
    lower_limits: npt.NDArray[np.int64]


@dataclass(frozen=True)
class RootTask:
    """What process 0 does for options that need the whole graph.

    Attributes
    ----------
    places : Places
        Those of owned vertices.
    start : array of int, shape (n_owned,), or None
        Parts of owned vertices to refine; None: partition from scratch.
    """

    places: Places
    start: npt.ArrayLike | None = None

    def is_needed(self, comm: Communicator, arguments: CollectiveArguments) -> bool:
        """Return whether the options need the whole graph. Collective."""
        has_within = comm.totals(self.places.within is not None)[0] > 0
        return arguments.connected or arguments.objective != "cut" or has_within

    def run(
        self,
        rows: UploadedRows,
        blocks: Blocks,
        table: Values | None,
        sizes: Values | None,
        arguments: CollectiveArguments,
        progress: Progress,
    ) -> tuple[Found, PartLimits]:
        """Partition or refine the graph; the parts are those of owned vertices. Collective.

        Parameters
        ----------
        rows : UploadedRows
        blocks : Blocks
            Those of the rows, with a communicator for arrays on the host.
        table : int32, shape (n_owned, c), or None
            Several weights of each owned vertex, instead of those of the rows.
        sizes : int, shape (n_owned,), or None
            Sizes of owned vertices, if this process has any.
        arguments : CollectiveArguments
        progress : Progress

        Raises
        ------
        GraphError, OptionError, OutOfMemoryError
            As `jetpy.partition` or `jetpy.refine`, and `check_memory`.
        """
        comm, host, start = blocks.comm, rows.backend.host, None
        checked = self.places.checked(blocks, arguments.k)
        own = _given_rows(blocks, self.places)
        given = {
            name: None if array is None else gather_on_root(host, comm, array)
            for name, array in own.items()
        }
        if self.start is not None:
            parts = checked_parts(blocks, self.start, arguments.k)
            start = gather_on_root(host, comm, parts)
        check_memory(comm, rows.global_n, rows.global_nnz // 2, on_root=True)
        arrays = _gathered(rows, comm, table)
        all_sizes = None
        if arguments.objective != "cut" and comm.totals(sizes is not None)[0]:
            own_sizes = unit_weights(rows.n_owned) if sizes is None else sizes
            all_sizes = gather_on_root(host, comm, own_sizes.astype(np.int64))
        within = given.pop("within")
        asked = arguments.asked(self.places.migration, given)

        def solve() -> tuple[Found, PartLimits] | None:
            if comm.rank > 0:
                return None
            graph = _graph(*arrays)
            if all_sizes is not None:
                graph = replace(graph, vertex_sizes=checked_sizes(all_sizes, graph.n, Naming()))
            plan: Plan
            if start is not None:
                plan = Refinement.of(asked.request(graph, arguments.k), start)
            elif within is not None:
                plan = asked.within(graph, within)
            else:
                plan = asked.plan(graph)
            return _found(plan, plan.solve(rows.backend, progress))

        found, limits = _given_out(host, blocks, run_collectively(comm, solve))
        return found._replace(moved=moved_of(rows, found.parts, checked)), limits


def _given_rows(blocks: Blocks, places: Places) -> dict[str, Values | None]:
    """Return the checked options of owned vertices, None where none is given. Collective."""
    found: dict[str, Values | None] = {
        name: None if given is None else on_host(given).astype(np.int32)
        for name, given in (("fixed", places.fixed), ("home", places.home))
    }
    found["together"] = group_names(blocks, places.together)
    within = places.within
    found["within"] = None if within is None else checked_parts(blocks, within, INT32_MAX)
    return found


def _gathered(rows: UploadedRows, comm: Communicator, table: Values | None) -> list[Values]:
    """Return the arrays of the whole graph for `_graph`; they are empty on others. Collective."""
    backend, host = rows.backend, rows.backend.host
    columns = rows.indptr, rows.indices, rows.edge_weights, rows.vertex_weights
    indptr, *others = map(backend.to_host, columns)
    arrays = [np.diff(indptr), *others]
    if table is not None:
        arrays.append(table.ravel())
    whole = [gather_on_root(host, comm, array) for array in arrays]
    if table is not None:
        whole[-1] = whole[-1].reshape(-1, table.shape[1])
    return whole


def _graph(degrees: Values, *arrays: Values) -> Graph:
    """Return a graph, given the degrees of its vertices, and its arrays but `indptr`."""
    indptr: Values = starts_of(degrees)
    if indptr[-1] <= INT32_MAX:
        indptr = indptr.astype(np.int32)
    indices, edge_weights, weights, *table = (
        array.astype(np.int32, copy=False) for array in arrays
    )
    several = table[0] if table else None
    return Graph(indptr, indices, edge_weights, weights, constraint_weights=several)


def _found(plan: Plan, solved: Solved) -> tuple[Found, PartLimits]:
    """Return what process 0 has found for all vertices."""
    request, outcome = plan.request, solved.outcome
    graph, parts = request.graph, outcome.parts
    found = Found(
        parts,
        outcome.cut,
        solved.loads(weights_of(graph)),
        int((np.bincount(parts, minlength=solved.k) == 0).sum()),
        outcome.levels,
        None,
        outcome.generations,
        outcome.disconnected,
        communication_volume(graph, parts) if request.objective == "volume" else None,
    )
    return found, PartLimits(solved.ideals, solved.limits, solved.lower_limits)


def _given_out(
    host: Backend, blocks: Blocks, found: tuple[Found, PartLimits] | None
) -> tuple[Found, PartLimits]:
    """Return what process 0 has found, with the parts of owned vertices. Collective."""
    nothing = np.zeros(0, np.int32)
    own = scatter_from_root(host, blocks, nothing if found is None else found[0].parts)
    common = None if found is None else (found[0]._replace(parts=nothing), found[1])
    of_all, limits = blocks.comm.allgather_objects(common)[0]
    return of_all._replace(parts=own), limits
