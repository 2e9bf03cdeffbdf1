"""
Map MPI ranks
=============

Where each rank of a parallel program runs decides how far its messages travel. A program of 512
ranks, which exchange halos with their neighbours in space, is mapped onto 16 nodes of 8 processors
of 4 cores; then the files are written that make Open MPI and Slurm start each rank where it belongs.

Run it with ``python docs/tutorials/ranks.py``.
"""

# %%
# Who talks to whom
# -----------------
# Each rank has a box of 64 × 64 × 16 cells, and sends each of up to six neighbours the cells of a
# face. What a profiler has counted does as well: any symmetric matrix, rank by rank.

import numpy as np
import scipy.sparse as sp

import jetpy
from jetpy.mapping import write_rankfile, write_slurm_hostfile

RANKS = np.arange(512).reshape(8, 8, 8)
FACES = (64 * 16, 64 * 16, 64 * 64)  # cells of a face across each axis

traffic = sp.csr_array((512, 512), dtype=np.int64)
for axis, cells in enumerate(FACES):
    ranks = np.moveaxis(RANKS, axis, 0)
    pairs = ranks[:-1].ravel(), ranks[1:].ravel()
    traffic += sp.coo_array((np.full(448, cells), pairs), shape=(512, 512)).tocsr()
traffic = traffic + traffic.T

# %%
# The machine
# -----------
# ``4:8:16`` reads from the lowest level: 4 cores a processor, 8 processors a node, 16 nodes. A
# message within a processor costs 1 a cell, within a node 10, between nodes 100.

mapping = jetpy.map_processes(traffic, "4:8:16", "1:10:100")
print(mapping)

# %%
# Beside it, what most launchers do: rank i on core i. And what one might do by hand: a block of
# 4 × 4 × 2 ranks for each node, as near to a cube as 32 ranks come. As the faces across the last axis
# are the largest, both send more between nodes than is needed.

blocks = RANKS.reshape(2, 4, 2, 4, 4, 2).transpose(0, 2, 4, 1, 3, 5).ravel()
by_hand = np.empty(512, int)
by_hand[blocks] = np.arange(512)
for name, pe in {"in order": np.arange(512), "by hand": by_hand, "jetpy": mapping.pe}.items():
    found = jetpy.evaluate(traffic, pe, hierarchy="4:8:16", distances="1:10:100")
    print(f"{name:9} costs {found.cost:10,}, by level {found.cost_by_level}")

# %%
# Files for the launchers
# -----------------------
# Names of the hosts, in the order of their cores, come from the job: ``scontrol show hostnames``.

hosts = [f"node{number:02}" for number in range(16)]
write_rankfile("ranks.txt", mapping, hosts)
write_slurm_hostfile("hosts.txt", mapping, hosts)
with open("ranks.txt") as file:
    print(file.read(88))

# %%
# Then one of these starts the program:
#
# .. code-block:: console
#
#    $ mpirun -np 512 --map-by rankfile:file=ranks.txt ./app    # Open MPI 5
#    $ mpirun -np 512 --rankfile ranks.txt ./app                # Open MPI 4
#    $ SLURM_HOSTFILE=hosts.txt srun -n 512 -m arbitrary ./app
#
# The same from a shell: ``jetpy map traffic.mtx --hierarchy 4:8:16 --distance 1:10:100
# --hosts nodes.txt --rankfile ranks.txt``. With other launchers, let rank p do what the rank does
# that is mapped to core p.
