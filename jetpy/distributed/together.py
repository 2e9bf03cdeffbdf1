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
from jetpy.distributed.routing import ask_owners, even_ranges, send_to_owners
from jetpy.engines.base import Backend
from jetpy.graph.csr import IntArray
from jetpy.graph.edges import Edges
from jetpy.problem.fixed import NO_PART, FixedVertices
from jetpy.problem.problem import Problem
from jetpy.problem.together import NO_GROUP, checked_names, fixed_apart, heaviest_parts, too_heavy

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DistributedGroups:
    """The groups of several processes, each contracted to a coarse vertex.

    Attributes
    ----------
    host : Backend
    blocks : Blocks
        The coarse vertices of each process.
    coarse_of : int64, shape (n_owned,)
        Coarse vertex of each vertex that this process owned before.
    weights : int, shape (n_owned,)
        Weights of these vertices.
    sizes, names, sums : int64, shape (coarse n_owned,)
        Number of vertices, group and weight of each owned coarse vertex.
    """

    host: Backend
    blocks: Blocks
    coarse_of: Ids
    weights: IntArray
    sizes: Ids
    names: Ids
    sums: Ids

    def common_parts(self, parts: IntArray) -> IntArray:
        """Return the part with most weight of each owned coarse vertex, int32. Collective.

        `parts` are those of the vertices owned before; part -1 counts for none. Ties go to the
        lowest part.
        """
        blocks, placed = self.blocks, parts != NO_PART
        coarse, own, held = send_to_owners(
            self.host,
            blocks,
            self.coarse_of[placed],
            parts[placed].astype(np.int64),
            self.weights[placed].astype(np.int64),
        )
        return heaviest_parts(coarse - blocks.first, own, held, blocks.end - blocks.first)

    def expanded(self, parts: IntArray) -> IntArray:
        """Return the parts of the vertices owned before, given those of coarse ones. Collective."""
        first = self.blocks.first
        return ask_owners(
            self.host, self.blocks, self.coarse_of, lambda wanted: parts[wanted - first]
        )

    def of_places(self, places: FixedVertices) -> FixedVertices:
        """Return the fixed and home parts of owned coarse vertices. Collective.

        `places` are those of the vertices owned before.
        """
        home = None if places.home is None else self.common_parts(places.home)
        return FixedVertices(self.common_parts(places.fixed), home, places.migration)

    def check_weights(self, problem: Problem, of_groups: FixedVertices | None) -> None:
        """Refuse groups that weigh more than every part may; fixed ones may. Collective.

        Raises
        ------
        OptionError
            If there is such a group.
        """
        most = int(problem.limits.max())
        heavy = (self.sums > most) & (self.sizes > 1)
        if of_groups is not None:
            heavy &= of_groups.fixed == NO_PART
        own = list(zip(self.names[heavy].tolist(), self.sums[heavy].tolist(), strict=True))
        wrong = [group for part in self.blocks.comm.allgather_objects(own) for group in part]
        if wrong:
            raise agreed(too_heavy([name for name, _ in wrong], wrong[0][1], most))

    def check_fixed(self, places: FixedVertices, of_groups: FixedVertices, names: Ids) -> None:
        """Refuse groups with members fixed in different parts. Collective.

        `places` and `names` are those of the vertices owned before.

        Raises
        ------
        OptionError
            If there is such a group.
        """
        parts = self.expanded(of_groups.fixed)
        apart = (places.fixed != NO_PART) & (places.fixed != parts)

        def check() -> None:
            if apart.any():
                v = int(apart.argmax())
                raise fixed_apart(names[v], parts[v], places.fixed[v])

        run_collectively(self.blocks.comm, check)


def group_names(blocks: Blocks, together: npt.ArrayLike | None) -> Ids | None:
    """Return the checked group of each owned vertex, -1 for none; None if no vertex has one.

    Collective.

    Raises
    ------
    OptionError
        As `checked_names` does.
    """
    n = blocks.end - blocks.first
    names = run_collectively(blocks.comm, lambda: checked_names(together, n, blocks.first))
    has_groups = names is not None and bool((names != NO_GROUP).any())
    if names is None or not blocks.comm.totals(has_groups)[0]:
        return None
    return names.astype(np.int64)


def contract_groups(rows: UploadedRows, names: Ids) -> tuple[UploadedRows, DistributedGroups]:
    """Return the rows in which each group is one vertex, and the groups. Collective."""
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
    of_owned = coarse_of, weights, sizes, names[is_leader], sums
    return made, DistributedGroups(host, coarse, *of_owned)


def _first_members(host: Backend, blocks: Blocks, names: Ids) -> Ids:
    """Return the first vertex of the group of each owned vertex, itself if it has none."""
    own = np.arange(blocks.first, blocks.end)
    in_group = names != NO_GROUP
    of_names = even_ranges(blocks.comm, names)
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
