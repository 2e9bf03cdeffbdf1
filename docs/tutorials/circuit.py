"""
Follow a changing circuit
=========================

A circuit of 60,000 gates is simulated on 8 processors. While a designer edits it, a few gates at a
time, its partition is kept up to date within milliseconds, rather than found anew each time.

Run it with ``python docs/tutorials/circuit.py``.
"""

# %%
# The circuit
# -----------
# Each gate reads two others, mostly near ones: the first gates are inputs. Gates are vertices, wires
# edges.

import time

import numpy as np

import jetpy

GATES, PARTS = 60_000, 8
random = np.random.default_rng(0)
gate = np.arange(2, GATES).repeat(2)
reach = np.minimum(gate, random.geometric(1 / 300, gate.size))
reads = gate - reach
pairs = np.stack([np.concatenate([gate, reads]), np.concatenate([reads, gate])])
circuit = jetpy.as_graph(pairs, n=GATES, repair=True, name="circuit")
print(circuit)

# %%
# A live partition
# ----------------

live = jetpy.IncrementalPartitioner(circuit, PARTS)
print("cut", live.cut, "of", live.m, "wires; the heaviest part has", live.part_weights.max(), "gates")

# %%
# Edits
# -----
# An edit takes a gate out, with its wires, and puts in two that do its work: the first reads what it
# read, the second reads the first and is read instead of it. New gates get the next numbers. All
# edits of a batch are applied, or none.


def edit(gates, wires_of):
    """Return a batch that replaces each gate by two."""
    new = live.next_vertex + 2 * np.arange(len(gates))
    wires = [(first, first + 1) for first in new]
    for first, old in zip(new, gates, strict=True):
        wires += [(first + (other > old), other) for other in wires_of(old)]
    return jetpy.Batch(delete_vertices=gates, insert_vertices=2 * len(gates), insert_edges=wires)


for number in range(5):
    pass
