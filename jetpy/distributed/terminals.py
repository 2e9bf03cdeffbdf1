"""Terminals of a graph in pieces: they replace fixed vertices, and homes pull vertices to them.

The graph is that of `jetpy.constraints.terminals`. The last process owns the terminals, because
they are the last vertices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from jetpy.constraints.home import fixed_parts, new_numbers, weights_in_common
from jetpy.constraints.terminals import Edges, Terminals, check_total, edges_with_terminals, tally
from jetpy.device.divisor import common_divisor_on, divided_by
from jetpy.distributed.block import UploadedRows
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.faults import check_agreement, run_collectively
from jetpy.distributed.piece import Blocks
from jetpy.engines.base import Backend
from jetpy.graph.csr import IntArray, is_large
from jetpy.kernel_language import Width
from jetpy.problem.fixed import NO_PART, FixedVertices, check_fixed, checked_migration
from jetpy.problem.problem import Problem, in_units


@dataclass(frozen=True)
class Places:
    """The fixed and home parts of owned vertices, as a caller passes them; None for none."""

    fixed: npt.ArrayLike | None = None
    home: npt.ArrayLike | None = None
    migration: float = 1.0

    def checked(self, blocks: Blocks, k: int) -> FixedVertices | None:
        """Return the checked places of owned vertices; None if no vertex has any. Collective.

        Raises
        ------
        OptionError
            As `check_fixed` does, or if only some processes pass `fixed` or `home`.
        """
        comm, n = blocks.comm, blocks.end - blocks.first
        check_agreement(comm, fixed=_what(self.fixed), home=_what(self.home))
        own = run_collectively(
            comm, lambda: check_fixed(n, k, self.fixed, self.home, self.migration)
        )
        check_agreement(comm, migration=self.migration)
        has_home = own is not None and own.home is not None
        some, homes = comm.totals(own is not None, has_home)
        if not some:
            return None
        nowhere = np.full(n, NO_PART, np.int32)
        own = own or FixedVertices(nowhere, None, checked_migration(self.migration))
        return replace(own, home=nowhere) if homes and not has_home else own


def _what(given: npt.ArrayLike | None) -> str:
    """Describe an argument that each process passes for its own vertices."""
    return "nothing" if given is None else "an array"


@dataclass(frozen=True, eq=False)
class TerminalRows:
    """The rows of a process in a graph with terminals.

    Attributes
    ----------
    rows : UploadedRows
    problem : Problem
    parts : int32, shape (terminals,)
        Parts of all terminals, which are the last vertices of the graph.
    places : FixedVertices
        Of the vertices that this process owned before.
    weights : int, shape (n_owned,)
        Their weights.
    kinds : int64, shape (k,)
        `Problem.kinds` of the original problem.
    """

    rows: UploadedRows
    problem: Problem
    parts: IntArray
    places: FixedVertices
    weights: IntArray
    kinds: npt.NDArray[np.int64]

    @property
    def home(self) -> IntArray | None:
        """Previous parts of the owned vertices, int32, -1 for none."""
        return None if self.places.home is None else self.start(self.places.home)

    def start(self, parts: IntArray) -> IntArray:
        """Return parts of the owned vertices, given those of the original graph's."""
        free = parts[self.places.fixed == NO_PART]
        terminals = len(self.rows.vertex_weights) - len(free)
        return np.concatenate([free, self.parts[:terminals]]).astype(np.int32)

    def without(self, parts: IntArray) -> IntArray:
        """Return parts of the original graph's owned vertices. Collective.

        Parts keep their numbers if possible.
        """
        places, comm, k = self.places, self.rows.blocks.comm, len(self.kinds)
        found = places.fixed.copy()
        free = found == NO_PART
        found[free] = parts[: int(free.sum())]
        if places.home is None:
            return found
        own = weights_in_common(found, places.home, self.weights, k)
        common: dict[tuple[int, int], int] = {}
        for of_process in comm.allgather_objects(own):
            for pair, weight in of_process.items():
                common[pair] = common.get(pair, 0) + weight
        has_fixed = np.logical_or.reduce(comm.allgather_objects(fixed_parts(places, k)))
        return new_numbers(common, has_fixed, self.kinds)[found]


