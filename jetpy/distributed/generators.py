"""Distributed generators: each process makes its block of the same graph."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.device.backends import get_backend
from jetpy.distributed.api import communicator
from jetpy.distributed.block import Block, unit_weights
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.faults import check_agreement, collective_call, run_collectively
from jetpy.errors import OptionError
from jetpy.graph.csr import INT32_MAX

QUADRANTS = 0.57, 0.19, 0.19
"""Probabilities of three quadrants of the matrix, as in Graph500."""
DRAWN_AT_ONCE = 1 << 20
"""Number of edges drawn from one random generator."""
MAX_SCALE = 30
SLICE, THREADS = 1 << 20, 8
"""Number of vertices whose rows a thread makes at once, and number of threads."""
ODD = 0x2545F491


def grid(comm: Any, rows: int, cols: int) -> Block:
    """Return this process's block of `jetpy.generators.grid`."""
    return _lattice(communicator(comm), (rows, cols))


def cube(comm: Any, a: int, b: int, c: int) -> Block:
    """Return this process's block of `jetpy.generators.cube`."""
    return _lattice(communicator(comm), (a, b, c))


def rmat(comm: Any, scale: int, edge_factor: int = 16, seed: int = 0) -> Block:
    """Return this process's block of a recursive-matrix graph (Chakrabarti et al., SDM 2004).

    Parameters
    ----------
    comm : mpi4py.MPI.Comm or None
    scale : int
        There are ``2**scale`` vertices, some of them without edges; 1..30.
    edge_factor : int
        Edges drawn per vertex; self-loops are dropped, and duplicates merged.
    seed : int
        Seed of the random edges.

    Raises
    ------
    OptionError
        If a value is out of range.
    """
    group = communicator(comm)

    def check() -> None:
        if not 1 <= scale <= MAX_SCALE or edge_factor < 1 or seed < 0:
            raise OptionError(
                f"scale is {scale}, edge_factor {edge_factor} and seed {seed}; scale must be in "
                f"1..{MAX_SCALE}, edge_factor at least 1 and seed at least 0"
            )

    with collective_call(group, "rmat"):
        run_collectively(group, check)
        check_agreement(group, scale=scale, edge_factor=edge_factor, seed=seed)
        return _rmat(group, scale, edge_factor, seed)


def _rmat(group: Communicator, scale: int, edge_factor: int, seed: int) -> Block:
    n = 1 << scale
    drawn = edge_factor << scale
    pieces = -(-drawn // DRAWN_AT_ONCE)
    own = range(group.rank, pieces, group.size)
    edges = [_draw(scale, min(DRAWN_AT_ONCE, drawn - i * DRAWN_AT_ONCE), (seed, i)) for i in own]
    keys = np.concatenate([*edges, np.zeros(0, np.int64)])
    keys = np.concatenate([keys, (keys % n) * n + keys // n])
    keys = np.unique(keys[keys // n != keys % n])
    bounds = np.array([n * r // group.size for r in range(group.size + 1)], np.int64)
    sent = np.diff(np.searchsorted(keys, bounds * n)).astype(np.int64)
    keys = np.unique(group.send(get_backend("cpu", 1), keys, sent)[0])
    first, end = (int(bound) for bound in bounds[group.rank : group.rank + 2])
    degrees = np.bincount(keys // n - first, minlength=end - first)
    return _block(degrees, (keys % n).astype(_id_type(n)))


def _draw(scale: int, count: int, seed: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Return random edges as integers: tail times the number of vertices, plus head.

    `scattered` permutes the ids, so that vertices of high degree are spread evenly.
    """
    random = np.random.default_rng(seed)
    a, b, c = QUADRANTS
    u, v = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for _ in range(scale):
        x = random.random(count)
        lower = x >= a + b
        right = (x >= a) & ~lower | (x >= a + b + c)
        u += u + lower
        v += v + right
    return (scattered(u, scale) << scale) + scattered(v, scale)


def scattered(vertices: npt.NDArray[np.int64], scale: int) -> npt.NDArray[np.int64]:
    """Return a permutation of 0..2**scale - 1 applied to vertices, int64."""
    mask, half = (1 << scale) - 1, (scale + 1) // 2
    for _ in range(2):
        vertices = (vertices * ODD) & mask
        vertices = vertices ^ (vertices >> half)
    return vertices


def _lattice(comm: Communicator, shape: tuple[int, ...]) -> Block:
    if min(shape) < 1:
        raise OptionError(f"each side must be at least 1; one is {min(shape)}")
    n = math.prod(shape)
    first, end = (n * r // comm.size for r in (comm.rank, comm.rank + 1))
    degrees, kind = np.empty(end - first, np.int32), _id_type(n)
    indices, entries = np.empty(2 * len(shape) * len(degrees), kind), 0
    done = 0
    with ThreadPoolExecutor(THREADS) as pool:
        for starts in _batches(range(first, end, SLICE)):
            slices = [range(start, min(start + SLICE, end)) for start in starts]
            for own, heads in pool.map(lambda ids: _lattice_rows(shape, ids, kind), slices):
                degrees[done : done + len(own)] = own
                indices[entries : entries + len(heads)] = heads
                done, entries = done + len(own), entries + len(heads)
    return _block(degrees, indices[:entries])


def _batches(starts: range) -> Iterator[range]:
    """Yield parts of a range, with an entry for each thread."""
    for first in range(0, len(starts), THREADS):
        yield starts[first : first + THREADS]


def _lattice_rows(shape: tuple[int, ...], ids: range, kind: Any) -> tuple[Any, Any]:
    """Return the degrees of consecutive vertices, and all their neighbours."""
    vertices = np.arange(ids.start, ids.stop, dtype=kind)
    below: list[tuple[int, npt.NDArray[np.bool_]]] = []
    above: list[tuple[int, npt.NDArray[np.bool_]]] = []
    stride = 1
    for extent in reversed(shape):
        place = vertices // stride % extent
        below.insert(0, (-stride, place > 0))
        above.append((stride, place < extent - 1))
        stride *= extent
    offsets, exists = zip(*below, *above, strict=True)  # in the order of the neighbours' ids
    mask = np.column_stack(exists)
    heads = (vertices[:, None] + np.array(offsets, kind))[mask]
    return mask.sum(axis=1, dtype=np.int32), heads


def _id_type(n: int) -> Any:
    """Return the type of ids of n vertices: int32 if they fit, which takes less time to upload."""
    return np.int32 if n <= INT32_MAX else np.int64


def _block(degrees: npt.NDArray[Any], indices: npt.NDArray[Any]) -> Block:
    kind = _id_type(len(indices))
    indptr = np.concatenate((np.zeros(1, kind), np.cumsum(degrees, dtype=kind)))
    return Block(indptr, indices, unit_weights(len(indices)), unit_weights(len(degrees)))
