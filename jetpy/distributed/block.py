"""Input of each process: the rows of a block of vertices, as in ParMETIS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import ones
from jetpy.device.row_checks import HASHES, Rows, to_int32
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.faults import agreed, run_collectively
from jetpy.distributed.piece import Blocks, Piece, localize, make_piece
from jetpy.distributed.routing import send_to_owners
from jetpy.engines.base import Array, Backend
from jetpy.errors import GraphError, OptionError
from jetpy.graph.csr import INT32_MAX, is_large
from jetpy.kernel_language import Width
from jetpy.workloads.common.row_checks import count_decreases
from jetpy.workloads.common.values import add_weights

IntArray = npt.NDArray[Any]
SLICE = 1 << 22
"""Number of edges that are checked at once."""
UPLOADED = 1 << 24
"""Number of 64-bit integers that are uploaded at once, before conversion to 32 bits."""
NAMES = "indptr", "indices", "edge_weights", "vertex_weights"
"""Names of the arrays of a block."""
SIZES = "vertex_sizes"


@dataclass(frozen=True, eq=False)
class Block:
    """The rows of a block of vertices; neighbours are global ids.

    Arrays are int32 or int64, as the caller passes them: the back end converts and checks their
    values (`upload_rows`).

    Attributes
    ----------
    indptr : shape (n_owned + 1,)
    indices, edge_weights : shape (indptr[-1],)
    vertex_weights : shape (n_owned,), or (n_owned, c) for several weights of each vertex
        If all weights are 1, either array of weights may be a read-only view of a single 1
        (`unit_weights`).
    vertex_sizes : shape (n_owned,), or None
        Amount of data that each vertex sends; only the communication volume depends on it.
    names : tuple of str
        Names of the four arrays in messages.
    """

    indptr: IntArray
    indices: IntArray
    edge_weights: IntArray
    vertex_weights: IntArray
    names: tuple[str, ...] = NAMES
    vertex_sizes: IntArray | None = None

    @property
    def n(self) -> int:
        """Number of vertices of the block."""
        return len(self.vertex_weights)

    @property
    def kinds(self) -> int:
        """Number of weights of each vertex."""
        return 1 if self.vertex_weights.ndim == 1 else self.vertex_weights.shape[1]


def as_block(given: Any, names: tuple[str, ...] = NAMES) -> Block:
    """Convert (indptr, indices[, edge_weights[, vertex_weights[, vertex_sizes]]]); None: ones.

    Vertex weights of shape (n_owned, 1) become (n_owned,).

    `names` are those of the arrays in messages.

    Raises
    ------
    GraphError
        If the arrays have the wrong types or lengths.
    """
    if isinstance(given, Block):
        return given
    if not isinstance(given, tuple) or not 2 <= len(given) <= 5:
        raise GraphError(
            f"the block is a {type(given).__name__}; it must be a tuple (indptr, indices[, "
            "edge_weights[, vertex_weights[, vertex_sizes]]]) of the owned vertices"
        )
    indptr, indices = integers(given[0], names[0]), integers(given[1], names[1])
    if (indptr[:1].tolist(), indptr[-1:].tolist()) != ([0], [len(indices)]):
        raise _wrong_indptr(len(indices), names)
    more = [*given[2:], None, None, None]
    edge_weights = checked_weights(more[0], len(indices), names[2])
    vertex_weights = checked_weights(more[1], len(indptr) - 1, names[3], may_be_several=True)
    sizes = None if more[2] is None else checked_weights(more[2], len(indptr) - 1, SIZES)
    return Block(indptr, indices, edge_weights, vertex_weights, names, sizes)


def _wrong_indptr(entries: int, names: tuple[str, ...]) -> GraphError:
    return GraphError(
        f"{names[0]} must begin with 0, must not decrease, and must end with {entries}, the length "
        f"of {names[1]}"
    )


def integers(values: Any, what: str) -> IntArray:
    """Return an array of int32 or int64, shape (n,); `what` names it in messages.

    Raises
    ------
    GraphError
        If the values are not a list or an array of integers. An empty list has no type.
    """
    array = _array(values)
    if array.ndim != 1 or (len(array) and array.dtype.kind not in "iu"):
        raise GraphError(
            f"{what} must be a one-dimensional array of integers, not {array.dtype} of shape "
            f"{array.shape}"
        )
    return _wide_enough(array)


def _array(values: Any) -> npt.NDArray[Any]:
    """Return values as an array; lists of different lengths have no dimensions."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.array(None)


