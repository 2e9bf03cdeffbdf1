"""
Partition a mesh for a solver
=============================

For those who write or run a solver on a mesh. A plate with a hole is cut into parts for
16 processes. Each gets its own cells and its *ghosts*: the cells of other parts that
are beside its own, whose values it has to be sent. A simple solver for the flow of heat
then runs part by part, and finds what it finds on the whole plate. ParaView shows parts
and temperatures.

Needs ``pip install '.[mesh,report]'``; run it by ``python docs/tutorials/mesh.py``.
"""

# %%
# The mesh
# --------
# Quadrilaterals between a circle and a square. Any mesh that `meshio
# <https://github.com/nschloe/meshio>`_ reads does as well: ``mesh =
# meshio.read("mine.msh")``.

from collections import Counter

import matplotlib.pyplot as plt
import meshio
import numpy as np
import scipy.sparse as sp
from matplotlib.collections import PolyCollection

import jetpy

RINGS, SPOKES, PROCESSES, STEPS = 60, 240, 16, 2000
angle = np.linspace(0, 2 * np.pi, SPOKES, endpoint=False)
circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
square = circle / np.abs(circle).max(axis=1, keepdims=True)
outward = np.linspace(0, 1, RINGS + 1)[:, None, None] ** 1.5
points = (0.3 * circle * (1 - outward) + square * outward).reshape(-1, 2)

corner = np.arange((RINGS + 1) * SPOKES).reshape(RINGS + 1, SPOKES)
beside = np.roll(corner, -1, axis=1)
quads = np.stack([corner[:-1], corner[1:], beside[1:], beside[:-1]], axis=-1)
quads = quads.reshape(-1, 4)
mesh = meshio.Mesh(np.pad(points, ((0, 0), (0, 1))), [("quad", quads)])
print(mesh)

# %%
# The parts
# ---------
# In the *dual graph*, cells are vertices, and cells with a common side are neighbours.
# The third of the cells that is nearest to the hole shall cost the solver twice as
# much: these get twice the weight. ``connected=True`` makes every part one piece.

graph = jetpy.dual_graph(mesh)
work = np.where(np.arange(graph.n) < graph.n // 3, 2, 1)
result = jetpy.partition(graph, PROCESSES, vertex_weights=work, connected=True)
print(result)
print("work of the parts:", result.part_weights)
assert result.feasible  # no part has more than 3 % above the average
assert result.pieces.max() == 1

# %%
# What the solver will send in each step: a part's *volume* is how many numbers it
# sends.

found = jetpy.evaluate(graph, result.parts)
print("numbers sent in a step:", found.communication_volume, "of", graph.n)
print("most by one part:", found.largest_volume)
print("neighbours of the parts:", found.part_neighbours)

# %%
# What each process gets
# ----------------------
# ``subgraphs(halo=1)`` yields a local graph for each part. Its first ``owned`` vertices
# are the part's own cells, all others its ghosts. ``global_ids`` are the numbers that
# both have in the whole mesh; ``ghost_owner`` tells which part sends each ghost.

parts = list(result.subgraphs(halo=1))
for local in parts[:3]:
    senders = Counter(local.ghost_owner.tolist())
    print(f"part {local.part}: {local.owned} cells, ghosts by sender:", dict(senders))
assert sum(local.graph.n - local.owned for local in parts) == found.communication_volume

# %%
# The solver
# ----------
# In each step, temperatures move towards the mean of the neighbours'; the ring at the
# hole stays hot. Each process would hold the temperatures of its own cells and ghosts.
# Here a loop goes through the parts, and reads both from ``temperature``; an MPI
# program would receive the ghosts'.


def averaging(graph, rows):
    """Return a matrix that takes the mean over the neighbours of the first vertices."""
    starts = graph.indptr[: rows + 1]
    degrees = np.diff(starts)
    shares = np.repeat(1 / degrees, degrees)
    entries = (shares, graph.indices[: starts[-1]], starts)
    return sp.csr_array(entries, shape=(rows, graph.n))


start = np.full(graph.n, 20.0)
start[:SPOKES] = 100.0

temperature = start
averages = [averaging(local.graph, local.owned) for local in parts]
for _ in range(STEPS):
    after = np.empty(graph.n)
    for local, average in zip(parts, averages, strict=True):
        own = local.global_ids[: local.owned]
        after[own] = (temperature[own] + average @ temperature[local.global_ids]) / 2
    after[:SPOKES] = 100.0
    temperature = after

# %%
# The same on the whole plate:

whole, average = start, averaging(graph, graph.n)
for _ in range(STEPS):
    whole = (whole + average @ whole) / 2
    whole[:SPOKES] = 100.0
print("largest difference:", np.abs(temperature - whole).max(), "degrees")
assert np.allclose(temperature, whole)

# %%
# To look at
# ----------
# Open ``plate.vtu`` in ParaView, and colour by ``part`` or by ``temperature``.

mesh.cell_data = {"part": [result.parts], "temperature": [temperature]}
mesh.write("plate.vtu")

# %%
# The same here. ``result.plot()`` draws the parts of any graph whose vertices have
# coordinates.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
for ax, name, colours in zip(axes, mesh.cell_data, ["tab20", "inferno"], strict=True):
    cells = PolyCollection(points[quads], array=mesh.cell_data[name][0], cmap=colours)
    cells.set_edgecolor("face")
    ax.add_collection(cells)
    ax.set(title=name, aspect="equal", xticks=[], yticks=[], xlim=(-1, 1), ylim=(-1, 1))
figure.savefig("plate.png")
print("wrote plate.vtu and plate.png")

# %%
# From a shell, ``jetpy mesh plate.vtu -k 16 -o parts.vtu`` reads a mesh, and writes it
# with the data ``part`` on its cells: see :doc:`meshes </guide/meshes>`. The
# :doc:`recipes </recipes>` are about Gmsh, OpenFOAM, PETSc and DOLFINx.
