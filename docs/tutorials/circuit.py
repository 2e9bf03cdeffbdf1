"""
Follow a changing circuit
=========================

For those whose graph changes while they work on it: circuits, adaptive meshes,
networks. A circuit of 60,000 gates is simulated on 8 processors, a part of the gates
each. A designer edits it, some wires and gates at a time. The partition follows most
edits within milliseconds, stays balanced, and cuts about as little as one found anew.

Needs ``pip install '.[report]'``; run it by ``python docs/tutorials/circuit.py``.
"""

# %%
# The circuit
# -----------
# Gates are vertices, wires edges. The first two gates are inputs; each of the others
# reads two earlier ones, mostly near ones. ``repair=True`` makes one wire of two
# between the same gates.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats.contingency import crosstab

import jetpy

GATES, PARTS = 60_000, 8
random = np.random.default_rng(0)
gate = np.arange(2, GATES).repeat(2)
reads = gate - np.minimum(gate, random.geometric(1 / 300, gate.size))
circuit = jetpy.as_graph(np.stack([gate, reads]), n=GATES, repair=True, name="circuit")
print(circuit)

# %%
# A live partition
# ----------------
# It begins with the best of three partitions.

live = jetpy.IncrementalPartitioner(circuit, PARTS)
print(live.cut, "of", live.m, "wires are cut")
print("gates of the parts:", live.part_weights)

# %%
# Edits
# -----
# The designer works in one region: puts buffers into some wires, and takes some gates
# out. All modifiers of a batch are applied, or none. Gates keep their numbers for good;
# new ones get the next.


def edit(buffers=20, removed=5, region=(25_000, 33_000)):
    """Return a batch that puts gates into wires of a region, and takes others out."""
    graph, ids = live.graph, live.vertices  # gate i of this graph has number ids[i]
    gates = ids[(ids >= region[0]) & (ids < region[1])]
    gone = random.choice(gates, removed, replace=False)
    wires = np.stack([ids[graph.sources(0, graph.n)], ids[graph.indices]], axis=1)
    stay = np.setdiff1d(gates, gone)
    wires = wires[(wires[:, 0] < wires[:, 1]) & np.isin(wires, stay).all(axis=1)]
    cut = random.choice(wires, buffers, replace=False)
    new = len(live.partition) + np.arange(buffers)
    halves = np.concatenate([np.stack([new, end], axis=1) for end in cut.T])
    return jetpy.Batch(
        delete_edges=cut,
        delete_vertices=gone,
        insert_vertices=buffers,
        insert_edges=halves,
    )


update = live.update(edit())
print(f"{update.action} within {1000 * update.seconds:.1f} ms")
print("gates that moved:", update.moved)
print("the new gates are in parts", np.unique(live.partition[update.vertices]))

# %%
# Many edits
# ----------
# Most batches are *placed*: only gates near the change are looked at. When much has
# changed, or a part is full, the whole partition is *refined* or found anew
# (*repartitioned*). Now and then a partition from scratch tells how good it is.

updates, anew = [], {}
for number in range(40):
    updates.append(live.update(edit()))
    assert live.feasible
    if number % 10 == 9:
        scratch = jetpy.partition(live.graph, PARTS)
        anew[number] = scratch.cut

milliseconds = np.array([1000 * update.seconds for update in updates])
actions = np.array([update.action for update in updates])
for action in np.unique(actions):
    times = milliseconds[actions == action]
    print(f"{action:>13} {len(times):2} times, {np.median(times):.1f} ms each")

print("cut of the live partition:", live.cut, "and of one from scratch:", scratch.cut)
assert live.cut < 1.1 * scratch.cut

# %%
# Each gate that gets another part has to be sent from one processor to another. To be
# fair to the partition from scratch, its parts are numbered here so that as many gates
# as possible stay.

overlap = crosstab(live.partition[live.vertices], scratch.parts).count
stay = overlap[linear_sum_assignment(overlap, maximize=True)].sum()
print("gates moved by all batches:", sum(update.moved for update in updates))
print("gates moved by the one partition from scratch:", live.n - stay)

# %%
# What the session says is what an evaluation of its graph and parts says.

found = jetpy.evaluate(live.graph, live.partition[live.vertices])
assert found.cut == live.cut
assert found.part_weights.max() <= live.limit

# %%
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
cuts = np.array([update.cut for update in updates])
ax.plot(cuts, label="live")
for action, mark in {"refined": "o", "repartitioned": "s"}.items():
    when = np.flatnonzero(actions == action)
    ax.plot(when, cuts[when], mark, label=action)
ax.plot(list(anew), list(anew.values()), "k+", label="from scratch")
ax.set(xlabel="batch", ylabel="wires cut")
ax.legend()
figure.savefig("circuit.png")
print("wrote circuit.png")

# %%
# Mistakes and pauses
# -------------------
# A batch with a mistake is refused as a whole: nothing has changed then. What ``save``
# writes, ``load`` goes on with another day, or ``jetpy update circuit.npz changes.txt``
# in a shell: see :doc:`graphs that change </guide/changing-graphs>`.

try:
    live.update(jetpy.Batch(insert_vertices=1, delete_edges=[(0, GATES - 1)]))
except jetpy.GraphError as error:
    print("refused:", error)
assert live.cut == updates[-1].cut

live.save("circuit.npz")
again = jetpy.IncrementalPartitioner.load("circuit.npz")
assert np.array_equal(again.partition, live.partition)
