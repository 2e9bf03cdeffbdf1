"""Dual graphs of meshes whose elements are distributed over processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.device.backends import get_backend
from jetpy.distributed.api import communicator
from jetpy.distributed.block import Block, check_starts, integers, unit_weights
from jetpy.distributed.communicator import Communicator, starts_of
from jetpy.distributed.faults import check_agreement, collective_call, run_collectively
from jetpy.distributed.piece import Blocks
from jetpy.distributed.routing import even_ranges, send_to_owners
from jetpy.engines.base import Backend
from jetpy.errors import GraphError, OptionError
from jetpy.graph.checks import whole_number
from jetpy.graph.facets import cells_with_facet
from jetpy.meshes.cells import Block as Cells
from jetpy.meshes.dual import facets_by_size

Ids = npt.NDArray[np.int64]
MAX_NODE = 2**62 - 1
"""Maximum node id."""


@dataclass(frozen=True, eq=False)
class MeshBlock:
    """The elements of a mesh that this process owns: consecutive cells of the highest dimension.

    Attributes
    ----------
    eptr, eind : int64
        Element i has the corners ``eind[eptr[i]:eptr[i + 1]]``, ids of nodes as in the file.
    elmdist : int64, shape (processes + 1,)
        First element of each process.
    ids : int64, shape (owned,)
        Id of each element among all cells of the file, 0-based.
    cells : sequence of jetpy.meshes.cells.Block, or None
        The elements of each cell type, in the same order; None if the file has no types.
    """

    eptr: Ids
    eind: Ids
    elmdist: Ids
    ids: Ids
    cells: Sequence[Cells] | None = None


class Incidences(NamedTuple):
    """Pairs of a node and an element that has it: global ids, int64, sorted, each pair once."""

    nodes: Ids
    elements: Ids


def dual_graph(
    comm: Any,
    elements: Any,
    common_nodes: int | None = None,
    *,
    elmdist: npt.ArrayLike | None = None,
) -> Block:
    """Return this process's rows of the dual graph of a distributed mesh. Collective.

    Elements that share at least `common_nodes` nodes, or a facet, are neighbours. The rows are
    those of `jetpy.dual_graph` with the same `common_nodes` for the whole mesh, whatever the number
    of processes and their blocks. No process gathers the mesh: each gets the elements around the
    nodes of its own ones.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm or None
        The processes; None for a single process.
    elements : MeshBlock, or tuple of arrays
        From `read_mesh`, or (eptr, eind) of the owned elements, possibly none: element i has the
        nodes ``eind[eptr[i]:eptr[i + 1]]``, global ids from 0 on, in any order. Global ids of
        elements are consecutive from one rank to the next.
    common_nodes : int, optional
        The number of shared nodes, at least 1: 2 for triangles and quadrilaterals, 3 for
        tetrahedra, 4 for hexahedra. By default, neighbours share a facet; this requires elements
        with types, from `read_mesh`. All processes must pass the same number.
    elmdist : array of int, shape (processes + 1,), optional
        First element of each process; checked against the blocks.

    Returns
    -------
    Block
        For `partition`. The neighbours of each element ascend, and all weights are 1.

    Raises
    ------
    GraphError, OptionError
        In all processes, if an array or a number is wrong; the message names the lowest rank with
        an error.

    Examples
    --------
    >>> import jetpy.distributed
    >>> squares = [0, 4, 8], [0, 1, 4, 3, 1, 2, 5, 4]
    >>> jetpy.distributed.dual_graph(None, squares, 2).indices.tolist()
    [1, 0]
    """
    group = communicator(comm)
    with collective_call(group, "dual_graph"):
        least, eptr, eind = run_collectively(group, lambda: _checked_input(elements, common_nodes))
        check_agreement(group, common_nodes=least)
        blocks = Blocks.of(group, len(eptr) - 1)
        run_collectively(group, lambda: check_starts("elmdist", elmdist, blocks.starts))
        host = get_backend("cpu", 1)
        if least is None:
            return _rows_by_facet(host, blocks, elements.cells)
        pairs = incidences_of(eptr, eind, blocks.first)
        around = around_nodes(group, host, pairs, np.unique(pairs.nodes))
        return _rows_by_nodes(pairs, around, blocks, least)


def _checked_input(given: Any, common_nodes: int | None) -> tuple[int | None, Ids, Ids]:
    """Return the number of common nodes, None for facets, and eptr and eind of owned elements."""
    least = None if common_nodes is None else whole_number("common_nodes", common_nodes, 1)
    if isinstance(given, MeshBlock):
        if least is None and given.cells is None:
            raise OptionError("common_nodes is missing: the file has no types of elements")
        return least, given.eptr, given.eind
    if not isinstance(given, tuple) or len(given) != 2:
        raise GraphError("elements must be a tuple (eptr, eind) of two arrays")
    if least is None:
        raise OptionError("common_nodes is missing: eptr and eind have no types of elements")
    return least, *checked_elements(*given)


def checked_elements(eptr: Any, eind: Any) -> tuple[Ids, Ids]:
    """Return eptr and eind as int64, for node ids from 0 on.

    Raises
    ------
    GraphError
        If eptr does not fit eind, or a node is negative; the message names the element.
    """
    offsets, nodes = (integers(values, name) for values, name in ((eptr, "eptr"), (eind, "eind")))
    ends = offsets[:1].tolist(), offsets[-1:].tolist()
    if ends != ([0], [len(nodes)]) or (np.diff(offsets) < 0).any():
        raise GraphError(
            f"eptr must begin with 0, must not decrease, and must end with {len(nodes)}, the "
            "length of eind"
        )
    wrong = (nodes < 0) | (nodes > MAX_NODE)
    if wrong.any():
        at = int(wrong.argmax())
        element = int(np.searchsorted(offsets, at, "right")) - 1
        raise GraphError(
            f"eind[{at}], in row {element}, is {nodes[at]}; nodes must be in 0..{MAX_NODE}"
        )
    return offsets.astype(np.int64), nodes.astype(np.int64)


def incidences_of(eptr: Ids, eind: Ids, first: int) -> Incidences:
    """Return the incidences of elements whose global ids begin with `first`."""
    elements = np.repeat(np.arange(first, first + len(eptr) - 1, dtype=np.int64), np.diff(eptr))
    return Incidences(*_sorted_once(eind, elements))


def _sorted_once(major: Ids, minor: Ids) -> tuple[Ids, Ids]:
    """Return pairs sorted by their first numbers, then by the second ones, each once."""
    order = np.lexsort((minor, major))
    major, minor = major[order], minor[order]
    is_new = np.ones(len(major), bool)
    is_new[1:] = (np.diff(major) > 0) | (np.diff(minor) > 0)
    return major[is_new], minor[is_new]


def around_nodes(comm: Communicator, host: Backend, own: Incidences, asked: Ids) -> Incidences:
    """Return the incidences of all processes for some nodes (ascending, distinct). Collective.

    Each node has an owner: a range of node ids per process. The owners collect all pairs, and
    return those of each node to every process that asks for it.
    """
    owners = even_ranges(comm, own.nodes)
    nodes, elements = send_to_owners(host, owners, own.nodes, own.elements)
    pairs = Incidences(*_sorted_once(nodes, elements))
    starts = owners.starts
    asked = asked[asked < starts[-1]]  # no element has larger ones
    sent = np.diff(np.searchsorted(asked, starts)).astype(np.int64)
    nodes, received = comm.send(host, asked, sent)
    lists = [_places(pairs.nodes, of_rank) for of_rank in np.split(nodes, np.cumsum(received)[:-1])]
    places, replied = np.concatenate(lists), np.array([*map(len, lists)], np.int64)
    nodes, returned = comm.send(host, pairs.nodes[places], replied)
    elements = comm.exchange(host, pairs.elements[places], replied, returned)
    return Incidences(nodes, elements)


def _places(values: Ids, listed: Ids) -> Ids:
    """Return the indices of `values` (ascending) that are among `listed` (ascending, distinct)."""
    first, last = (np.searchsorted(values, listed, side) for side in ("left", "right"))
    counts = last - first
    return np.repeat(first - starts_of(counts)[:-1], counts) + np.arange(counts.sum())


def _rows_by_nodes(own: Incidences, around: Incidences, blocks: Blocks, least: int) -> Block:
    """Return the rows of owned elements, which share `least` nodes with their neighbours."""
    count = blocks.end - blocks.first
    rows, heads, shared = count_shared(own, around, blocks.first, count)
    kept = (shared >= least) & (heads != rows + blocks.first)
    return _block_of(rows[kept], heads[kept], count)


def count_shared(own: Incidences, around: Incidences, first: int, count: int) -> tuple[Ids, ...]:
    """Return pairs that share nodes: a row of `own`, an element `around`, and how many they share.

    The rows are the `count` cells of `own` from `first` on. Pairs ascend.
    """
    listed, others = np.unique(own.nodes), np.unique(around.elements)
    nodes_of_own = _incidence_matrix(
        own.elements - first, np.searchsorted(listed, own.nodes), (count, len(listed))
    )
    elements_of_nodes = _incidence_matrix(
        np.searchsorted(listed, around.nodes),
        np.searchsorted(others, around.elements),
        (len(listed), len(others)),
    )
    shared = (nodes_of_own @ elements_of_nodes).tocsr()
    shared.sort_indices()
    rows = np.repeat(np.arange(count), np.diff(shared.indptr))
    return rows, others[shared.indices], shared.data


def _rows_by_facet(host: Backend, blocks: Blocks, cells: Sequence[Cells]) -> Block:
    """Return the rows of owned elements, which share a facet with their neighbours. Collective.

    The owner of the least node of a facet finds the elements that have it.
    """
    comm, first = blocks.comm, blocks.first
    numbered = []
    for own in cells:
        numbered.append(replace(own, numbers=np.arange(first, first + len(own.numbers))))
        first += len(own.numbers)
    facets = facets_by_size(numbered)
    tails, heads = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for size in sorted(set().union(*comm.allgather_objects(set(facets)))):
        nodes, elements = facets.get(size, (np.zeros((0, size), np.int64), np.zeros(0, np.int64)))
        least = nodes[:, 0]
        owners = even_ranges(comm, least)
        *columns, elements = send_to_owners(host, owners, least, *nodes.T[1:], elements)
        u, v = run_collectively(comm, partial(cells_with_facet, np.column_stack(columns), elements))
        tails += [u[u != v], v[u != v]]
        heads += [v[u != v], u[u != v]]
    rows, others = send_to_owners(host, blocks, np.concatenate(tails), np.concatenate(heads))
    rows, others = _sorted_once(rows, others)
    return _block_of(rows - blocks.first, others, blocks.end - blocks.first)


def _block_of(rows: Ids, neighbours: Ids, count: int) -> Block:
    """Return the block of `count` rows with these entries, ascending."""
    indptr = starts_of(np.bincount(rows, minlength=count))
    return Block(indptr, neighbours, unit_weights(int(indptr[-1])), unit_weights(count))


def _incidence_matrix(rows: Ids, columns: Ids, shape: tuple[int, int]) -> Any:
    """Return a sparse matrix of ones, int32."""
    return sp.csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=shape)
