"""Calls of `jetpy.parmetis` by several processes, which threads represent, and dual graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import jetpy
import jetpy.distributed
from jetpy import parmetis
from jetpy.distributed.block import Block
from jetpy.distributed.communicator import Communicator
from jetpy.graph.csr import INT32_MAX, Graph
from tests.distributed.test_meshes import elements_of
from tests.distributed.test_pieces import block_of
from tests.distributed.threads import run_on_threads
from tests.fuzz.checks import Finding, equal, same
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine, any_graph, any_k, any_of, spelled
from tests.fuzz.meshes import Blocks, corners_of, meshed
from tests.fuzz.oracles import Ints, Parts

CHOICES: Choices = {
    "function of ParMETIS": [
        *("part_kway", "part_kway", "refine_kway", "part_mesh_kway", "adaptive_repart")
    ],
    "processes of ParMETIS": [1, 2, 3, 4],
    "wgtflag": [None, None, 0, 1, 2, 3],
    "tpwgts": [False, False, True],
    "ncommonnodes": [1, 2, 3, 4],
    "ncon": [1, 1, 1, 2, 3],
}
ENGINE: Engine = {"backend": "cpu", "threads": 1}
Call = Callable[[Communicator], parmetis.KwayPartition]


@dataclass(frozen=True, eq=False)
class Target:
    """Options of ParMETIS that are common to all functions, and those of jetpy."""

    ubvec: list[float]
    tpwgts: list[float] | None
    seed: int

    @property
    def here(self) -> dict[str, Any]:
        """Arguments of `jetpy.parmetis`; a part has the same share of each weight."""
        ncon, shares = len(self.ubvec), self.tpwgts
        each = None if shares is None else np.repeat(shares, ncon).tolist()
        own = {"ncon": ncon, "ubvec": self.ubvec, "tpwgts": each, "seed": self.seed}
        return {**own, "preset": "fast", **ENGINE}

    @property
    def of_jetpy(self) -> dict[str, Any]:
        """Arguments of `jetpy.partition`; the imbalances are as they were drawn."""
        imbalance = [round(number - 1, 6) for number in self.ubvec]
        own = {"imbalance": imbalance, "targets": self.tpwgts, "seed": self.seed}
        return {**own, "large_imbalance": True, "preset": "fast", **ENGINE}


@dataclass(frozen=True, eq=False)
class PortedGraph:
    graph: Graph
    weights: Ints
    k: int
    bounds: Ints
    given: Parts | None
    wgtflag: int | None
    target: Target
    ratio: float | None = None
    """`ipc2redist` of adaptive_repart; None for the other functions."""

    def __str__(self) -> str:
        function = "part_kway" if self.given is None else "refine_kway"
        function = function if self.ratio is None else f"adaptive_repart to {self.ratio}"
        numbers = f"nparts={self.k}, vtxdist={self.bounds.tolist()}, wgtflag={self.wgtflag}"
        return f"{function}: {self.graph.name}, {numbers}, {spelled(self.target.here)}"

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, flag = self.graph, 3 if self.wgtflag is None else self.wgtflag
        weights = (
            graph.edge_weights if flag & 1 else None,
            self.weights if flag & 2 else np.ones_like(self.weights),
        )
        whole = graph.indptr, graph.indices, *weights
        if self.given is None:
            expected = jetpy.partition(whole, self.k, **self.target.of_jetpy)
        elif self.ratio is not None:
            home = {"home": self.given, "migration": 1 / self.ratio}
            expected = jetpy.partition(whole, self.k, **home, **self.target.of_jetpy)
        else:
            expected = jetpy.refine(whole, self.given, self.k, **self.target.of_jetpy)
        yield from _agreement(len(self.bounds) - 1, self._process, expected)

    def _process(self, comm: Communicator) -> parmetis.KwayPartition:
        rows = block_of(self.graph, self.bounds, comm.rank)
        arrays = self.bounds, rows.indptr, rows.indices, self.k
        options = {"wgtflag": self.wgtflag, **self.target.here}
        place = slice(*self.bounds[comm.rank : comm.rank + 2])
        options |= {"vwgt": self.weights[place].ravel(), "adjwgt": rows.edge_weights}
        if self.given is None:
            return parmetis.part_kway(comm, *arrays, **options)
        own = self.given[place]
        if self.ratio is not None:
            return parmetis.adaptive_repart(comm, *arrays, own, ipc2redist=self.ratio, **options)
        return parmetis.refine_kway(comm, *arrays, own, **options)


@dataclass(frozen=True, eq=False)
class PortedMesh:
    blocks: Blocks
    k: int
    bounds: Ints
    common_nodes: int
    weights: Ints
    target: Target

    def __str__(self) -> str:
        sizes = {name: cells.shape for name, cells in self.blocks}
        numbers = f"ncommonnodes={self.common_nodes}, nparts={self.k}"
        blocks = f"elmdist={self.bounds.tolist()}"
        return f"part_mesh_kway: {sizes}, {numbers}, {blocks}, {spelled(self.target.here)}"

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        dual = jetpy.dual_graph(self.blocks, common_nodes=self.common_nodes)
        rows = run_on_threads(len(self.bounds) - 1, self._rows)
        yield equal("mesh neighbours", np.concatenate([own.indices for own in rows]), dual.indices)
        degrees = np.concatenate([np.diff(own.indptr) for own in rows])
        yield equal("mesh neighbours", degrees, dual.degrees)
        whole = dual.indptr, dual.indices, None, self.weights
        expected = jetpy.partition(whole, self.k, **self.target.of_jetpy)
        yield from _agreement(len(self.bounds) - 1, self._process, expected)

    def _elements(self, rank: int) -> tuple[Ints, Ints]:
        corners = [corners_of(name, cells) for name, cells in self.blocks]
        sizes = np.concatenate([np.full(len(cells), cells.shape[1]) for cells in corners])
        nodes = np.concatenate([cells.ravel() for cells in corners])
        return elements_of(sizes, nodes, self.bounds, rank)

    def _rows(self, comm: Communicator) -> Block:
        return jetpy.distributed.dual_graph(comm, self._elements(comm.rank), self.common_nodes)

    def _process(self, comm: Communicator) -> parmetis.KwayPartition:
        own = self.weights[self.bounds[comm.rank] : self.bounds[comm.rank + 1]].ravel()
        arrays = self.bounds, *self._elements(comm.rank)
        goal = self.common_nodes, self.k
        return parmetis.part_mesh_kway(comm, *arrays, *goal, elmwgt=own, **self.target.here)


def _agreement(size: int, call: Call, expected: jetpy.Partition) -> Iterator[Finding]:
    """Compare the results of all processes with that of one."""
    results = run_on_threads(size, call)
    for result in results:
        yield same("cut", result.edgecut, expected.cut)
    parts = np.concatenate([result.part for result in results])
    yield equal("processes agree", parts, expected.parts)


def ported(rng: Random) -> PortedGraph | PortedMesh:
    chosen = {what: rng.pick(what, CHOICES[what]) for what in CHOICES}
    function, size = chosen["function of ParMETIS"], chosen["processes of ParMETIS"]
    ncon = 1 if function == "adaptive_repart" else chosen["ncon"]
    if function == "part_mesh_kway":
        blocks = meshed(rng).blocks
        n = sum(len(cells) for _, cells in blocks)
    else:
        graph = any_graph(rng, most=None if ncon == 1 else INT32_MAX, largest=1000)
        n = graph.n
    k, bounds = (
        any_k(rng, n),
        np.concatenate(([0], np.sort(rng.integers(n + 1, size=size - 1)), [n])),
    )
    tpwgts = (rng.integers(1, 9, k) / 8).tolist() if chosen["tpwgts"] else None
    ubvec = [1 + any_of(rng, "imbalance") for _ in range(ncon)]
    target = Target(ubvec, tpwgts, int(rng.integers(2**31)))
    weights = rng.integers(0, 4, n if ncon == 1 else (n, ncon))
    if function == "part_mesh_kway":
        return PortedMesh(blocks, k, bounds, chosen["ncommonnodes"], weights, target)
    if ncon == 1:
        weights = graph.vertex_weights
    given = None if function == "part_kway" else rng.integers(k, size=n).astype(np.int32)
    ratio = float(rng.choice([0.1, 1, 3, 1000])) if function == "adaptive_repart" else None
    return PortedGraph(graph, weights, k, bounds, given, chosen["wgtflag"], target, ratio)
