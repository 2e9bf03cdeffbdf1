"""Problems for `IncrementalPartitioner`: batches of modifiers."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

import jetpy
from jetpy.graph import INT32_MAX, Graph
from tests.fuzz import oracles
from tests.fuzz.draws import Engine, any_goal, any_graph, any_k, any_methods, one_of, spelled
from tests.fuzz.oracles import Finding, ensure
from tests.fuzz.structures import Random
from tests.incremental.oracle import apply, as_networkx, cut_of, random_batch

Live = jetpy.IncrementalPartitioner


@dataclass(frozen=True, eq=False)
class Changing:
    graph: Graph
    k: int
    batches: list[jetpy.Batch]
    models: list[nx.Graph]
    options: dict[str, Any]

    def __str__(self) -> str:
        given = ", from packed parts" if "parts" in self.options else ""
        options = spelled({**self.options, "parts": None})
        return f"changes: {self.graph.name}{given}, k={self.k}, {options}"

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        lives = [Live(self.graph, self.k, **self.options, **engine) for engine in engines]
        for batch, model in zip(self.batches, self.models, strict=True):
            updates = [live.update(batch) for live in lives]
            cut = updates[0].cut
            yield ensure("update tells the cut", cut == lives[0].cut, f"{cut} is {lives[0].cut}")
            yield from self._state(lives[0], model)
            for live in lives[1:]:
                yield oracles.equal("engines agree", lives[0].partition, live.partition)

    def _state(self, live: Live, model: nx.Graph) -> Iterator[Finding]:
        """Check the graph and all numbers against those of a graph made anew."""
        nodes = np.array(sorted(model), np.int64)
        there = live.vertices
        yield oracles.equal("vertices", nodes, there)
        parts, found = live.partition, live.graph
        proper = np.delete(parts, there) == -1, (parts[there] >= 0) & (parts[there] < self.k)
        yield ensure("parts", all(map(np.all, proper)), f"not in 0..{self.k - 1}: {parts!r}")
        edges = {(int(min(e)), int(max(e))): w for *e, w in model.edges(data="weight")}
        sources = there[found.sources(0, found.n)].tolist()
        directed = zip(sources, there[found.indices].tolist(), strict=True)
        told = dict(zip(directed, found.edge_weights.tolist(), strict=True))
        same = len(told) == 2 * len(edges) == 2 * live.m
        same = same and all(
            told.get((u, v)) == told.get((v, u)) == w for (u, v), w in edges.items()
        )
        yield ensure("edges", same, "are not those of the graph made anew")
        weights = [model.nodes[v]["weight"] for v in nodes.tolist()]
        yield oracles.equal("vertex weights", np.array(weights), found.vertex_weights)
        cut = cut_of(model, parts)
        yield ensure("cut", live.cut == cut, f"{live.cut} is {cut}")
        by_part = oracles.weights_of(found, parts[there], self.k)
        yield oracles.equal("part weights", by_part, live.part_weights)
        limit = oracles.limit_of(sum(weights), self.k, self.options["imbalance"])
        yield ensure("limit", live.limit == limit, f"{live.limit} is {limit}")
        yield from oracles.balance(found, by_part, self.k, limit, live.feasible)


def changing(rng: Random) -> Changing:
    graph = any_graph(rng, most=INT32_MAX // 2, largest=150)
    options = {**any_goal(rng), **any_methods(rng)}
    k = any_k(rng, graph.n)
    if rng.random() < 0.3:
        options["parts"] = oracles.packed(graph.vertex_weights, k)
    options["options"] = jetpy.IncrementalOptions(
        tries=int(rng.integers(1, 4)),
        extra_buckets=int(rng.integers(2)),
        highest_degree=one_of(rng, [1024, 4]),
        refine_after=one_of(rng, [0.01, 0.3, 1e9]),
        repartition_after=one_of(rng, [0.05, 0.5, 1e9]),
        most_drift=one_of(rng, [0.05, 1e9]),
    )
    model, ids = as_networkx(graph), graph.n
    modifiers = random.Random(int(rng.integers(1 << 30)))
    most, heaviest = one_of(rng, [2, 10, 40]), one_of(rng, [1, 4, 1000])
    batches, models = [], []
    for _ in range(4):
        batch = random_batch(modifiers, model, ids, most, heaviest)
        apply(model, batch, ids)
        ids += np.size(batch.insert_vertices)
        batches.append(batch)
        models.append(model.copy())
    return Changing(graph, k, batches, models, options)
