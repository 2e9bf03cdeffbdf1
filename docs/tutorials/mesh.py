"""
Partition a mesh for a solver
=============================

This tutorial is for authors and users of mesh solvers. It partitions a plate with a
hole into parts for 16 processes. Each process gets its own cells and its *ghosts*:
adjacent cells of other parts, whose values the process receives. A simple heat solver
then runs part by part and finds the same temperatures as on the whole plate. You can
view parts and temperatures in ParaView.

First run ``pip install '.[mesh,report]'``, then ``python docs/tutorials/mesh.py``.
"""

# %%
# The mesh
# --------
# The mesh has quadrilaterals between a circle and a square. You can use any mesh that
# `meshio <https://github.com/nschloe/meshio>`_ reads: ``mesh =
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
next_spoke = np.roll(corner, -1, axis=1)
quads = [corner[:-1], corner[1:], next_spoke[1:], next_spoke[:-1]]
quads = np.stack(quads, axis=-1).reshape(-1, 4)
mesh = meshio.Mesh(np.pad(points, ((0, 0), (0, 1))), [("quad", quads)])
print(mesh)

# %%
# Partition the dual graph
# ------------------------
# In the *dual graph*, cells are vertices, and cells with a common side are neighbours.
# Suppose that the solver works twice as long on the third of the cells that is nearest
# to the hole. These cells get weight 2, all others weight 1. ``connected=True`` makes
# every part connected.

graph = jetpy.dual_graph(mesh)
work = np.where(np.arange(graph.n) < graph.n // 3, 2, 1)
result = jetpy.partition(graph, PROCESSES, vertex_weights=work, connected=True)
print(result)
print("part weights:", result.part_weights)
assert result.feasible  # no part exceeds the average by more than 3 %
assert result.pieces.max() == 1

# %%
# The *communication volume* of a part is the number of values that it sends in each
# step of the solver.

found = jetpy.evaluate(graph, result.parts)
print("values sent in a step:", found.communication_volume, "of", graph.n)
print("maximum of one part:", found.largest_volume)
print("adjacent parts:", found.part_neighbours)

# %%
# Subgraphs with ghosts
# ---------------------
# ``subgraphs(halo=1)`` yields a local graph for each part. Its first ``owned`` vertices
# are the part's own cells, and all others are its ghosts. ``global_ids`` contains the
# ids of both in the whole mesh. ``ghost_owner`` contains the part that sends each
# ghost.

parts = list(result.subgraphs(halo=1))
for local in parts[:3]:
    senders = Counter(local.ghost_owner.tolist())
    print(f"part {local.part}: {local.owned} cells, ghosts by sender:", dict(senders))
assert sum(local.graph.n - local.owned for local in parts) == found.communication_volume

# %%
# Solve part by part
# ------------------
# In each step, the temperature of a cell moves towards the mean temperature of its
# neighbours. The ring of cells at the hole stays hot. In an MPI program, each process
# would store the temperatures of its own cells, and receive the temperatures of its
# ghosts. In this tutorial, a loop over the parts reads both from ``temperature``.


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
        owned = local.global_ids[: local.owned]
        mean = average @ temperature[local.global_ids]
        after[owned] = (temperature[owned] + mean) / 2
    after[:SPOKES] = 100.0
    temperature = after

# %%
# Compare with a run on the whole plate:

whole, average = start, averaging(graph, graph.n)
for _ in range(STEPS):
    whole = (whole + average @ whole) / 2
    whole[:SPOKES] = 100.0
print("largest difference:", np.abs(temperature - whole).max(), "degrees")
assert np.allclose(temperature, whole)

# %%
# View the result
# ---------------
# Open ``plate.vtu`` in ParaView, and colour it by ``part`` or by ``temperature``.

mesh.cell_data = {"part": [result.parts], "temperature": [temperature]}
mesh.write("plate.vtu")

# %%
# The same picture with Matplotlib. For graphs whose vertices have coordinates,
# ``result.plot()`` draws the parts.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
for ax, name, colours in zip(axes, mesh.cell_data, ["tab20", "inferno"], strict=True):
    cells = PolyCollection(points[quads], array=mesh.cell_data[name][0], cmap=colours)
    cells.set_edgecolor("face")
    ax.add_collection(cells)
    ax.set(title=name, aspect="equal", xticks=[], yticks=[], xlim=(-1, 1), ylim=(-1, 1))
figure.savefig("plate.png")
print("wrote plate.vtu and plate.png")

# %%
# In a shell, ``jetpy mesh plate.vtu -k 16 -o parts.vtu`` reads a mesh and writes it
# with the cell data ``part``: see :doc:`meshes </guide/meshes>`. The :doc:`recipes
# </recipes>` cover Gmsh, OpenFOAM, PETSc and DOLFINx.
