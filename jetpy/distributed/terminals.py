"""Terminals of a graph in pieces: they replace fixed vertices, and homes pull vertices to them.

The graph is that of `jetpy.constraints.terminals`. The last process owns the terminals, because
they are the last vertices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from jetpy.constraints.home import new_numbers, weights_in_common
from jetpy.constraints.terminals import Terminals, check_total, edges_with_terminals, tally
from jetpy.device.divisor import common_divisor_on, divided_by
from jetpy.distributed.block import UploadedRows, upload_sums
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.faults import check_agreement, run_collectively
from jetpy.distributed.piece import Blocks
from jetpy.distributed.routing import ask_owners, send_to_owners
from jetpy.graph.csr import IntArray
from jetpy.graph.edges import Edges
from jetpy.problem.fixed import NO_PART, FixedVertices, check_fixed, checked_migration
from jetpy.problem.problem import Problem, in_units

PLACES = "fixed", "home", "together", "within"
"""Options that have a value for each vertex."""


@dataclass(frozen=True)
class Places:
    """Options that have a value for each owned vertex, as a caller passes them."""

    fixed: npt.ArrayLike | None = None
    home: npt.ArrayLike | None = None
    migration: float = 1.0
    together: npt.ArrayLike | None = None
    within: npt.ArrayLike | None = None

    def checked(self, blocks: Blocks, k: int) -> FixedVertices | None:
        """Return the checked places of owned vertices; None if no vertex has any. Collective.

        Raises
        ------
        OptionError
            As `check_fixed` does, or if only some processes pass an array.
        """
        comm, n = blocks.comm, blocks.end - blocks.first
        given = {name: _what(getattr(self, name)) for name in PLACES}
        check_agreement(comm, **given)
        own = run_collectively(
            comm,
            lambda: check_fixed(n, k, self.fixed, self.home, self.migration, blocks.first),
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
class WithTerminals:
    """The vertices of a process in a graph with terminals.

    Attributes
    ----------
    comm : Communicator
    terminals : Terminals
        Those of all processes, which are the last vertices of the graph.
    places : FixedVertices
        Of the vertices that this process owned before.
    weights : int, shape (n_owned,)
        Their weights.
    kinds : int64, shape (k,)
        `Problem.kinds` of the original problem.
    """

    comm: Communicator
    terminals: Terminals
    places: FixedVertices
    weights: IntArray
    kinds: npt.NDArray[np.int64]

    @property
    def home(self) -> IntArray | None:
        """Previous parts of the owned vertices, int32, -1 for none."""
        return None if self.places.home is None else self.start(self.places.home)

    def start(self, parts: IntArray) -> IntArray:
        """Return parts of the owned vertices, given those of the original graph's."""
        free: IntArray = parts[self.places.fixed == NO_PART].astype(np.int32)
        if self.comm.rank < self.comm.size - 1:
            return free
        return np.concatenate([free, self.terminals.parts])

    def without(self, parts: IntArray) -> IntArray:
        """Return parts of the original graph's owned vertices. Collective.

        Parts keep their numbers if possible.
        """
        places = self.places
        found = places.fixed.copy()
        free = found == NO_PART
        found[free] = parts[: int(free.sum())]
        if places.home is None:
            return found
        own = weights_in_common(found, places.home, self.weights, len(self.kinds))
        common: dict[tuple[int, int], int] = {}
        for of_process in self.comm.allgather_objects(own):
            for pair, weight in of_process.items():
                common[pair] = common.get(pair, 0) + weight
        return new_numbers(common, self.terminals.have_fixed, self.kinds)[found]


def replace_fixed(
    rows: UploadedRows, problem: Problem, places: FixedVertices
) -> tuple[list[UploadedRows], Problem, WithTerminals]:
    """Return the rows of the graph with terminals, in a list, its problem and vertices. Collective.

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
    heads = ask_owners(host, blocks, indices, lambda wanted: numbers[wanted - blocks.first])
    given = Edges(np.repeat(numbers, np.diff(indptr)), heads, edge_weights)
    edges = edges_with_terminals(given, numbers, weights, places, terminals, problem.unit)
    total = comm.totals(int(edges.weights.sum()))[0]
    run_collectively(comm, lambda: check_total(total))
    own_weights = weights[free].astype(np.int64)
    if comm.rank == comm.size - 1:
        own_weights = np.concatenate([own_weights, terminals.weights])
    new_blocks = Blocks.of(comm, len(own_weights))
    own_edges = Edges(*send_to_owners(host, new_blocks, *edges))
    own_rows = own_edges.rows(new_blocks.first, len(own_weights), terminals.n)
    made = upload_sums(rows.backend, new_blocks, own_rows, own_weights)
    vertices = WithTerminals(comm, terminals, places, weights, problem.kinds)
    return [made], terminals.pose(problem), vertices
