"""Problems for `IncrementalPartitioner`: batches of modifiers, and sessions saved between them."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import jetpy
from jetpy.graph.csr import INT32_MAX, Graph
from tests.fuzz import oracles, recount
from tests.fuzz.checks import Finding, ensure, equal, same
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine, any_goal, any_graph, any_k, any_methods, spelled
from tests.fuzz.oracles import Parts
from tests.incremental.oracle import apply, as_networkx, cut_of, random_batch

Live = jetpy.IncrementalPartitioner
CHOICES: Choices = {
    "tries": [1, 2, 3],
    "extra_buckets": [0, 1],
    "max_degree": [1024, 4],
    "refine_after": [0.01, 0.3, 1e9],
    "repartition_after": [0.05, 0.5, 1e9],
    "max_drift": [0.05, 1e9],
    "modifiers of a kind": [2, 10, 40],
    "heaviest modifier": [1, 4, 1000],
    "first parts": ["found", "found", "packed"],
    "lower_imbalance of a session": [None, None, 0.5],
    "saved after a batch": [True, False],
}
BATCHES = 4


@dataclass(frozen=True, eq=False)
class Changing:
    graph: Graph
    k: int
    batches: list[jetpy.Batch]
    models: list[nx.Graph]
    saves: list[bool]
    options: dict[str, Any]

    def __str__(self) -> str:
        given = ", from packed parts" if "parts" in self.options else ""
        options = spelled({**self.options, "parts": None})
        return f"changes: {self.graph.name}{given}, k={self.k}, {options}"

    def parts(self, engine: Engine) -> Parts:
        live = Live(self.graph, self.k, **self.options, **engine)
        for batch in self.batches:
            live.update(batch)
        return live.partition

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        """Save and load the session of the last engine after some batches."""
        lives = [Live(self.graph, self.k, **self.options, **engine) for engine in engines]
        loaded = False
        for batch, model, saved in zip(self.batches, self.models, self.saves, strict=True):
            updates = [live.update(batch) for live in lives]
            yield same("update reports the cut", updates[0].cut, lives[0].cut)
            yield from self._state(lives[0], model)
            for live in lives[1:-1]:
                yield equal("engines agree", lives[0].partition, live.partition)
            agree = "saved sessions agree" if loaded else "engines agree"
            yield equal(agree, lives[0].partition, lives[-1].partition)
            yield same(agree, lives[-1].cut, lives[0].cut)
            if saved:
                lives[-1], loaded = _loaded(lives[-1], engines[-1]), True
        yield from self._state(lives[-1], self.models[-1])

    def _state(self, live: Live, model: nx.Graph) -> Iterator[Finding]:
        """Compare the graph and all numbers with those of a rebuilt graph."""
        nodes = np.array(sorted(model), np.int64)
        there = live.vertices
        yield equal("vertices", nodes, there)
        parts, found = live.partition, live.graph
        proper = np.delete(parts, there) == -1, (parts[there] >= 0) & (parts[there] < self.k)
        yield ensure("parts", all(map(np.all, proper)), f"not in 0..{self.k - 1}: {parts!r}")
        edges = {(int(min(e)), int(max(e))): w for *e, w in model.edges(data="weight")}
        sources = there[found.sources(0, found.n)].tolist()
        directed = zip(sources, there[found.indices].tolist(), strict=True)
        weight_of = dict(zip(directed, found.edge_weights.tolist(), strict=True))
        symmetric = len(weight_of) == 2 * len(edges) == 2 * live.m
        symmetric = symmetric and all(
            weight_of.get((u, v)) == weight_of.get((v, u)) == w for (u, v), w in edges.items()
        )
        yield ensure("edges", symmetric, "are not those of the rebuilt graph")
        weights = [model.nodes[v]["weight"] for v in nodes.tolist()]
        yield equal("vertex weights", np.array(weights), found.vertex_weights)
        yield same("cut", live.cut, cut_of(model, parts))
        loads = oracles.weights_of(found, parts[there], self.k)
        yield equal("part weights", live.part_weights, loads)
        limit = oracles.limit_of(sum(weights), self.k, self.options["imbalance"])
        yield same("limit", live.limit, limit)
        lower = np.zeros(self.k, np.int64)
        if self.options.get("lower_imbalance") is not None:
            lower += -(-sum(weights) // (2 * self.k))
        yield equal("lower limits", live.lower_limits, lower)
        kept = int(loads.max()) <= limit and bool((loads >= lower).all())
        yield same("feasible is correct", live.feasible, kept)
        yield recount.kept(found, loads, limit)


def _loaded(live: Live, engine: Engine) -> Live:
    """Save and load a session and return the loaded one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "session.npz")
        live.save(path)
        return Live.load(path, **engine)


def changing(rng: Random) -> Changing:
    graph = any_graph(rng, most=INT32_MAX // 2, largest=150)
    options = {**any_goal(rng), **any_methods(rng)}
    k = any_k(rng, graph.n)
    chosen = {what: rng.pick(what, CHOICES[what]) for what in CHOICES}
    if chosen["first parts"] == "packed":
        options["parts"] = oracles.packed(graph.vertex_weights, k)
    if graph.total_vertex_weight >= 2 * k:
        options["lower_imbalance"] = chosen["lower_imbalance of a session"]
    names = list(CHOICES)[:6]
    options["options"] = jetpy.IncrementalOptions(**{name: chosen[name] for name in names})
    model, ids = as_networkx(graph), graph.n
    modifiers = random.Random(int(rng.integers(1 << 30)))
    most, heaviest = chosen["modifiers of a kind"], chosen["heaviest modifier"]
    batches, models = [], []
    for _ in range(BATCHES):
        batch = random_batch(modifiers, model, ids, most, heaviest)
        apply(model, batch, ids)
        ids += np.size(batch.insert_vertices)
        batches.append(batch)
        models.append(model.copy())
    saved = "saved after a batch"
    saves = [rng.pick(saved, CHOICES[saved]) for _ in range(BATCHES)]
    return Changing(graph, k, batches, models, saves, options)
