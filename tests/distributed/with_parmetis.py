"""A program that calls `jetpy.parmetis` for a cube of cells that are distributed over processes.

It prints for each process whether it finds the parts of a single process, in four calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from jetpy import parmetis

SIDE = 8
CPU: dict[str, Any] = {"backend": "cpu", "threads": 1}


def hexahedra() -> Any:
    """Return the corners of all cells of a cube, int64, shape (SIDE ** 3, 8)."""
    nodes = np.arange((SIDE + 1) ** 3).reshape(SIDE + 1, SIDE + 1, SIDE + 1)
    corners = [nodes[a:][:SIDE, b:][:, :SIDE, c:][:, :, :SIDE] for a, b, c in np.ndindex(2, 2, 2)]
    return np.stack([corner.ravel() for corner in corners], axis=1)


def calls(comm: Any, cells: Any, elmdist: Any) -> list[parmetis.KwayPartition]:
    """Return the results of the three functions for the elements of this process."""
    rank = 0 if comm is None else comm.rank
    first, end = elmdist[rank : rank + 2]
    eptr, eind = 8 * np.arange(end - first + 1), cells[first:end].ravel()
    mesh = parmetis.part_mesh_kway(comm, elmdist, eptr, eind, 4, 4, **CPU)
    rows = ring(int(elmdist[-1]))[first:end]
    graph = elmdist, 2 * np.arange(end - first + 1), rows.ravel()
    whole = parmetis.part_kway(comm, *graph, 3, vwgt=np.arange(first, end) % 3, **CPU)
    refined = parmetis.refine_kway(comm, *graph, 4, mesh.part, **CPU)
    return [mesh, whole, refined, parmetis.adaptive_repart(comm, *graph, 4, mesh.part, **CPU)]


def ring(n: int) -> Any:
    """Return the two neighbours of each vertex of a ring."""
    return np.stack([np.arange(-1, n - 1) % n, np.arange(1, n + 1) % n], axis=1)


if __name__ == "__main__":
    world, cells = MPI.COMM_WORLD, hexahedra()
    elmdist = len(cells) * np.arange(world.size + 1) // world.size
    own = slice(*elmdist[world.rank : world.rank + 2])
    results = calls(world, cells, elmdist)
    expected = calls(None, cells, np.array([0, len(cells)]))
    are_equal = all(
        found.edgecut == alone.edgecut and np.array_equal(found.part, alone.part[own])
        for found, alone in zip(results, expected, strict=True)
    )
    answers = world.gather(are_equal)
    if world.rank == 0:
        print(*answers, flush=True)
