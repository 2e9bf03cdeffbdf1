"""Dual graphs of meshes whose elements are distributed over processes."""

from __future__ import annotations

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
from jetpy.distributed.routing import even_ranges
from jetpy.engines.base import Backend
from jetpy.errors import GraphError
from jetpy.graph.checks import whole_number

Ids = npt.NDArray[np.int64]
MAX_NODE = 2**62 - 1
"""Maximum node id."""


class Incidences(NamedTuple):
    """Pairs of a node and an element that has it: global ids, int64, sorted, each pair once."""

    nodes: Ids
    elements: Ids


def dual_graph(
    comm: Any, elements: Any, common_nodes: int, *, elmdist: npt.ArrayLike | None = None
) -> Block:
    """Return this process's rows of the dual graph of a distributed mesh. Collective.

    Elements that share at least `common_nodes` nodes are neighbours. The rows are those of
    `jetpy.dual_graph` with the same `common_nodes` for the whole mesh, whatever the number of
    processes and their blocks. No process gathers the mesh: each gets the elements around the nodes
    of its own ones.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm or None
        The processes; None for a single process.
    elements : tuple of arrays
        (eptr, eind) of the owned elements, possibly none: element i has the nodes
        ``eind[eptr[i]:eptr[i + 1]]``, global ids from 0 on, in any order. Global ids of elements
        are consecutive from one rank to the next.
    common_nodes : int
        The number of shared nodes, at least 1: 2 for triangles and quadrilaterals, 3 for
        tetrahedra, 4 for hexahedra. All processes must pass the same number.
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
        least, pairs, blocks = _checked_input(group, elements, common_nodes, elmdist)
        host = get_backend("cpu", 1)
        around = _around_nodes(group, host, pairs)
        return _rows(pairs, around, blocks, least)


def _checked_input(
    comm: Communicator, given: Any, common_nodes: int, elmdist: npt.ArrayLike | None
) -> tuple[int, Incidences, Blocks]:
    """Return the number of common nodes, the incidences of owned elements, and all blocks."""

    def check() -> tuple[int, Ids, Ids]:
        least = whole_number("common_nodes", common_nodes, 1)
        if not isinstance(given, tuple) or len(given) != 2:
            raise GraphError("elements must be a tuple (eptr, eind) of two arrays")
        eptr, eind = checked_elements(*given)
        return least, np.diff(eptr), eind

    least, sizes, nodes = run_collectively(comm, check)
    check_agreement(comm, common_nodes=least)
    blocks = Blocks.of(comm, len(sizes))
    run_collectively(comm, lambda: check_starts("elmdist", elmdist, blocks.starts))
    elements = np.repeat(np.arange(blocks.first, blocks.end, dtype=np.int64), sizes)
    return least, _sorted_once(nodes, elements), blocks


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


def _sorted_once(nodes: Ids, elements: Ids) -> Incidences:
    """Return pairs sorted by node, then by element, each once."""
    order = np.lexsort((elements, nodes))
    nodes, elements = nodes[order], elements[order]
    is_new = np.ones(len(nodes), bool)
    is_new[1:] = (np.diff(nodes) > 0) | (np.diff(elements) > 0)
    return Incidences(nodes[is_new], elements[is_new])


def _around_nodes(comm: Communicator, host: Backend, own: Incidences) -> Incidences:
    """Return all incidences of the nodes of owned elements. Collective.

    Each node has an owner: a range of node ids per process. The owners collect all pairs, and
    return those of each node to every process that sent the node.
    """
    starts = even_ranges(comm, own.nodes).starts
    sent = np.diff(np.searchsorted(own.nodes, starts)).astype(np.int64)
    nodes, received = comm.send(host, own.nodes, sent)
    elements = comm.exchange(host, own.elements, sent, received)
    collected = _sorted_once(nodes, elements)
    lists, replied = [], np.zeros(comm.size, np.int64)
    for rank, of_rank in enumerate(np.split(nodes, np.cumsum(received)[:-1])):
        lists.append(_places(collected.nodes, np.unique(of_rank)))
        replied[rank] = len(lists[-1])
    places = np.concatenate(lists)
    nodes, returned = comm.send(host, collected.nodes[places], replied)
    elements = comm.exchange(host, collected.elements[places], replied, returned)
    return Incidences(nodes, elements)


def _places(values: Ids, listed: Ids) -> Ids:
    """Return the indices of `values` (ascending) that are among `listed` (ascending, distinct)."""
    first, last = (np.searchsorted(values, listed, side) for side in ("left", "right"))
    counts = last - first
    return np.repeat(first - starts_of(counts)[:-1], counts) + np.arange(counts.sum())


def _rows(own: Incidences, around: Incidences, blocks: Blocks, least: int) -> Block:
    """Return the rows of owned elements, which share `least` nodes with their neighbours."""
    listed, others = np.unique(own.nodes), np.unique(around.elements)
    count = blocks.end - blocks.first
    nodes_of_own = _incidence_matrix(
        own.elements - blocks.first, np.searchsorted(listed, own.nodes), (count, len(listed))
    )
    elements_of_nodes = _incidence_matrix(
        np.searchsorted(listed, around.nodes),
        np.searchsorted(others, around.elements),
        (len(listed), len(others)),
    )
    shared = (nodes_of_own @ elements_of_nodes).tocsr()
    shared.sort_indices()
    rows = np.repeat(np.arange(count), np.diff(shared.indptr))
    heads = others[shared.indices]
    kept = (shared.data >= least) & (heads != rows + blocks.first)
    indptr = starts_of(np.bincount(rows[kept], minlength=count))
    return Block(indptr, heads[kept], unit_weights(int(indptr[-1])), unit_weights(count))


def _incidence_matrix(rows: Ids, columns: Ids, shape: tuple[int, int]) -> Any:
    """Return a sparse matrix of ones, int32."""
    return sp.csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=shape)