def _wide_enough(array: npt.NDArray[Any]) -> IntArray:
    return array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)


def check_starts(name: str, given: npt.ArrayLike | None, starts: npt.NDArray[np.int64]) -> None:
    """Check that the first row of each process, if the caller gives it, matches the blocks.

    Raises
    ------
    GraphError
        If it does not; `name` is that of the argument.
    """
    if given is not None and not np.array_equal(integers(given, name), starts):
        raise GraphError(f"{name} does not match the blocks; it must be {starts.tolist()}")


def unit_weights(count: int) -> npt.NDArray[np.int32]:
    """Return a read-only array of `count` ones, which takes no memory."""
    return np.broadcast_to(np.int32(1), (count,))


def checked_weights(
    values: Any, count: int, what: str, *, may_be_several: bool = False
) -> IntArray:
    """Return `count` weights as `integers` does; None means ones.

    With `may_be_several`, there may be several weights in each row, shape (count, c).

    Raises
    ------
    GraphError
        If they are not integers, or another number of them; `what` names them.
    """
    if values is None:
        return unit_weights(count)
    table = _array(values)
    if may_be_several and table.ndim == 2 and table.shape[1] > 1:
        if len(table) and table.dtype.kind not in "iu":
            raise GraphError(f"{what} must be integers, not {table.dtype}")
        array = _wide_enough(table)
    else:
        is_column = may_be_several and table.ndim == 2 and table.shape[1] == 1
        array = integers(table[:, 0] if is_column else values, what)
    if len(array) != count:
        raise GraphError(f"{what} has {len(array)} entries; it must have {count}")
    return array


def with_common_weights(comm: Communicator, block: Block) -> Block:
    """Return the block with the number of weights of a vertex that other processes have.

    A process without vertices does not know it. Collective.

    Raises
    ------
    GraphError
        If the vertices of two processes have different numbers of weights.
    OptionError
        If one process passes weights, and another does not.
    """
    sizes = unit_weights(block.n) if block.vertex_sizes is None else block.vertex_sizes
    weights = block.edge_weights, block.vertex_weights, sizes
    _check_weights_of_all(comm, dict(zip((*block.names[2:], SIZES), weights, strict=True)))
    kinds = comm.allgather_objects(block.kinds if block.n else 0)
    known = [rank for rank, own in enumerate(kinds) if own]
    for rank in known[1:]:
        if kinds[rank] != kinds[known[0]]:
            raise agreed(
                GraphError(
                    f"the number of weights of each vertex is {kinds[rank]} in process {rank}, but "
                    f"{kinds[known[0]]} in process {known[0]}; all must have the same number"
                )
            )
    common = kinds[known[0]] if known else block.kinds
    if block.n or common == block.kinds:
        return block
    shape = (0,) if common == 1 else (0, common)
    return replace(block, vertex_weights=np.zeros(shape, np.int32))


def _check_weights_of_all(comm: Communicator, weights: Mapping[str, IntArray]) -> None:
    """Check that all processes pass weights, or that none does, for each name. Collective.

    A process without rows may do either.

    Raises
    ------
    OptionError
        If one passes them, and another does not.
    """
    own = [not _are_unit(values) if len(values) else None for values in weights.values()]
    of_all = zip(*comm.allgather_objects(own), strict=True)
    for name, are_given in zip(weights, of_all, strict=True):
        if {True, False} <= set(are_given):
            raise agreed(
                OptionError(
                    f"process {are_given.index(False)} passes no {name}, but process "
                    f"{are_given.index(True)} does; all processes must pass them, or none"
                )
            )


def _are_unit(weights: IntArray) -> bool:
    """Return whether weights are those of `unit_weights`."""
    return weights.strides == (0,) and weights[0] == 1


