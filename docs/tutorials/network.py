"""
Feed a graph neural network
===========================

Networks on large graphs are trained on mini-batches: a few clusters of vertices with the edges
between them. The fewer edges clusters cut, the more of the graph a batch has. PyTorch Geometric
calls METIS for that; here jetpy takes its place, in one method.

Run it with ``python docs/tutorials/network.py``, after
``pip install jetpy-partitioner torch torch_geometric``.
"""

# %%
# A graph
# -------
# 12,000 papers of 40 topics: most citations stay within a topic. A paper has 16 features, in which
# its topic is hard to see. Half of the papers are for training.

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data
from torch_geometric.loader import ClusterData, ClusterLoader
from torch_geometric.nn import GCNConv
from torch_geometric.utils import to_scipy_sparse_matrix

import jetpy

PAPERS, TOPICS, CITATIONS, EPOCHS = 12_000, 40, 60_000, 10
torch.manual_seed(0)
random = np.random.default_rng(0)
topic = random.permutation(np.arange(PAPERS) % TOPICS)
members = [np.flatnonzero(topic == t) for t in range(TOPICS)]
source = random.integers(PAPERS, size=CITATIONS)
target = random.integers(PAPERS, size=CITATIONS)
near = random.random(CITATIONS) < 0.8
target[near] = [random.choice(members[t]) for t in topic[source[near]]]
pairs = np.stack([source, target])
pairs = np.concatenate([pairs, pairs[::-1]], axis=1)[:, np.tile(source != target, 2)]

meaning = random.normal(size=(TOPICS, 16))
features = meaning[topic] + 6 * random.normal(size=(PAPERS, 16))
data = Data(
    x=torch.tensor(features, dtype=torch.float),
    edge_index=torch.tensor(pairs),
    y=torch.tensor(topic),
    train_mask=torch.tensor(random.random(PAPERS) < 0.5),
)
print(data)

# %%
# Clusters
# --------
# ``_metis`` is the one method of ``ClusterData`` that finds clusters. Citations are given in both
# directions and some more than once: ``repair=True`` makes one heavier edge of those.


class JetClusterData(ClusterData):
    """Clusters of vertices as jetpy finds them."""

    def _metis(self, edge_index, num_nodes):
        matrix = to_scipy_sparse_matrix(edge_index, num_nodes=num_nodes)
        parts = jetpy.partition(matrix, self.num_parts, repair=True).parts
        return torch.from_numpy(parts).to(edge_index.device, torch.long)


class RandomClusterData(ClusterData):
    """Clusters of random vertices, to compare with."""

    def _metis(self, edge_index, num_nodes):
        return torch.randint(self.num_parts, (num_nodes,))


clusters = {
    "jetpy": JetClusterData(data, num_parts=80, log=False),
    "random": RandomClusterData(data, num_parts=80, log=False),
}

# %%
# Training
# --------
# Two layers, batches of eight clusters. The accuracy is that on the other papers, with all edges.


class Network(torch.nn.Module):
    """Two graph convolutions."""

    def __init__(self):
        super().__init__()
        self.inner = GCNConv(16, 64)
        self.outer = GCNConv(64, TOPICS)

    def forward(self, x, edge_index):
        """Return a score for each topic."""
        return self.outer(self.inner(x, edge_index).relu(), edge_index)


for name, clustered in clusters.items():
    network = Network()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    kept = 0
    for _ in range(EPOCHS):
        for batch in ClusterLoader(clustered, batch_size=8, shuffle=True):
            optimizer.zero_grad()
            scores = network(batch.x, batch.edge_index)
            cross_entropy(scores[batch.train_mask], batch.y[batch.train_mask]).backward()
            optimizer.step()
            kept += batch.num_edges / data.num_edges / EPOCHS
    guess = network(data.x, data.edge_index).argmax(dim=1)
    right = (guess == data.y)[~data.train_mask].float().mean()
    print(f"{name}: batches have {kept:.0%} of the edges; {right:.0%} of the topics are right")

# %%
# With PyTorch 2.15 and PyTorch Geometric 2.8, on a CPU, that prints:
#
# .. code-block:: none
#
#    Data(x=[12000, 16], edge_index=[2, 119668], y=[12000], train_mask=[12000])
#    jetpy: batches have 63% of the edges; 77% of the topics are right
#    random: batches have 10% of the edges; 68% of the topics are right
#
# Tensors on a GPU go the same way; there, ``jetpy.partition`` takes an ``edge_index`` itself, too,
# as a tensor of shape (2, E), and ``device=True`` leaves the parts on the GPU.
