"""A changing graph and the placement of affected vertices, in plain Python with networkx."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import networkx as nx
import numpy as np

import jetpy
from jetpy.graph.csr import Graph
from tests.hashing import mix


def as_networkx(graph: Graph) -> nx.Graph:
    result = nx.Graph()
    for v in range(graph.n):
        result.add_node(v, weight=int(graph.vertex_weights[v]))
    for v in range(graph.n):
        for e in range(graph.indptr[v], graph.indptr[v + 1]):
            result.add_edge(v, int(graph.indices[e]), weight=int(graph.edge_weights[e]))
    return result


def apply(model: nx.Graph, batch: jetpy.Batch, first: int) -> None:
    """Apply a batch to the graph; the first new vertex gets the id `first`."""
    model.remove_edges_from(np.asarray(batch.delete_edges, int).reshape(-1, 2).tolist())
    model.remove_nodes_from(np.asarray(batch.delete_vertices, int).tolist())
    for v, weight in enumerate(np.asarray(batch.insert_vertices, int).tolist(), first):
        model.add_node(v, weight=weight)
    edges = np.asarray(batch.insert_edges, int).reshape(-1, 2).tolist()
    weights = [1] * len(edges) if batch.edge_weights is None else batch.edge_weights
    for (u, v), weight in zip(edges, np.asarray(weights, int).tolist(), strict=True):
        model.add_edge(u, v, weight=weight)


def random_batch(
    rng: random.Random, model: nx.Graph, first: int, most: int, heaviest: int = 4
) -> jetpy.Batch:
    """Return a random batch with up to `most` modifiers of each kind."""
    nodes, edges = sorted(model), sorted(tuple(sorted(e)) for e in model.edges)
    dead = rng.sample(nodes, rng.randint(0, min(most, len(nodes))))
    removed = rng.sample(edges, rng.randint(0, min(most, len(edges))))
    new = [rng.randint(0, heaviest) for _ in range(rng.randint(0, most))]
    alive = [v for v in nodes if v not in dead] + list(range(first, first + len(new)))
    gone = {e for e in edges if e in removed or e[0] in dead or e[1] in dead}
    absent = {
        tuple(sorted(rng.sample(alive, 2))) for _ in range(2 * most if len(alive) > 1 else 0)
    } - (set(edges) - gone)
    inserted = [rng.sample(e, 2) for e in sorted(absent)[:most]]
    rng.shuffle(inserted)
    return jetpy.Batch(
        delete_edges=[rng.sample(e, 2) for e in removed],
        delete_vertices=dead,
        insert_vertices=new,
        insert_edges=inserted,
        edge_weights=[rng.randint(0, heaviest + 1) for _ in inserted],
    )


def weight_between(model: nx.Graph, v: int, others: Any) -> int:
    return sum(int(model[v][u]["weight"]) for u in others)


def cut_of(model: nx.Graph, parts: Any) -> int:
    return sum(w for u, v, w in model.edges(data="weight") if parts[u] != parts[v])


def entering(
    model: nx.Graph, parts: dict[int, int], modified: set[int], k: int, max_degree: int
) -> set[int]:
    """Return the vertices that enter the pseudo-partition: modified ones and neighbours of these.

    `parts` is k for new vertices.
    """

    def enters(v: int, others: set[int]) -> bool:
        inside = [u for u in model[v] if parts[u] == parts[v] and u not in others]
        outside = weight_between(model, v, set(model[v]) - set(inside))
        drawn = len(model[v]) <= max_degree and outside > weight_between(model, v, inside)
        return parts[v] == k or drawn

    first = {v for v in modified if enters(v, set())}
    neighbours = {u for v in first for u in model[v]} - modified
    return first | {v for v in neighbours if enters(v, first)}


def placed(
    model: nx.Graph, parts: dict[int, int], pseudo: set[int], k: int, limit: int, seed: int
) -> dict[int, int]:
    """Return the parts of all vertices after placing those of the pseudo-partition."""
    parts = {v: p for v, p in parts.items() if v not in pseudo}
    weight = dict(model.nodes(data="weight"))
    weights = [sum(weight[v] for v in parts if parts[v] == p) for p in range(k)]
    number = {v: i for i, v in enumerate(sorted(pseudo))}
    while len(parts) < len(model):
        waiting = [v for v in sorted(pseudo) if v not in parts]
        lightest = min(range(k), key=lambda p: (weights[p], p))
        queues: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for v in waiting:
            if any(u < v and u not in parts for u in model[v]):
                continue
            pulls: dict[int, int] = defaultdict(int)
            for u in model[v]:
                if u in parts and model[v][u]["weight"]:
                    pulls[parts[u]] += model[v][u]["weight"]
            roomy = [p for p in pulls if weights[p] + weight[v] <= limit]
            target = min(
                roomy,
                key=lambda p: (-pulls[p], weights[p], -mix((number[v] ^ seed) + (p << 16)), p),
                default=lightest,
            )
            queues[target].append((-pulls[target] if roomy else 0, v))
        for p, queue in queues.items():
            room = limit - weights[p]
            for i, (_, v) in enumerate(sorted(queue)):
                if i > 0 and weight[v] > room:
                    break
                parts[v] = p
                weights[p] += weight[v]
                room -= weight[v]
    return parts