@dataclass(frozen=True, eq=False)
class UploadedRows(Rows):
    """The rows of a block on a back end.

    Attributes
    ----------
    vertex_weights : of the back end's `sum_type`
    blocks : Blocks
    vertex_weight, edge_weight, global_nnz : int
        Sums of the weights, and number of directed edges, of the whole graph.
    """

    vertex_weights: Array
    blocks: Blocks
    vertex_weight: int
    edge_weight: int
    global_nnz: int

    @property
    def global_n(self) -> int:
        """Number of vertices of the whole graph."""
        return self.blocks.n

    @property
    def global_size(self) -> int:
        """Number of vertices plus directed edges of the whole graph."""
        return self.global_n + self.global_nnz

    def with_width(self, width: Width) -> UploadedRows:
        """Return the rows for the back end with kernels of another width."""
        backend = self.backend.with_width(width)
        kind = backend.sum_type
        return replace(
            self,
            backend=backend,
            indptr=self.indptr.astype(kind, copy=False),
            edge_weights=self.edge_weights.astype(kind, copy=False),
            vertex_weights=self.vertex_weights.astype(kind, copy=False),
        )

    def as_piece(self) -> Piece:
        """Return the piece of the graph. Collective."""
        heads, ghosts = localize(self.backend, self.blocks, self.indices)
        return make_piece(
            self.backend,
            self.blocks,
            ghosts,
            self.indptr,
            heads,
            self.edge_weights,
            self.vertex_weights,
            (self.global_nnz, self.edge_weight),
            self.long_rows,
        )


def upload_rows(backend: Backend, block: Block, blocks: Blocks) -> UploadedRows:
    """Upload the rows of a block to a back end, with 32-bit weights. Collective.

    Weights that are all 1 are created there. Neighbours that are not vertices become `OUTSIDE` or
    keep their value, and `check_rows` finds them.

    Raises
    ------
    GraphError
        If `indptr` decreases, a weight is not in 0..2**31 - 1, or a block has 2**31 directed edges.
    """
    entries = len(block.indices)

    def weights(values: IntArray, what: str) -> Array:
        if len(values) and _are_unit(values):
            return ones(backend, len(values))
        converted, wrong = _to_int32(backend, values, 0, INT32_MAX)
        if wrong:
            raise _wrong_weight(block, blocks.first, values, what)
        return converted

    def rows() -> tuple[Array, Array, Array, Array]:
        if entries > INT32_MAX:
            raise GraphError(
                f"the block has {entries} directed edges; each process must have fewer than 2**31, "
                "so use more processes"
            )
        indptr, wrong = _to_int32(backend, block.indptr, 0, entries)
        if wrong or backend.reduce(block.n, count_decreases, indptr=indptr):
            check_ids(block, blocks)
        indices, _ = _to_int32(backend, block.indices, 0, blocks.n - 1)
        edge_weights = weights(block.edge_weights, block.names[2])
        return indptr, indices, edge_weights, weights(block.vertex_weights, block.names[3])

    indptr, indices, edge_weights, vertex_weights = run_collectively(blocks.comm, rows)
    sums = (
        backend.reduce(len(array), add_weights, edge_weights=array)
        for array in (vertex_weights, edge_weights)
    )
    totals = blocks.comm.totals(*sums, entries)
    found = UploadedRows(
        *(backend, indptr, indices, edge_weights, blocks.n, blocks.first, vertex_weights, blocks),
        *totals,
    )
    return found.with_width(Width.WIDE) if is_large(*totals) else found


def _wrong_weight(block: Block, first: int, values: IntArray, what: str) -> GraphError:
    """Return the error about a weight that is not in 0..2**31 - 1."""
    i = int(((values < 0) | (values > INT32_MAX)).argmax())
    if values is block.edge_weights:
        v = int(np.searchsorted(block.indptr, i, "right")) - 1
        where = f"edge ({first + v}, {block.indices[i]})"
    else:
        where = f"vertex {first + i}"
    return GraphError(f"{what} has {values[i]} for {where}; weights must be in 0..2**31 - 1")


def upload_sums(
    backend: Backend,
    blocks: Blocks,
    rows: tuple[IntArray, IntArray, IntArray],
    vertex_weights: IntArray,
) -> UploadedRows:
    """Upload rows made of others, to a back end with kernels wide enough for sums. Collective.

    Parameters
    ----------
    rows : tuple of arrays
        CSR arrays, with global ids as neighbours.
    vertex_weights : int64, shape (n_owned,)
    """
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


def _to_int32(backend: Backend, values: IntArray, lowest: int, highest: int) -> tuple[Array, int]:
    """Upload integers, a part at a time, and convert them as `to_int32` does."""
    if values.dtype == np.int32:
        return to_int32(backend, backend.from_host(values), lowest, highest)
    converted, wrong = backend.empty(len(values)), 0
    for start in range(0, len(values), UPLOADED):
        part = slice(start, start + UPLOADED)
        converted[part], more = to_int32(backend, backend.from_host(values[part]), lowest, highest)
        wrong += more
    return converted, wrong


