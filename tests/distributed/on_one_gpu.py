"""A program for several processes that share a GPU and still communicate through NCCL.

NCCL refuses two processes on one GPU of a machine, so each process gets a different host id.
"""

from __future__ import annotations

import os
from typing import Any

from mpi4py import MPI

WORLD = MPI.COMM_WORLD
os.environ["NCCL_HOSTID"] = f"machine of process {WORLD.rank}"
os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")

import numpy as np  # noqa: E402

import jetpy.distributed  # noqa: E402
from jetpy.distributed import api, nccl  # noqa: E402
from tests.distributed.test_pieces import block_of, hubs, weighted  # noqa: E402

GRAPHS = {
    "cube": lambda: jetpy.generators.cube(22, 22, 22),
    "weighted rmat": lambda: weighted(jetpy.generators.rmat(12, 8)),
    "hubs": lambda: hubs(5000),
    "delaunay": lambda: jetpy.generators.delaunay(120_000),
}
"""The last graph is large enough for networks of flows that the GPU builds."""


IN_PIECES = {
    "small.max_vertices": 0,
    "initial.task_size": 0,
    "branches": (),
}
"""Options without which these levels are gathered."""


def blocks(n: int, size: int) -> Any:
    """Return bounds that give rank 1 of several ranks no vertices and the others equal blocks."""
    sizes = [0 if size > 1 and rank == 1 else 1 for rank in range(size)]
    return np.concatenate([[0], np.cumsum(sizes) * n // sum(sizes)])


def places_in(n: int) -> dict[str, Any]:
    """Return fixed and home parts and groups of n vertices."""
    vertices = np.arange(n)
    return {
        "fixed": np.where(vertices % 101 == 0, vertices % 8, -1),
        "home": np.where(vertices % 7 == 0, -1, vertices * 8 // n),
        "together": np.where(vertices % 5 == 1, vertices * 3 % 400, -1),
    }


def main() -> None:
    """Print for each graph and preset whether the parts equal those of one process."""
    nccl._name_of = lambda backend: f"GPU of process {WORLD.rank}"  # type: ignore[assignment]
    found: list[Any] = []
    between = api.between_gpus
    api.between_gpus = lambda *given: found.append(between(*given)) or found[-1]
    for name, make in GRAPHS.items():
        graph = make()
        bounds = blocks(graph.n, WORLD.size)
        own = slice(*bounds[WORLD.rank : WORLD.rank + 2])
        cases: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
            ("fast", {}, {}),
            ("default", {}, {}),
            ("default", IN_PIECES, {}),
        ]
        if name == "cube":
            cases.append(("fast", IN_PIECES, places_in(graph.n)))
        for preset, changes, places in cases:
            options: dict[str, Any] = {"preset": preset, "backend": "cuda", "seed": 3}
            options["options"] = changes
            result = jetpy.distributed.partition(
                WORLD,
                block_of(graph, bounds, WORLD.rank),
                8,
                small=3000,
                device=0,
                **options,
                **{name: values[own] for name, values in places.items()},
            )
            parts = WORLD.gather(result.parts)
            assert isinstance(found[-1], nccl.NcclCommunicator)
            if parts is not None:
                expected = jetpy.partition(graph, 8, **options, **places).parts
                same = np.array_equal(np.concatenate(parts), expected)
                print("equal" if same else f"DIFFERENT: {name}, {preset}", flush=True)


if __name__ == "__main__":
    main()
