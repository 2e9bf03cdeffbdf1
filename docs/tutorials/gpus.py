"""
Partition on several GPUs
=========================

This tutorial is for a graph that is too large for one GPU or one machine, or that is
already distributed over processes. Each process owns a block of the vertices. It uses a
GPU, or some of the CPU threads if there is no GPU. The processes find the same parts as
a single process. Then each vertex is sent to the process that owns its part.

First run ``pip install '.[mpi-cuda13,report]'``. Use ``mpi-cuda12`` for drivers older
than CUDA 13, or ``'.[mpi,report]'`` for CPUs. Then compile the kernels with ``jetpy
compile``; without this step, one process compiles them in the first run while the
others wait. Start the tutorial with ``mpiexec -n 4 python docs/tutorials/gpus.py``. On
a :doc:`cluster </guide/cluster>`, start it with ``srun``.
"""

# %%
# Distributed rows
# ----------------
# The graph is a torus of 60 by 60 by 60 vertices. Each vertex has six neighbours. A
# process has the CSR rows of its owned vertices: ``indptr`` contains the offsets of the
# rows, and ``indices`` contains the neighbours as global ids. The owned vertices of
# consecutive processes have consecutive global ids.

import matplotlib.pyplot as plt
import numpy as np
from mpi4py import MPI

import jetpy.distributed

comm = MPI.COMM_WORLD
SIDE = 60


def rows(first, end):
    """Return the CSR rows of the vertices first to end - 1."""
    position = np.stack(np.unravel_index(np.arange(first, end), (SIDE, SIDE, SIDE)))
    steps = np.concatenate([np.eye(3, dtype=int), -np.eye(3, dtype=int)])
    neighbours = (position[:, :, None] + steps.T[:, None, :]) % SIDE
    indices = np.ravel_multi_index(tuple(neighbours), (SIDE, SIDE, SIDE)).ravel()
    return np.arange(0, 6 * (end - first) + 1, 6), indices


first, end = (SIDE**3 * rank // comm.size for rank in (comm.rank, comm.rank + 1))
owned_rows = rows(first, end)
who = f"process {comm.rank} of {comm.size}"
print(f"{who} has vertices {first:,} to {end - 1:,}", flush=True)

# %%
# Distributed partition
# ---------------------
# All processes call ``partition`` with the same options. Each process gets the parts of
# its owned vertices. The cut, the part weights and all other results are the same in
# every process.

PARTS = 8
result = jetpy.distributed.partition(comm, owned_rows, PARTS, preset="fast")
assert result.feasible
assert len(result.parts) == end - first
if comm.rank == 0:
    print(f"{result.backend}: {PARTS} parts, {result.cut:,} of {result.m:,} edges cut")
    print("vertices of the parts:", result.part_weights)

# %%
# ``save`` writes the parts of all vertices into one file. This graph is small enough
# for a single process, which finds bit for bit the same parts.

result.save("torus.npy")
if comm.rank == 0:
    parts = np.load("torus.npy")
    alone = jetpy.partition(rows(0, SIDE**3), PARTS, preset="fast")
    assert np.array_equal(parts, alone.parts)
    print("one process finds the same parts")

    # Three of the 60 layers, coloured by part.
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.5), layout="constrained")
    for ax, layer in zip(axes, (0, SIDE // 3, 2 * SIDE // 3), strict=True):
        shown = parts.reshape(SIDE, SIDE, SIDE)[layer]
        ax.imshow(shown, cmap="tab10", vmin=0, vmax=9)
        ax.set(title=f"layer {layer}", xticks=[], yticks=[])
    figure.savefig("torus.png")
    print("wrote torus.npy and torus.png")

# %%
# Send vertices to their parts
# ----------------------------
# With four processes, rank 0 owns parts 0 and 1, rank 1 owns parts 2 and 3, and so on.
# Each process sends the ids of its vertices to the owners of their parts. Send
# coordinates, matrix rows and other data in the same way.

owned = np.arange(first, end)
owner = result.parts * comm.size // PARTS
to_send = [owned[owner == rank] for rank in range(comm.size)]
received = np.concatenate(comm.alltoall(to_send))
print(f"{who} now has {len(received):,} vertices", flush=True)
assert comm.allreduce(len(received)) == SIDE**3

# %%
# On this page, a single process ran the tutorial. With ``mpiexec -n 2`` on a CPU, it
# prints:
#
# .. code-block:: none
#
#    process 0 of 2 has vertices 0 to 107,999
#    process 1 of 2 has vertices 108,000 to 215,999
#    cpu: 8 parts, 24,159 of 648,000 edges cut
#    vertices of the parts: [27717 27810 27810 27804 27173 24539 27277 25870]
#    one process finds the same parts
#    wrote torus.npy and torus.png
#    process 0 of 2 now has 111,141 vertices
#    process 1 of 2 now has 104,859 vertices
#
# For graphs in files, you do not need a program: in ``mpiexec -n 4 jetpy partition
# cube.npz -k 64 -o cube.part``, each process reads its block of the file. :doc:`Scaling
# </scaling>` lists the cost of several processes.
