"""
Map MPI ranks onto a machine
============================

For those who start MPI programs on many nodes. Where each rank runs decides how far its
messages travel. A program of 512 ranks, which exchange halos with their neighbours in
space, is mapped onto 16 nodes of 8 processors of 4 cores. Then the files are written by
which Open MPI and Slurm start each rank where it belongs.

Needs ``pip install '.[report]'``; run it by ``python docs/tutorials/ranks.py``.
"""

# %%
# Who talks to whom
# -----------------
# Each rank has a box of 64 by 64 by 16 cells, and sends each of up to six neighbours
# the cells of a face. What a profiler has counted does as well: any symmetric matrix, a
# row and a column for each rank.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import jetpy
from jetpy.mapping import write_rankfile, write_slurm_hostfile

RANKS = np.arange(512).reshape(8, 8, 8)  # where each is in space
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
# A hierarchy reads from the lowest level: ``4:8:16`` is 4 cores a processor, 8
# processors a node, 16 nodes. Distances are what it costs to send a cell: 1 within a
# processor, 10 within a node, 100 between nodes. What counts is how they compare;
# measure your own by a ping-pong program.

MACHINE = {"hierarchy": "4:8:16", "distances": "1:10:100"}
mapping = jetpy.map_processes(traffic, *MACHINE.values())
print(mapping)
assert len(np.unique(mapping.pe)) == 512  # a core for each rank

# %%
# Beside it, what most launchers do: rank *i* on core *i*. And what one might do by
# hand: a block of 2 by 4 by 4 ranks for each node, as near to a cube as 32 ranks come.
# But faces across the last axis are four times as large as others: blocks that are long
# there send less between nodes.

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
# Ranks in space; those of a colour share a node.

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
# Names of the hosts, in the order of their cores, come from the job: ``scontrol show
# hostnames`` prints them under Slurm.

hosts = [f"node{number:02}" for number in range(16)]
write_rankfile("ranks.txt", mapping, hosts)
write_slurm_hostfile("hosts.txt", mapping, hosts)
print("wrote ranks.txt and hosts.txt; the first of these begins:")
lines = Path("ranks.txt").read_text().splitlines()
print(*lines[:3], "...", sep="\n")
assert len(lines) == len(Path("hosts.txt").read_text().splitlines()) == 512

# %%
# Then one of these starts the program:
#
# .. code-block:: console
#
#    $ mpirun -np 512 --map-by rankfile:file=ranks.txt ./app    # Open MPI 5
#    $ mpirun -np 512 --rankfile ranks.txt ./app                # Open MPI 4
#    $ SLURM_HOSTFILE=hosts.txt srun -n 512 -m arbitrary ./app
#
# From a shell, with the matrix in a file: ``jetpy map traffic.mtx --hierarchy 4:8:16
# --distance 1:10:100 --hosts nodes.txt --rankfile ranks.txt``. With other launchers,
# let rank *p* do what the rank does that is mapped to core *p*. Machines of other
# shapes are in the :doc:`recipes </recipes>`.