def replace_fixed(rows: UploadedRows, problem: Problem, places: FixedVertices) -> TerminalRows:
    """Return the rows of the graph with terminals, and its problem. Collective.

    Raises
    ------
    OptionError
        If cut and migration together may exceed 2**46.
    """
    host, blocks, k = rows.backend.host, rows.blocks, problem.k
    comm, fixed = blocks.comm, places.fixed
    unit = common_divisor_on(rows.backend, rows.vertex_weights, comm.allgather_objects)
    problem = in_units(problem, unit, rows.global_n)
    weights = rows.backend.to_host(divided_by(rows.backend, rows.vertex_weights, unit))
    indptr, indices, edge_weights = map(
        rows.backend.to_host, (rows.indptr, rows.indices, rows.edge_weights)
    )
    free = fixed == NO_PART
    counts = comm.allgather_objects(int(free.sum()))
    tallies = np.sum(comm.allgather_objects(tally(places, weights, k)), axis=0)
    terminals = Terminals.of(sum(counts), tallies)
    numbers = terminals.numbers(fixed, sum(counts[: comm.rank]))
    heads = _numbers_of(host, blocks, indices, numbers)
    given = Edges(np.repeat(numbers, np.diff(indptr)), heads, edge_weights)
    edges = edges_with_terminals(given, numbers, weights, places, terminals, problem.unit)
    total = comm.totals(int(edges.weights.sum()))[0]
    run_collectively(comm, lambda: check_total(total))
    own_weights = weights[free].astype(np.int64)
    if comm.rank == comm.size - 1:
        own_weights = np.concatenate([own_weights, terminals.weights])
    new_blocks = Blocks.of(comm, len(own_weights))
    own_edges = _at_owners(comm, host, edges, terminals.first)
    own_rows = own_edges.rows(new_blocks.first, len(own_weights), terminals.n)
    made = _uploaded(rows.backend, new_blocks, own_rows, own_weights)
    posed = terminals.pose(problem)
    return TerminalRows(made, posed, terminals.parts, places, weights, problem.kinds)


def _numbers_of(host: Backend, blocks: Blocks, vertices: IntArray, own: IntArray) -> IntArray:
    """Return the numbers (int32) of vertices, given those of owned vertices. Collective."""
    comm = blocks.comm
    listed, places = np.unique(vertices, return_inverse=True)
    asked = np.diff(np.searchsorted(listed, blocks.starts)).astype(np.int64)
    wanted, counts = comm.send(host, listed, asked)
    numbers: IntArray = comm.exchange(host, own[wanted - blocks.first], counts, asked)
    return numbers[places]


def _at_owners(comm: Communicator, host: Backend, edges: Edges, first_terminal: int) -> Edges:
    """Send the edges of terminals to the last process, which owns them. Collective."""
    is_far = (edges.tails >= first_terminal) & (comm.rank < comm.size - 1)
    sent = np.zeros(comm.size, np.int64)
    sent[-1] = is_far.sum()
    received = comm.alltoall(sent)

    def moved(values: IntArray) -> IntArray:
        far = comm.exchange(host, values[is_far], sent, received)
        return np.concatenate([values[~is_far], far])

    return Edges(*map(moved, edges))


def _uploaded(
    backend: Backend,
    blocks: Blocks,
    rows: tuple[IntArray, IntArray, npt.NDArray[np.int64]],
    vertex_weights: npt.NDArray[np.int64],
) -> UploadedRows:
    """Upload rows to the back end whose kernels are wide enough. Collective."""
    indptr, indices, edge_weights = rows
    sums = int(vertex_weights.sum()), int(edge_weights.sum()), len(indices)
    totals = blocks.comm.totals(*sums)
    suited = backend.with_width(Width.WIDE) if is_large(*totals) else backend
    kind = suited.sum_type
    return UploadedRows(
        suited,
        suited.from_host(indptr.astype(kind)),
        suited.from_host(indices.astype(np.int32)),
        suited.from_host(edge_weights.astype(kind)),
        blocks.n,
        blocks.first,
        suited.from_host(vertex_weights.astype(kind)),
        blocks,
        *totals,
    )
