"""Wrong calls: each must raise an error of jetpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

import jetpy
from jetpy.graph.csr import INT32_MAX, Graph
from tests.fuzz.checks import Finding, ensure
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine, any_graph

Call = Callable[..., object]
LOOP = np.array([0, 1]), np.array([0])
ONE_WAY = np.array([0, 1, 1]), np.array([1])
PAIR = np.array([0, 1, 2]), np.array([1, 0])
MANY = 2**15 + 2
"""This number of maximum weights sums to more than 2**46."""
APART = np.zeros(MANY + 1, int), np.zeros(0, int)
HEAVY_PATH = np.arange(MANY + 1), np.arange(MANY) ^ 1
"""Edges between pairs of consecutive vertices."""
WIDE: dict[str, object] = {"vertex_weights": [2**31 - 1, 1]}
"""Weights of `PAIR` that sum to 2**31, which only some functions accept."""


def _partition(graph: Graph, engine: Engine, **options: Any) -> object:
    return jetpy.partition(graph, **{"k": 2, **engine, **options})


def _of_arrays(*arrays: object) -> Call:
    return lambda graph, engine: jetpy.partition(arrays, 2, **engine)


def _refine(parts: Callable[[int], object], k: object = 2) -> Call:
    return lambda graph, engine: jetpy.refine(graph, parts(graph.n), k, **engine)


def _of_pair(function: Callable[..., object], *arguments: object, **options: object) -> Call:
    return lambda graph, engine: function(PAIR, *arguments, **options, **engine)


def _map(hierarchy: object, distances: object, method: object = "im") -> Call:
    return lambda graph, engine: jetpy.map_processes(
        graph, hierarchy, distances, method=method, **engine
    )


def _update(**modifiers: Any) -> Call:
    def call(graph: Graph, engine: Engine) -> object:
        live = jetpy.IncrementalPartitioner(PAIR, 2, **engine)
        before = live.partition.tolist(), live.cut, live.m
        try:
            return live.update(jetpy.Batch(**modifiers))
        finally:
            assert before == (live.partition.tolist(), live.cut, live.m), "the state has changed"

    return call


OPTIONS: dict[str, Sequence[Any]] = {
    "k": [0, -1, 2**24, 2**70, 2.5, "2", None, math.nan],
    "imbalance": [-0.01, math.nan, math.inf, "0.03", 1j],
    "lower_imbalance": [-0.01, 1.01, math.nan, "0"],
    "min_weights": [-1, 0.5, math.nan, "1", 2**40, [1], [[1]]],
    "max_weights": [-1, 9.5, math.inf, "99", [9], [[9]]],
    "seed": [-1, 2**31, 0.5, "1", None],
    "preset": ["", "Default", None, 1],
    "coarsening": ["", "two_hop", 1],
    "refinement": ["", "Jet", 1],
    "backend": ["", "cuda", None],
    "threads": [0, -1],
}
MISTAKES: dict[str, Call] = {
    **{
        f"{name}={value!r}": lambda graph, engine, name=name, value=value: _partition(
            graph, engine, **{name: value}
        )
        for name, values in OPTIONS.items()
        for value in values
    },
    "a loop": _of_arrays(*LOOP),
    "an edge one way": _of_arrays(*ONE_WAY),
    "an edge twice": _of_arrays([0, 2, 4], [1, 1, 0, 0]),
    "an unknown neighbour": _of_arrays([0, 1, 2], [2, 0]),
    "a negative neighbour": _of_arrays([0, 1, 2], [-1, 0]),
    "offsets that fall": _of_arrays([0, 2, 1, 2], [1, 0]),
    "offsets beyond the end": _of_arrays([0, 1, 3], [1, 0]),
    "no offsets": _of_arrays([], []),
    "fractional neighbours": _of_arrays([0, 1, 2], [1.5, 0.5]),
    "edge weights that differ": _of_arrays(*PAIR, [1, 2]),
    "edge weights below 0": _of_arrays(*PAIR, [-1, -1]),
    "edge weights of 2**31": _of_arrays(*PAIR, [2**31, 2**31]),
    "edge weights of more than 2**46": _of_arrays(*HEAVY_PATH, [INT32_MAX] * MANY),
    "too few edge weights": _of_arrays(*PAIR, [1]),
    "vertex weights below 0": _of_arrays(*PAIR, [1, 1], [1, -1]),
    "vertex weights of 2**31": _of_arrays(*PAIR, [1, 1], [2**31, 1]),
    "vertex weights of more than 2**46": _of_arrays(*APART, [], [INT32_MAX] * MANY),
    "fractional vertex weights": _of_arrays(*PAIR, [1, 1], [1, 0.5]),
    "vertex weights that are nan": _of_arrays(*PAIR, [1, 1], [1, math.nan]),
    "no graph": _of_arrays(None),
    "wide weights in a mapping": _of_pair(jetpy.map_processes, "2", "1", **WIDE),
    "wide weights in a session": lambda graph, engine: jetpy.IncrementalPartitioner(
        (*PAIR, None, WIDE["vertex_weights"]), 2, **engine
    ),
    "wide weights and several": _of_pair(
        jetpy.partition,
        2,
        vertex_weights=[[1, 1], [1, 1]],
        edge_weights=[2**30, 2**30],
    ),
    "costs of migration of more than 2**46": _of_pair(
        jetpy.partition, 2, home=[0, 0], migration=2**46
    ),
    "several weights that overflow": _of_pair(
        jetpy.partition, 2, vertex_weights=[[2**31 - 1, 1], [1, 1]]
    ),
    "several weights below 0": _of_pair(jetpy.partition, 2, vertex_weights=[[1, 1], [1, -1]]),
    "several weights of one vertex": _of_pair(jetpy.partition, 2, vertex_weights=[[1, 1]]),
    "more imbalances than weights": _of_pair(
        jetpy.partition, 2, vertex_weights=[[1, 1], [1, 1]], imbalance=[0.1, 0.1, 0.1]
    ),
    "sizes below 0": _of_pair(jetpy.partition, 2, vertex_sizes=[1, -1]),
    "sizes of one vertex": _of_pair(jetpy.partition, 2, vertex_sizes=[1]),
    "sizes that overflow": _of_pair(jetpy.partition, 2, vertex_sizes=[2**31 - 1, 1]),
    "fractional sizes": _of_pair(jetpy.partition, 2, vertex_sizes=[1, 0.5]),
    "several weights in a mapping": _of_pair(
        jetpy.map_processes, "2", "1", vertex_weights=[[1, 1], [1, 1]]
    ),
    "several weights and connected": _of_pair(
        jetpy.partition, 2, vertex_weights=[[1, 1], [1, 1]], connected=True
    ),
    "several weights and volume": _of_pair(
        jetpy.partition, 2, vertex_weights=[[1, 1], [1, 1]], objective="volume"
    ),
    "connected and volume": _of_pair(jetpy.partition, 2, connected=True, objective="volume"),
    "an unknown objective": _of_pair(jetpy.partition, 2, objective="edges"),
    "a target of 0": _of_pair(jetpy.partition, 2, targets=[1, 0]),
    "fixed beyond k": _of_pair(jetpy.partition, 2, fixed=[0, 2]),
    "too many parts": _refine(lambda n: np.zeros(n + 1, int)),
    "parts of two dimensions": _refine(lambda n: np.zeros((n, 2), int)),
    "a negative part": _refine(lambda n: [-1] * (n or 1)),
    "a part that is k": _refine(lambda n: [2] * (n or 1)),
    "fractional parts": _refine(lambda n: [0.5] * (n or 1)),
    "refine into 0": _refine(lambda n: np.zeros(n, int), 0),
    "refine into 1.5": _refine(lambda n: np.zeros(n, int), 1.5),
    "no hierarchy": _map("", "1"),
    "a hierarchy of 0": _map("2:0", "1:2"),
    "a hierarchy of letters": _map("a:b", "1:2"),
    "a hierarchy beyond 2**24": _map([2**13, 2**13], [1, 2]),
    "a distance below 0": _map([2, 2], [1, -2]),
    "more distances than levels": _map([2, 2], [1, 2, 3]),
    "distances without a hierarchy": _map(None, "1:2"),
    "a matrix that is not square": _map(None, np.zeros((2, 3), int)),
    "a matrix that is not symmetric": _map(None, [[0, 1], [2, 0]]),
    "a matrix with a diagonal": _map(None, [[1, 1], [1, 0]]),
    "a matrix of fractions": _map(None, [[0, 0.5], [0.5, 0]]),
    "rows of different lengths": _map(None, [[0, 1], [1]]),
    "another matrix than the hierarchy": _map("4", [[0, 1], [1, 0]]),
    "hm without a hierarchy": _map(None, [[0, 1], [1, 0]], "hm"),
    "an unknown method": _map("2", "1", "xx"),
    "delete an unknown vertex": _update(delete_vertices=[2]),
    "delete a vertex twice": _update(delete_vertices=[1, 1]),
    "delete an unknown edge": _update(insert_vertices=1, delete_edges=[(0, 2)]),
    "delete an edge twice": _update(delete_edges=[(0, 1), (1, 0)]),
    "insert an existing edge": _update(insert_edges=[(0, 1)]),
    "insert an edge twice": _update(insert_vertices=1, insert_edges=[(0, 2), (2, 0)]),
    "insert a loop": _update(insert_edges=[(1, 1)]),
    "insert an edge of a deleted vertex": _update(delete_vertices=[0], insert_edges=[(0, 1)]),
    "insert triples": _update(insert_edges=[(0, 1, 2)]),
    "insert a weight below 0": _update(insert_vertices=[-1]),
    "insert -1 vertices": _update(insert_vertices=-1),
    "insert a weight that overflows": _update(insert_vertices=[2**31 - 2]),
    "insert more edges than weights": _update(delete_edges=[(0, 1)], edge_weights=[1, 2]),
    "insert letters": _update(insert_vertices=["a"]),
}
CHOICES: Choices = {"mistake": list(MISTAKES)}
PER_RUN = 16
"""Mistakes drawn for one graph. One per run would leave some undrawn in 12,000 runs."""


@dataclass(frozen=True, eq=False)
class Mistakes:
    graph: Graph
    names: Sequence[str]

    def __str__(self) -> str:
        return f"mistakes: {self.graph.name}, {'; '.join(self.names)}"

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        for name, engine in product(self.names, engines):
            try:
                MISTAKES[name](self.graph, engine)
            except jetpy.JetpyError as error:
                yield ensure("mistakes", str(error), f"{name}: refused without a message")
            else:
                yield Finding("mistakes", f"{name}: not refused")


def mistakes(rng: Random) -> Mistakes:
    graph = any_graph(rng)
    return Mistakes(graph, [rng.pick("mistake", CHOICES["mistake"]) for _ in range(PER_RUN)])
