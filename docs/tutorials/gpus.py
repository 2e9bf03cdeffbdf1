"""
Partition on several GPUs
=========================

For those whose graph is too large for one GPU or one machine, or is spread over
processes already. Each process has a block of the vertices, and a GPU, or some of the
CPU's threads where there is none. Together they find the parts that one process would
find; then each vertex is sent to the process that its part belongs to.

Needs ``pip install '.[mpi-cuda13,report]'``, with ``mpi-cuda12`` for drivers before
CUDA 13, or ``'.[mpi,report]'`` for CPUs. Then ``jetpy compile`` compiles the kernels;
without that, one process does so in the first run, and the others wait for it. Run it
by ``mpiexec -n 4 python docs/tutorials/gpus.py``; :doc:`on a cluster </guide/cluster>`
srun starts it.
"""

# %%
# Own rows
# --------
# The graph is a torus of 60 by 60 by 60 vertices, each with six neighbours. A process
# has the rows of its own vertices: how many neighbours each has (``indptr`` are sums of
# that), and which. They are called by their numbers in the whole graph; own vertices
# are numbered on from one process to the next.

import matplotlib.pyplot as plt
import numpy as np
from mpi4py import MPI

import jetpy.distributed

comm = MPI.COMM_WORLD
SIDE = 60


def rows(first, end):
    """Return the rows of the vertices from first to before end."""
    place = np.stack(np.unravel_index(np.arange(first, end), (SIDE, SIDE, SIDE)))
    steps = np.concatenate([np.eye(3, dtype=int), -np.eye(3, dtype=int)])
    beside = (place[:, :, None] + steps.T[:, None, :]) % SIDE
    indices = np.ravel_multi_index(tuple(beside), (SIDE, SIDE, SIDE)).ravel()
    return np.arange(0, 6 * (end - first) + 1, 6), indices


first, end = (SIDE**3 * rank // comm.size for rank in (comm.rank, comm.rank + 1))
own_rows = rows(first, end)
who = f"process {comm.rank} of {comm.size}"
print(f"{who} has vertices {first:,} to {end - 1:,}", flush=True)

# %%
# The parts
# ---------
# All processes call ``partition`` with the same options. Each gets the parts of its own
# vertices; the cut, the weights of parts and all else are the same in each.

PARTS = 8
result = jetpy.distributed.partition(comm, own_rows, PARTS, preset="fast")
assert result.feasible
assert len(result.parts) == end - first
if comm.rank == 0:
    print(f"{result.backend}: {PARTS} parts, {result.cut:,} of {result.m:,} edges cut")
    print("vertices of the parts:", result.part_weights)

# %%
# ``save`` writes the parts of all into one file. The graph is small enough for one
# process, which finds the same, bit for bit, whatever the number of processes.

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
# To its owner
# ------------
# Of four processes, the first gets parts 0 and 1, and so on. Each sends the numbers of
# its vertices to their owners; coordinates, matrix rows and other data go the same way.

own = np.arange(first, end)
owner = result.parts * comm.size // PARTS
to_send = [own[owner == rank] for rank in range(comm.size)]
received = np.concatenate(comm.alltoall(to_send))
print(f"{who} now has {len(received):,} vertices", flush=True)
assert comm.allreduce(len(received)) == SIDE**3

# %%
# On this page, one process has run it. With ``mpiexec -n 2`` on a CPU it says:
#
# .. code-block:: none
#
#    process 0 of 2 has vertices 0 to 107,999
#    process 1 of 2 has vertices 108,000 to 215,999
#    cpu: 8 parts, 26,350 of 648,000 edges cut
#    vertices of the parts: [26638 26208 26352 25762 27810 27810 27614 27806]
#    one process finds the same parts
#    wrote torus.npy and torus.png
#    process 0 of 2 now has 104,960 vertices
#    process 1 of 2 now has 111,040 vertices
#
# Graphs in files need no program: ``mpiexec -n 4 jetpy partition cube.npz -k 64 -o
# cube.part``, each process reading its share. :doc:`What several processes cost
# </scaling>` tells when they are worth it.
