"""
Pool a graph
============

This tutorial is for graph neural networks and other methods that work on several
levels of a graph. A pooling layer replaces a graph by a smaller one and gives each
coarse vertex the mean or the maximum of the features of its vertices. An unpooling
layer copies features back. ``jetpy.coarsen`` finds the graphs once, before the
training. Here, pooling removes noise from a signal on a mesh.

First run ``pip install '.[report]'``, then ``python docs/tutorials/pooling.py``.
"""

# %%
# The signal
# ----------
# The graph is a triangulation of 20,000 points. Each vertex has a feature: a smooth
# function of its position, plus noise.

import matplotlib.pyplot as plt
import numpy as np

import jetpy

graph = jetpy.generators.delaunay(20_000)
x, y = graph.coordinates.T
signal = np.sin(6 * x) * np.cos(9 * y)
noisy = signal + np.random.default_rng(0).normal(size=graph.n)
print(graph)

# %%
# The levels
# ----------
# Coarsening ends at 50 vertices or fewer. Each level has about half as many vertices as
# the one before.

options = {
    "coarsen.coarsest": "per-part",
    "coarsen.per_part": 1,  # coarsening ends at 50 * 1 vertices
    "coarsen.bounded": False,  # vertices may have any weight
}
hierarchy = jetpy.coarsen(graph, 50, options=options)
print(hierarchy)

# %%
# Pooling and unpooling
# ---------------------
# ``restrict`` averages the features of the finest level on any coarser level, and
# ``project`` copies the means back. More pooling removes more noise, but too much of it
# removes the signal as well. The table shows the root mean square error of the copy.

errors = {}
for level in range(len(hierarchy)):
    pooled = hierarchy.restrict(noisy, to_level=level, how="mean")
    unpooled = hierarchy.project(pooled, from_level=level)
    errors[level] = np.sqrt(np.mean((unpooled - signal) ** 2))
    print(f"level {level:2}: {len(pooled):6,} vertices, error {errors[level]:.3f}")
best = min(errors, key=errors.get)
assert errors[best] < errors[0] / 3

# %%
# A picture of four levels: each coarse vertex is drawn at the mean position of its
# vertices.

levels = [0, 3, best, len(hierarchy) - 1]
figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
for ax, level in zip(axes, levels, strict=True):
    place = hierarchy.restrict(graph.coordinates, to_level=level, how="mean")
    value = hierarchy.restrict(noisy, to_level=level, how="mean")
    size = 20_000 / len(value) ** 0.9
    ax.scatter(*place.T, c=value, s=np.minimum(size, 90), vmin=-1, vmax=1, lw=0)
    ax.set(title=f"level {level}: {len(value):,} vertices", aspect="equal")
    ax.set_axis_off()
figure.savefig("pooling.png")
print("wrote pooling.png")

# %%
# A network on several levels
# ---------------------------
# A layer of a network needs the edges of its level. ``edge_index`` has the form that
# PyTorch Geometric takes, and the edge weights say how many edges of the finest graph
# an edge stands for. With tensors on a GPU, pass ``device=True`` to ``jetpy.coarsen``:
# then the graphs and maps stay on the GPU, and ``restrict`` and ``project`` work there
# and return arrays that ``torch.from_dlpack`` takes.

for level in hierarchy.levels[:3]:
    edge_index = np.stack([level.graph.sources(0, level.n), level.graph.indices])
    print(edge_index.shape, level.graph.edge_weights.max())

# %%
# Pooling by the maximum works on any number of features. Each step goes from one level
# to the next.

features = np.stack([noisy, x, y], axis=1)
for level in range(3):
    features = hierarchy.restrict(features, level, level + 1, how="max")
print(features.shape)
assert features.shape == (hierarchy.levels[3].n, 3)
