"""Groups of vertices of several processes, contracted before anything else.

The graph is that of `jetpy.constraints.together`. The process with the first vertex of a group
owns the coarse vertex.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.distributed.block import UploadedRows, upload_sums
from jetpy.distributed.faults import agreed, run_collectively
from jetpy.distributed.piece import Blocks
from jetpy.distributed.routing import ask_owners, send_to_owners
from jetpy.engines.base import Backend
from jetpy.errors import OptionError
from jetpy.graph.csr import IntArray
from jetpy.graph.edges import Edges
from jetpy.problem.fixed import NO_PART, FixedVertices
from jetpy.problem.problem import Problem
from jetpy.problem.together import NO_GROUP, checked_names, heaviest_parts, too_heavy

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """The rows of a process in a graph in which each group is one vertex.

    Attributes
    ----------
    rows : UploadedRows
    coarse_of : int64, shape (n_owned,)
        Coarse vertex of each vertex that this process owned before.
    weights : int, shape (n_owned,)
        Weights of these vertices.
    sizes, names : int64, shape (coarse n_owned,)
        Number of vertices and group of each owned coarse vertex.
    """

    rows: UploadedRows
    coarse_of: Ids
    weights: IntArray
    sizes: Ids
    names: Ids

    def common_parts(self, parts: IntArray) -> IntArray:
        """Return the part with most weight of each owned coarse vertex, int32. Collective.

        `parts` are those of the vertices owned before; part -1 counts for none. Ties go to the
        lowest part.
        """
        blocks, placed = self.rows.blocks, parts != NO_PART
        coarse, own, held = send_to_owners(
            self.rows.backend.host,
            blocks,
            self.coarse_of[placed],
            parts[placed].astype(np.int64),
            self.weights[placed].astype(np.int64),
        )
        return heaviest_parts(coarse - blocks.first, own, held, blocks.end - blocks.first)

    def expanded(self, parts: IntArray) -> IntArray:
        """Return the parts of the vertices owned before, given those of coarse ones. Collective."""
        host, blocks = self.rows.backend.host, self.rows.blocks
        return ask_owners(host, blocks, self.coarse_of, lambda wanted: parts[wanted - blocks.first])

    def of_places(self, places: FixedVertices, names: Ids, problem: Problem) -> FixedVertices:
        """Return the fixed and home parts of owned coarse vertices. Collective.

        `places` and `names` are those of the vertices owned before.

        Raises
        ------
        OptionError
            If a group is too heavy, or members of it are fixed in different parts.
        """
        fixed = self.common_parts(places.fixed)
        self.check_weights(problem, fixed)
        of_group = self.expanded(fixed)
        apart = (places.fixed != NO_PART) & (places.fixed != of_group)

        def check() -> None:
            if apart.any():
                v = int(apart.argmax())
                raise OptionError(
                    f"group {names[v]} of together has vertices fixed in parts {of_group[v]} and "
                    f"{places.fixed[v]}; fix all in one part"
                )

        run_collectively(self.rows.blocks.comm, check)
        home = None if places.home is None else self.common_parts(places.home)
        return FixedVertices(fixed, home, places.migration)

    def check_weights(self, problem: Problem, fixed: IntArray | None = None) -> None:
        """Refuse groups that weigh more than every part may; `fixed` ones may. Collective.

        Raises
        ------
        OptionError
            If there is such a group.
        """
        most = int(problem.limits.max())
        weights = self.rows.backend.to_host(self.rows.vertex_weights)
        heavy = (weights > most) & (self.sizes > 1)
        if fixed is not None:
            heavy &= fixed == NO_PART
        own = list(zip(self.names[heavy].tolist(), weights[heavy].tolist(), strict=True))
        wrong = [group for part in self.rows.blocks.comm.allgather_objects(own) for group in part]
        if wrong:
            raise agreed(too_heavy([name for name, _ in wrong], wrong[0][1], most))


def group_names(blocks: Blocks, together: npt.ArrayLike | None) -> Ids | None:
    """Return the checked groups of owned vertices, -1 for none; None if there are none. Collective.

    Raises
    ------
    OptionError
        As `checked_names` does.
    """
    n = blocks.end - blocks.first
    names = run_collectively(blocks.comm, lambda: checked_names(together, n))
    has_groups = names is not None and bool((names != NO_GROUP).any())
    if names is None or not blocks.comm.totals(has_groups)[0]:
        return None
    return names.astype(np.int64)


def contract_groups(rows: UploadedRows, names: Ids) -> GroupedRows:
    """Return the rows of the graph in which each group is one vertex. Collective."""
    backend, blocks = rows.backend, rows.blocks
    host, comm = backend.host, blocks.comm
    own = np.arange(blocks.first, blocks.end)
    leaders = _first_members(host, blocks, names)
    is_leader = leaders == own
    coarse = Blocks.of(comm, int(is_leader.sum()))
    numbers = coarse.first + np.cumsum(is_leader) - 1

    coarse_of = ask_owners(host, blocks, leaders, lambda wanted: numbers[wanted - blocks.first])
    indptr, indices, edge_weights, weights = map(
        backend.to_host, (rows.indptr, rows.indices, rows.edge_weights, rows.vertex_weights)
    )
    heads = ask_owners(host, blocks, indices, lambda wanted: coarse_of[wanted - blocks.first])
    tails = np.repeat(coarse_of, np.diff(indptr))
    kept = tails != heads
    edges = Edges(
        *send_to_owners(host, coarse, tails[kept], heads[kept], edge_weights[kept].astype(np.int64))
    )
    members, held = send_to_owners(host, coarse, coarse_of, weights.astype(np.int64))
    count = coarse.end - coarse.first
    sums = np.zeros(count, np.int64)
    np.add.at(sums, members - coarse.first, held)
    made = upload_sums(backend, coarse, edges.rows(coarse.first, count, coarse.n), sums)
    sizes = np.bincount(members - coarse.first, minlength=count)
    return GroupedRows(made, coarse_of, weights, sizes, names[is_leader])


def _first_members(host: Backend, blocks: Blocks, names: Ids) -> Ids:
    """Return the first vertex of the group of each owned vertex, itself if it has none."""
    comm, own = blocks.comm, np.arange(blocks.first, blocks.end)
    in_group = names != NO_GROUP
    end = max(comm.allgather_objects(int(names.max(initial=-1)))) + 1
    bounds = np.array([end * rank // comm.size for rank in range(comm.size + 1)], np.int64)
    of_names = Blocks(comm, bounds)
    listed, first = np.unique(names[in_group], return_index=True)
    found, firsts = send_to_owners(host, of_names, listed, own[in_group][first])
    known, places = np.unique(found, return_inverse=True)
    least = np.full(len(known), blocks.n, np.int64)
    np.minimum.at(least, places, firsts)

    leaders = own.copy()
    leaders[in_group] = ask_owners(
        host, of_names, names[in_group], lambda wanted: least[np.searchsorted(known, wanted)]
    )
    return leaders
