"""
Partition a mesh for a solver
=============================

A plate with a hole is cut into parts for 16 processes. Each gets its own cells and the *ghosts*
beside them, cells of other parts that it has to hear of. A solver for the heat equation then runs
part by part, and finds what it finds on the whole plate. ParaView shows parts and temperatures.

Run it with ``python docs/tutorials/mesh.py``, after
``pip install 'jetpy-partitioner[mesh,report]'``. On the command line,
``jetpy mesh plate.vtu -k 16 -o parts.vtu`` does the first half.
"""

# %%
# The mesh
# --------
# Quadrilaterals between a circle and a square. Any mesh that `meshio
# <https://github.com/nschloe/meshio>`_ reads does as well: ``mesh = meshio.read("mine.msh")``.

import meshio
import numpy as np
import scipy.sparse as sp

import jetpy

RINGS, SPOKES = 60, 240
angle = np.linspace(0, 2 * np.pi, SPOKES, endpoint=False)
circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
square = circle / np.abs(circle).max(axis=1, keepdims=True)
outward = np.linspace(0, 1, RINGS + 1)[:, None, None] ** 1.5
points = (0.3 * circle * (1 - outward) + square * outward).reshape(-1, 2)

corner = np.arange((RINGS + 1) * SPOKES).reshape(RINGS + 1, SPOKES)
beside = np.roll(corner, -1, axis=1)
quads = np.stack([corner[:-1], corner[1:], beside[1:], beside[:-1]], axis=-1).reshape(-1, 4)
mesh = meshio.Mesh(np.pad(points, ((0, 0), (0, 1))), [("quad", quads)])
print(mesh)

# %%
# The parts
# ---------
# In the dual graph, cells are vertices, and cells with a common edge are neighbours. Cells near the
# hole are to cost twice as much, as if the solver worked harder there, so they get twice the
# weight. ``connected=True`` makes every part one piece.

graph = jetpy.dual_graph(mesh)
work = np.where(np.arange(graph.n) < graph.n // 3, 2, 1)
result = jetpy.partition(graph, 16, vertex_weights=work, connected=True)
print(result)
print("work of the parts:", result.part_weights.min(), "to", result.part_weights.max())

# %%
# What the processes will talk about: in each step a part sends as many numbers as its communication
# volume says.

found = jetpy.evaluate(graph, result.parts)
print("numbers sent in a step:", found.communication_volume, "in all,", found.largest_volume, "most")
print("neighbours of the parts:", found.part_neighbours)

# %%
# A drawing of the parts; notebooks show it.

result.plot()

# %%
# The solver
# ----------
# Temperatures move toward the mean of the neighbours'. ``subgraphs(halo=1)`` yields the local graph
# of one part after the other: its own cells first, then its ghosts; ``global_ids`` are what both
# are called in the whole graph. An MPI program would keep one of them and exchange the ghosts'
# temperatures; here a loop does so.


def rows(local):
    """Return the adjacency of a part's own cells."""
    entries = local.graph.indptr[local.owned]
    arrays = np.ones(entries), local.graph.indices[:entries], local.graph.indptr[: local.owned + 1]
    return sp.csr_array(arrays, shape=(local.owned, local.graph.n))


def step(adjacency, temperature):
    """Return the temperatures of the cells that have a row, one step later."""
    mean = adjacency @ temperature / np.diff(adjacency.indptr)
    return 0.5 * temperature[: len(mean)] + 0.5 * mean


cold = np.full(graph.n, 20.0)
cold[:SPOKES] = 100.0  # hot at the hole

temperature = cold
parts = [(local, rows(local)) for local in result.subgraphs(halo=1)]
for _ in range(200):
    now = np.empty(graph.n)
    for local, adjacency in parts:
        own = local.global_ids[: local.owned]
        now[own] = step(adjacency, temperature[local.global_ids])
    temperature = now
print("the hottest cell:", temperature.max().round(2))

# %%
# The same on the whole plate:

expected = cold
whole = sp.csr_array((np.ones(2 * graph.m), graph.indices, graph.indptr))
for _ in range(200):
    expected = step(whole, expected)
assert np.allclose(temperature, expected)

# %%
# ParaView
# --------
# Open ``plate.vtu`` there, and colour by ``part`` or by ``temperature``.

mesh.cell_data = {"part": [result.parts], "temperature": [temperature]}
mesh.write("plate.vtu")
