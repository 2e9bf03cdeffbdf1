"""
Feed a graph neural network
===========================

For those who train networks on graphs that are too large for one batch. A batch is then
a few clusters of vertices, with the edges between them: the fewer edges clusters cut,
the more a network sees of the graph. Here jetpy finds the clusters, a small graph
convolutional network learns from them, and random clusters show what they are worth.
The network is written with NumPy and SciPy alone; at the end PyTorch Geometric gets the
same clusters.

Needs ``pip install '.[report]'``; run it by ``python docs/tutorials/network.py``. With
``pip install torch torch_geometric`` the last step runs, too.
"""

# %%
# A graph
# -------
# 12,000 papers of 40 topics: most citations stay within a topic. A paper has 16
# features, in which its topic is hard to see. Half of the papers are for training.

from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import jetpy

PAPERS, TOPICS, FEATURES, CITATIONS = 12_000, 40, 16, 60_000
random = np.random.default_rng(0)
topic = random.permutation(np.arange(PAPERS) % TOPICS)
members = np.argsort(topic, kind="stable").reshape(TOPICS, -1)
citing = random.integers(PAPERS, size=CITATIONS)
within = members[topic[citing], random.integers(members.shape[1], size=CITATIONS)]
anywhere = random.integers(PAPERS, size=CITATIONS)
cited = np.where(random.random(CITATIONS) < 0.8, within, anywhere)

entries = (np.ones(CITATIONS), (citing, cited))
edges = sp.coo_array(entries, shape=(PAPERS, PAPERS)).tocsr()
edges = edges + edges.T
edges.setdiag(0)
edges.eliminate_zeros()
meaning = random.normal(size=(TOPICS, FEATURES))
features = meaning[topic] + 6 * random.normal(size=(PAPERS, FEATURES))
training = random.random(PAPERS) < 0.5

# %%
# Clusters
# --------
# Any symmetric SciPy matrix is a graph. Its entries, how often papers cite each other,
# are weights of edges. A part is a cluster.

CLUSTERS = 80
result = jetpy.partition(edges, CLUSTERS)
print(result)
assert result.feasible
print(f"{1 - 2 * result.cut / edges.sum():.0%} of the citations are within clusters")

by_chance = random.permutation(np.arange(PAPERS) % CLUSTERS)
clusters = {"jetpy": result.parts, "random": by_chance}

# %%
# Batches
# -------
# Eight clusters make a batch: their papers, and the rows and columns of these.


def batches(cluster):
    """Yield the vertices and the edges of each batch, all of them once in an epoch."""
    for chosen in random.permutation(CLUSTERS).reshape(-1, 8):
        vertices = np.flatnonzero(np.isin(cluster, chosen))
        yield vertices, edges[vertices][:, vertices]


for name, cluster in clusters.items():
    seen = sum(inside.nnz for _, inside in batches(cluster))
    print(f"{name:6} batches have {seen / edges.nnz:.0%} of the edges")

# %%
# A network
# ---------
# Two graph convolutions (Kipf and Welling, 2017): each takes the mean over a paper and
# its neighbours, then multiplies by weights that are learned.


def averaging(edges):
    """Return a matrix that takes the mean over each vertex and its neighbours."""
    around = edges + sp.eye_array(edges.shape[0])
    return sp.csr_array(sp.diags_array(1 / around.sum(axis=1)) @ around)


def forward(weights, average, features):
    """Return the inputs of both products, and a score for each topic."""
    inner = average @ features
    outer = average @ np.maximum(inner @ weights[0], 0)
    return inner, outer, outer @ weights[1]


def gradient(weights, average, features, topic, training):
    """Return the derivative of the training vertices' cross-entropy by the weights."""
    inner, outer, scores = forward(weights, average, features)
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    off = likely / likely.sum(axis=1, keepdims=True) - np.eye(TOPICS)[topic]
    off *= training[:, None] / training.sum()
    back = average.T @ (off @ weights[1].T) * (inner @ weights[0] > 0)
    return [inner.T @ back, outer.T @ off]


# %%
# Training
# --------
# Ten epochs, by Adam. What counts is the share of the other papers whose topic is
# found, with all edges.

EPOCHS, RATE, HIDDEN = 10, 0.01, 64
whole = averaging(edges)
right = {}
for name, cluster in clusters.items():
    shapes = (FEATURES, HIDDEN), (HIDDEN, TOPICS)
    weights = [random.normal(size=shape) / np.sqrt(shape[0]) for shape in shapes]
    mean, square, step, right[name] = [0.0, 0.0], [0.0, 0.0], 0, []
    for _ in range(EPOCHS):
        for ids, inside in batches(cluster):
            data = features[ids], topic[ids], training[ids]
            found = gradient(weights, averaging(inside), *data)
            step += 1
            for i, change in enumerate(found):
                mean[i] = 0.9 * mean[i] + 0.1 * change
                square[i] = 0.999 * square[i] + 0.001 * change**2
                size = np.sqrt(square[i] / (1 - 0.999**step)) + 1e-8
                weights[i] -= RATE * mean[i] / (1 - 0.9**step) / size
        guess = forward(weights, whole, features)[2].argmax(axis=1)
        right[name].append((guess == topic)[~training].mean())
    print(f"with {name} clusters, {right[name][-1]:.0%} of the topics are right")
assert right["jetpy"][-1] > right["random"][-1]

# %%
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, shares in right.items():
    ax.plot(range(1, EPOCHS + 1), shares, label=f"{name} clusters")
ax.set(xlabel="epoch", ylabel="topics found", ylim=(0, 1))
ax.legend()
figure.savefig("network.png")
print("wrote network.png")

# %%
# PyTorch Geometric
# -----------------
# Its ``ClusterData`` has one method that finds clusters, by METIS; here it gets
# jetpy's. ``ClusterLoader`` then makes the batches.
#
# ``jetpy.as_graph(edge_index, n=num_nodes)`` takes the edges themselves; without ``n``,
# vertices after the last one with an edge are not known, and get no part. Edges have to
# be there in both directions, and none twice or from a vertex to itself, or an error
# says so; ``repair=True`` mends that. A tensor on a GPU is partitioned there, unless it
# needs repair, and ``device=True`` leaves the parts there. For DGL, see the
# :doc:`recipes </recipes>`.

if find_spec("torch_geometric"):
    import torch
    from torch_geometric.data import Data
    from torch_geometric.loader import ClusterData, ClusterLoader
    from torch_geometric.utils import from_scipy_sparse_matrix, to_scipy_sparse_matrix

    class JetClusterData(ClusterData):
        """Clusters of vertices as jetpy finds them."""

        def _metis(self, edge_index, num_nodes):
            matrix = to_scipy_sparse_matrix(edge_index, num_nodes=num_nodes)
            parts = jetpy.partition(matrix, self.num_parts).parts
            return torch.from_numpy(parts).to(edge_index.device, torch.long)

    data = Data(
        x=torch.tensor(features, dtype=torch.float),
        edge_index=from_scipy_sparse_matrix(edges)[0],
        y=torch.tensor(topic),
    )
    clustered = JetClusterData(data, CLUSTERS, log=False)
    seen = papers = 0
    for batch in ClusterLoader(clustered, batch_size=8, shuffle=True):
        seen += batch.num_edges
        papers += batch.num_nodes
    print(f"batches of PyTorch Geometric have {seen / data.num_edges:.0%} of the edges")
    assert papers == PAPERS
else:
    print("without PyTorch Geometric; it comes by pip install torch torch_geometric")