def check_symmetry(rows: UploadedRows) -> None:
    """Check that each edge has a reverse edge of equal weight. Collective.

    Raises
    ------
    GraphError
        In all processes, if an edge has none; the message names the first one of a process.
    """
    if sum(rows.blocks.comm.allgather_objects(rows.digest)) % HASHES:
        arrays = rows.indptr, rows.indices, rows.edge_weights
        find_asymmetry(rows.backend, rows.blocks, *map(rows.backend.to_host, arrays))


def find_asymmetry(
    backend: Backend, blocks: Blocks, indptr: IntArray, heads: IntArray, weights: IntArray
) -> None:
    """Find an edge without an equal reverse edge among rows on the host. Collective.

    Raises
    ------
    GraphError
        As `check_symmetry` does.
    """
    tails = np.repeat(np.arange(blocks.first, blocks.end), np.diff(indptr))
    edges = (values.astype(np.int64) for values in (heads, tails, weights))
    starts, ends, others = send_to_owners(backend.host, blocks, *edges)
    order = np.lexsort((ends, starts))
    reverse = starts[order] * blocks.n + ends[order]

    def check() -> None:
        wanted = tails * blocks.n + heads
        places = np.searchsorted(reverse, wanted)
        is_missing = ~np.isin(wanted, reverse)
        found = np.append(others[order], -1)[places]
        wrong = is_missing | (found != weights)
        if wrong.any():
            e = int(wrong.argmax())
            edge, back = f"edge ({tails[e]}, {heads[e]})", f"edge ({heads[e]}, {tails[e]})"
            raise GraphError(
                f"the graph is not symmetric: {edge} is listed, but not its reverse, {back}"
                if is_missing[e]
                else f"the graph is not symmetric: {edge} has weight {weights[e]}, but its "
                f"reverse, {back}, has weight {found[e]}"
            )

    run_collectively(blocks.comm, check)


def check_rows(rows: UploadedRows, block: Block) -> None:
    """Check that rows have no loops, no duplicate edges and no invalid neighbours.

    Raises
    ------
    GraphError
        If they have; the message names the first such edge.
    """
    if not rows.are_suspicious:
        return
    check_ids(block, rows.blocks)
    for tails, heads in edges_of(block, rows.first_global_id):
        if (heads == tails).any():
            v = heads[heads == tails][0]
            raise GraphError(f"edge ({v}, {v}) is a self-loop")
        if not ((np.diff(heads) > 0) | (np.diff(tails) > 0)).all():
            order = np.lexsort((heads, tails))
            twice = (np.diff(heads[order]) == 0) & (np.diff(tails[order]) == 0)
            if twice.any():
                e = order[int(np.argmax(twice))]
                raise GraphError(f"edge ({tails[e]}, {heads[e]}) is listed more than once")


def check_ids(block: Block, blocks: Blocks) -> None:
    """Check that `indptr` does not decrease, and that the neighbours are vertices.

    Raises
    ------
    GraphError
        If one is wrong; the message names the first such vertex or edge.
    """
    first, falls = blocks.first, np.diff(block.indptr) < 0
    if falls.any():
        v = int(falls.argmax())
        raise GraphError(
            f"{block.names[0]} decreases at vertex {first + v}: {block.indptr[v]}, then "
            f"{block.indptr[v + 1]}"
        )
    for tails, heads in edges_of(block, first):
        outside = (heads < 0) | (heads >= blocks.n)
        if outside.any():
            e = int(outside.argmax())
            raise GraphError(
                f"edge ({tails[e]}, {heads[e]}) leaves the graph; vertices must be in "
                f"0..{blocks.n - 1}"
            )


def edges_of(block: Block, first: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield tails and heads of the edges of several rows at a time.

    `first` is the global id of the first owned vertex.
    """
    ends = np.arange(SLICE, len(block.indices), SLICE)
    rows = np.unique([0, *np.searchsorted(block.indptr, ends), block.n])
    for start, end in pairwise(rows.tolist()):
        tails = np.arange(first + start, first + end, dtype=np.int64)
        entries = slice(block.indptr[start], block.indptr[end])
        lengths = np.diff(block.indptr[start : end + 1])
        yield np.repeat(tails, lengths), block.indices[entries]
