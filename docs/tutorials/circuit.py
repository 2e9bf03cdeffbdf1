"""
Follow a changing circuit
=========================

This tutorial is for graphs that change while you work on them: circuits, adaptive
meshes or networks. Eight processors simulate a circuit of 60,000 gates, and each
processor simulates one part. A designer edits a few gates and wires at a time. jetpy
updates the partition within milliseconds after most edits. The partition stays
balanced, and its cut stays close to the cut of a partition from scratch.

First run ``pip install '.[report]'``, then ``python docs/tutorials/circuit.py``.
"""

# %%
# The circuit
# -----------
# Gates are vertices and wires are edges. The first two gates are inputs. Each other
# gate reads two earlier gates, most of them near. ``repair=True`` merges two wires
# between the same gates into one.

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
# Incremental partitioner
# -----------------------
# ``IncrementalPartitioner`` starts with the best of three partitions.

live = jetpy.IncrementalPartitioner(circuit, PARTS)
print("wires cut:", live.cut, "of", live.m)
print("gates per part:", live.part_weights)

# %%
# Batches of edits
# ----------------
# The designer works in one region. Each batch inserts buffers into some wires and
# deletes some gates. jetpy applies a whole batch or nothing. Gates keep their ids, and
# new gates get the next ids.


def edit(buffers=20, removed=5, region=(25_000, 33_000)):
    """Return a batch that inserts buffers into wires of a region and deletes gates."""
    graph, ids = live.graph, live.vertices  # vertex i of `graph` has id ids[i]
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
print(f"{update.action} in {1000 * update.seconds:.1f} ms")
print("gates that moved:", update.moved)
print("parts of the new gates:", np.unique(live.partition[update.vertices]))

# %%
# Many batches
# ------------
# After most batches, jetpy only *places* the gates near the change. When much of the
# graph has changed, or a part is full, jetpy *refines* the whole partition or
# partitions from scratch (*repartitions*). For comparison, the loop computes a
# partition from scratch after every tenth batch.

updates, from_scratch = [], {}
for number in range(40):
    updates.append(live.update(edit()))
    assert live.feasible
    if number % 10 == 9:
        scratch = jetpy.partition(live.graph, PARTS)
        from_scratch[number] = scratch.cut

milliseconds = np.array([1000 * update.seconds for update in updates])
actions = np.array([update.action for update in updates])
for action in np.unique(actions):
    times = milliseconds[actions == action]
    print(f"{action:>13} {len(times):2} times, {np.median(times):.1f} ms each")

print("cut of the session:", live.cut)
print("cut from scratch:", scratch.cut)
assert live.cut < 1.1 * scratch.cut

# %%
# Each gate that changes its part must be sent from one processor to another. For a fair
# comparison, renumber the parts of the partition from scratch so that as many gates as
# possible keep their part.

overlap = crosstab(live.partition[live.vertices], scratch.parts).count
stay = overlap[linear_sum_assignment(overlap, maximize=True)].sum()
print("gates moved by all batches:", sum(update.moved for update in updates))
print("gates moved by one partition from scratch:", live.n - stay)

# %%
# The cut and part weights of the session agree with an evaluation of its graph and
# parts.

found = jetpy.evaluate(live.graph, live.partition[live.vertices])
assert found.cut == live.cut
assert found.part_weights.max() <= live.limit

# %%
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
cuts = np.array([update.cut for update in updates])
ax.plot(cuts, label="session")
for action, mark in {"refined": "o", "repartitioned": "s"}.items():
    when = np.flatnonzero(actions == action)
    ax.plot(when, cuts[when], mark, label=action)
ax.plot(list(from_scratch), list(from_scratch.values()), "k+", label="from scratch")
ax.set(xlabel="batch", ylabel="wires cut")
ax.legend()
figure.savefig("circuit.png")
print("wrote circuit.png")

# %%
# Errors and saved sessions
# -------------------------
# If a batch contains an error, jetpy refuses the whole batch and changes nothing.
# ``save`` writes the session to a file. Continue with ``load`` in Python, or with
# ``jetpy update circuit.npz changes.txt`` in a shell: see :doc:`graphs that change
# </guide/changing-graphs>`.

try:
    live.update(jetpy.Batch(insert_vertices=1, delete_edges=[(0, GATES - 1)]))
except jetpy.GraphError as error:
    print("refused:", error)
assert live.cut == updates[-1].cut

live.save("circuit.npz")
again = jetpy.IncrementalPartitioner.load("circuit.npz")
assert np.array_equal(again.partition, live.partition)
