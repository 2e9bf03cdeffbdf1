"""
Map MPI ranks onto a machine
============================

This tutorial is for MPI programs on many nodes. The placement of the ranks determines
how far their messages travel. 512 ranks exchange halos with their neighbours in space.
jetpy maps them onto 16 nodes with 8 processors of 4 cores each, and writes the files
with which Open MPI and Slurm place the ranks.

First run ``pip install '.[report]'``, then ``python docs/tutorials/ranks.py``.
"""

# %%
# Communication between ranks
# ---------------------------
# Each rank has a box of 64 by 64 by 16 cells. It sends the cells of a face to each of
# up to six neighbours. You can also use the message sizes from a profiler: any
# symmetric matrix with one row and column per rank.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import jetpy
from jetpy.mapping import write_rankfile, write_slurm_hostfile

RANKS = np.arange(512).reshape(8, 8, 8)  # position of each rank in space
FACES = (64 * 16, 64 * 16, 64 * 64)  # cells of a face across each axis

traffic = sp.csr_array((512, 512), dtype=np.int64)
for axis, cells in enumerate(FACES):
    ranks = np.moveaxis(RANKS, axis, 0)
    pairs = ranks[:-1].ravel(), ranks[1:].ravel()
    traffic += sp.coo_array((np.full(448, cells), pairs), shape=(512, 512)).tocsr()
traffic = traffic + traffic.T
print(f"{traffic.sum():,} cells are sent in a step")

# %%
# The machine
# -----------
# A hierarchy starts with the lowest level: ``4:8:16`` means 4 cores per processor, 8
# processors per node, and 16 nodes. A distance is the cost of sending a cell: 1 within
# a processor, 10 within a node, and 100 between nodes. Only the ratios of the distances
# matter. Measure the ratios of your machine with a ping-pong program.

MACHINE = {"hierarchy": "4:8:16", "distances": "1:10:100"}
mapping = jetpy.map_processes(traffic, *MACHINE.values())
print(mapping)
assert len(np.unique(mapping.pe)) == 512  # a core for each rank

# %%
# Compare the mapping with two others. Most launchers place rank *i* on core *i*. By
# hand, you might give each node a block of 2 by 4 by 4 ranks, which is as close to a
# cube as 32 ranks allow. However, faces across the last axis are four times as large as
# the others. Blocks that are long along this axis send less data between nodes.

blocks = RANKS.reshape(4, 2, 2, 4, 2, 4).transpose(0, 2, 4, 1, 3, 5).ravel()
by_hand = np.empty(512, int)
by_hand[blocks] = np.arange(512)
placements = {"in order": np.arange(512), "by hand": by_hand, "jetpy": mapping.pe}

cost = {}
print("                 cost   in processors   in nodes   between nodes")
for name, pe in placements.items():
    placed = jetpy.evaluate(traffic, pe, **MACHINE)
    cost[name] = placed.cost
    low, middle, high = placed.cost_by_level
    print(f"{name:9} {placed.cost:11,} {low:15,} {middle:10,} {high:15,}")
assert cost["jetpy"] == mapping.cost
assert cost["jetpy"] < min(cost["in order"], cost["by hand"])

# %%
# Plot the ranks in space. Ranks with the same colour share a node.

figure, axes = plt.subplots(1, 3, figsize=(9, 3.6), subplot_kw={"projection": "3d"})
for ax, (name, pe) in zip(axes, placements.items(), strict=True):
    colours = plt.colormaps["tab20"](pe[RANKS] // 32)
    ax.voxels(
        RANKS >= 0, facecolors=colours, edgecolors="k", linewidth=0.3, shade=False
    )
    ax.set_title(f"{name}: {cost[name] / 1e6:.0f} million")
    ax.set_box_aspect(None, zoom=1.2)
    ax.set_axis_off()
figure.savefig("ranks.png")
print("wrote ranks.png")

# %%
# Files for the launchers
# -----------------------
# The hosts of a job, in the order of their cores, come from the job. With Slurm,
# ``scontrol show hostnames`` prints them.

hosts = [f"node{number:02}" for number in range(16)]
write_rankfile("ranks.txt", mapping, hosts)
write_slurm_hostfile("hosts.txt", mapping, hosts)
print("wrote ranks.txt and hosts.txt; ranks.txt starts with:")
lines = Path("ranks.txt").read_text().splitlines()
print(*lines[:3], "...", sep="\n")
assert len(lines) == len(Path("hosts.txt").read_text().splitlines()) == 512

# %%
# Start the program with one of these commands:
#
# .. code-block:: console
#
#    $ mpirun -np 512 --map-by rankfile:file=ranks.txt ./app    # Open MPI 5
#    $ mpirun -np 512 --rankfile ranks.txt ./app                # Open MPI 4
#    $ SLURM_HOSTFILE=hosts.txt srun -n 512 -m arbitrary ./app
#
# In a shell, with the matrix in a file, use ``jetpy map traffic.mtx --hierarchy 4:8:16
# --distance 1:10:100 --hosts nodes.txt --rankfile ranks.txt``. With other launchers,
# let rank *p* do the work of the rank that jetpy maps to core *p*. The :doc:`recipes
# </recipes>` cover machines of other shapes.
