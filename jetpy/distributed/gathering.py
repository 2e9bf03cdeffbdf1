"""Gathering of levels on every process; all processes then compute the same parts.

A level is gathered if one process is predicted to finish it sooner than all together.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path

from jetpy.coarsening.methods import Sized, is_dense
from jetpy.device.device_graph import DeviceGraph
from jetpy.device.long_rows import find_long_rows
from jetpy.distributed.block import UploadedRows
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.faults import run_collectively
from jetpy.distributed.piece import Piece
from jetpy.engines.base import Array, Backend
from jetpy.engines.oom_message import bytes_of
from jetpy.errors import OutOfMemoryError
from jetpy.problem.options import CoarsenOptions, Options
from jetpy.workloads.coarsening.contraction import offset_rows
from jetpy.workloads.common.ghosts import find_degrees

SMALL = 1_000_000
"""Maximum number of vertices and directed edges together of a level that is gathered between CPUs:
its refinement takes one process little time."""
LEVEL_SECONDS, GPU_SECONDS = 15e-3, 8e-3
"""Seconds that a level in pieces takes for launches, waits and messages, whatever its size: a
constant, and more for each GPU."""
GIB = 1 << 30
ENTRY_SECONDS, SEVERAL_SECONDS = 0.75e-9, 6e-9
"""Seconds that one GPU takes for each vertex and directed edge of a finest level, with one weight
and with several weights per vertex. These constants are from cubes of 4 to 17 million vertices on
one and two H200s of one host, for one weight also on four."""


@dataclass(frozen=True)
class Gathering:
    """Which levels are gathered on every process.

    Attributes
    ----------
    size : float
        Number of vertices and directed edges together up to which levels are gathered.
    coarsen : CoarsenOptions
        Decides which levels are dense. They are gathered, because no groups span several pieces.
    """

    size: float
    coarsen: CoarsenOptions

    def includes(self, graph: Sized) -> bool:
        """Return whether a level is gathered."""
        return graph.global_size <= self.size or is_dense(graph, self.coarsen)


def gathering_of(
    options: Options, comm: Communicator, small: int | None, entry_seconds: float = ENTRY_SECONDS
) -> Gathering:
    """Return which levels are gathered.

    Second hierarchies need whole levels, so the options may raise the size. `small` is None for the
    default, which depends on the seconds that a GPU takes for a vertex or directed edge.
    """
    sizes: list[float] = [_default_size(comm, entry_seconds) if small is None else small]
    if options.branches:
        sizes.append(options.portfolio_limit)
    is_other = options.coarsen.method != "two-hop" or options.refine.method != "jet"
    if is_other:
        sizes.append(inf)
    return Gathering(max(sizes), options.coarsen)


def _default_size(comm: Communicator, entry_seconds: float) -> float:
    """Return the size up to which levels are gathered: any size if there is a single process."""
    if comm.size == 1:
        return inf
    return size_of_equal_times(comm.size, entry_seconds) if comm.is_between_gpus else SMALL


def size_of_equal_times(gpus: int, entry_seconds: float) -> int:
    """Return the size of a level that one GPU finishes as soon as several do in pieces.

    >>> size_of_equal_times(2, ENTRY_SECONDS), size_of_equal_times(2, SEVERAL_SECONDS)
    (82666666, 10333333)
    """
    saved = entry_seconds * (1 - 1 / gpus)
    return int((LEVEL_SECONDS + GPU_SECONDS * gpus) / saved)


def check_memory(
    comm: Communicator, n: int, m: int, *, on_root: bool = False, what: str = "the whole graph"
) -> None:
    """Check that each machine has memory for a copy of a graph in each process. Collective.

    With `on_root`, only process 0 has a copy. `what` names the graph in the message.

    Raises
    ------
    OutOfMemoryError
        If one has not; the message has the bytes.
    """
    _, processes = comm.neighbours
    who, remedy = "every process", ". Use fewer processes for each machine"
    those = f"the processes of this machine ({processes}) need"
    if on_root:
        who, remedy, those = "process 0", "", "it needs"
        processes = 1 if comm.rank == 0 else 0

    def check() -> None:
        needed, available = processes * bytes_of(n, m), available_memory()
        if available is not None and needed > available:
            raise OutOfMemoryError(
                f"{who} gathers {what} of {n:,} vertices and {m:,} edges; {those} about "
                f"{needed / GIB:.1f} GiB, more than the {available / GIB:.1f} GiB available{remedy}"
            )

    run_collectively(comm, check)


def available_memory() -> int | None:
    """Return the bytes of memory that programs may still take on this machine; None if unknown."""
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return None


def gather_rows(rows: UploadedRows) -> DeviceGraph:
    """Return the whole graph on every process, given its uploaded rows. Collective."""
    backend, comm = rows.backend, rows.blocks.comm
    return _gathered(backend, comm, rows, rows.indices, len(rows.indices))


def gather_graph(backend: Backend, piece: Piece) -> DeviceGraph:
    """Return the whole graph on every process, given its pieces. Collective."""
    heads = piece.halo.ids_of(piece.indices[: piece.nnz])
    return _gathered(backend, piece.blocks.comm, piece, heads, piece.nnz)


def _gathered(
    backend: Backend,
    comm: Communicator,
    rows: UploadedRows | Piece,
    heads: Array,
    entries: int,
) -> DeviceGraph:
    """Gather rows whose neighbours are `heads`, global ids."""
    kind, n_owned = backend.sum_type, rows.n_owned
    if comm.size > 1 and not backend.copies:
        check_memory(comm, rows.global_n, rows.global_nnz // 2)
    lengths = backend.empty(n_owned, kind)
    backend.parallel_for(n_owned, find_degrees, graph=rows, degrees=lengths)
    lengths = comm.gather(backend, lengths)
    indptr = backend.full(len(lengths) + 1, 0, kind)
    backend.scan(len(lengths), offset_rows, counts=lengths, indptr=indptr)
    return DeviceGraph(
        indptr,
        comm.gather(backend, heads),
        comm.gather(backend, rows.edge_weights[:entries]),
        comm.gather(backend, rows.vertex_weights[:n_owned]),
        rows.edge_weight,
        find_long_rows(backend, indptr, rows.global_nnz),
    )
