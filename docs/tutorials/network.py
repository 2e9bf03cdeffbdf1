"""
Train a graph neural network
============================

This tutorial is for training a network on a graph that is too large for one batch. Each
batch consists of a few clusters of vertices, with the edges between them. If the
clusters cut fewer edges, the network sees more of the graph. In this tutorial, jetpy
finds the clusters, and a small graph convolutional network learns from them. A second
run with random clusters shows the benefit. The network uses only NumPy and SciPy. At
the end, PyTorch Geometric gets the same clusters.

First run ``pip install '.[report]'``, then ``python docs/tutorials/network.py``. The
last step also needs ``pip install torch torch_geometric``.
"""

# %%
# The graph
# ---------
# The graph has 12,000 papers on 40 topics. Most citations stay within a topic. Each
# paper has 16 features, which reveal its topic only weakly. Half of the papers are
# training data.

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
# jetpy accepts any symmetric SciPy matrix as a graph. Its entries are the edge weights:
# the number of citations between two papers. Each part is a cluster.

CLUSTERS = 80
result = jetpy.partition(edges, CLUSTERS)
print(result)
assert result.feasible
print(f"{1 - 2 * result.cut / edges.sum():.0%} of the citations stay within clusters")

at_random = random.permutation(np.arange(PAPERS) % CLUSTERS)
clusters = {"jetpy": result.parts, "random": at_random}

# %%
# Batches
# -------
# Each batch has the papers of eight clusters, and the rows and columns of these papers.


def batches(cluster):
    """Yield the vertices and edges of each batch of an epoch."""
    for chosen in random.permutation(CLUSTERS).reshape(-1, 8):
        vertices = np.flatnonzero(np.isin(cluster, chosen))
        yield vertices, edges[vertices][:, vertices]


for name, cluster in clusters.items():
    seen = sum(inside.nnz for _, inside in batches(cluster))
    print(f"{name:6} batches have {seen / edges.nnz:.0%} of the edges")

# %%
# The network
# -----------
# The network has two graph convolutions (Kipf and Welling, 2017). Each convolution
# takes the mean over a paper and its neighbours, and multiplies it by learned weights.


def averaging(edges):
    """Return a matrix that takes the mean over each vertex and its neighbours."""
    around = edges + sp.eye_array(edges.shape[0])
    return sp.csr_array(sp.diags_array(1 / around.sum(axis=1)) @ around)


def forward(weights, average, features):
    """Return the inputs of both products, and a score per topic."""
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
# Train for ten epochs with Adam. After each epoch, predict the topics of the other
# papers with all edges of the graph. The result is the share of correct topics.

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
    print(f"{name} clusters: {right[name][-1]:.0%} of the topics are correct")
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
# ``ClusterData`` calls METIS in one method. This subclass calls jetpy instead.
# ``ClusterLoader`` then makes the batches.
#
# ``jetpy.as_graph(edge_index, n=num_nodes)`` takes the edges directly. Without ``n``,
# jetpy does not know the vertices after the last one with an edge, and these vertices
# get no part. Each edge must be present in both directions and only once, and no edge
# may be a self-loop; otherwise, jetpy raises an error. ``repair=True`` repairs the
# graph instead. A tensor on a GPU is partitioned on the GPU unless it needs repair.
# With ``device=True``, the parts stay on the GPU. For DGL, see the :doc:`recipes
# </recipes>`.

if find_spec("torch_geometric"):
    import torch
    from torch_geometric.data import Data
    from torch_geometric.loader import ClusterData, ClusterLoader
    from torch_geometric.utils import from_scipy_sparse_matrix, to_scipy_sparse_matrix

    class JetClusterData(ClusterData):
        """Clusters from jetpy instead of METIS."""

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
    print("skipped PyTorch Geometric: run pip install torch torch_geometric")
