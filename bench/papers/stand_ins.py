"""Graphs of the papers: selected graphs with the same name, or stand-ins of the same class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from bench.instances import Instance
from bench.papers.setting import Setting
from jetpy import Graph, as_graph, generators

CIRCUIT, MESH, FEM, ROAD, SOCIAL = "circuit", "mesh", "FEM", "road", "social"
"""Classes: netlists, plane triangulations, finite elements in space, roads, social networks."""
SCALE, LEAST = 16, 100_000
QUICK_SCALE, QUICK_LEAST = 1000, 12_000
"""Divisors of the paper's number of vertices, and least numbers of vertices, of stand-ins; those of
quick runs. No stand-in is larger than the paper's graph."""


@dataclass(frozen=True)
class PaperGraph:
    """A graph of a paper: its name, class, and numbers of vertices and undirected edges."""

    name: str
    cls: str
    n: int
    m: int

    def find(self, setting: Setting) -> Instance:
        """Return the largest selected graph with this name, or a stand-in if there is none.

        Names may have another suffix (``wb_dma_gates`` for ``wb_dma``) and underscores for dots.
        """
        name = self.name.replace(".", "_")
        found = [i for i in setting.instances if f"{i.name}_".startswith(f"{name}_")]
        if found:
            return max(found, key=lambda instance: instance.n)
        return self.stand_in(setting)

    def stand_in(self, setting: Setting) -> Instance:
        """Return a generated graph of the same class, smaller than the paper's."""
        scale, least = (QUICK_SCALE, QUICK_LEAST) if setting.quick else (SCALE, LEAST)
        return self.generated(min(self.n, max(least, self.n // scale)))

    def generated(self, n: int) -> Instance:
        """Return a generated graph of the same class with about `n` vertices."""
        make = {
            CIRCUIT: partial(netlist, n, n * self.m // self.n, self.n),
            MESH: partial(generators.delaunay, n, self.n),
            FEM: partial(generators.cube, *3 * (round(n ** (1 / 3)),), 26),
            ROAD: partial(generators.thinned_delaunay, n, self.n),
            SOCIAL: partial(generators.rmat, n.bit_length() - 1, self.m // self.n),
        }[self.cls]
        name = f"generated {self.cls} of {n} for {self.name}"
        return Instance(name, self.cls, "generated", n, make)


def by_name(*graphs: PaperGraph) -> dict[str, PaperGraph]:
    """Return graphs of a paper by name."""
    return {graph.name: graph for graph in graphs}


def described(setting: Setting, instance: Instance) -> str:
    """Return the source and size of a graph, so that no stand-in is taken for the original."""
    graph = setting.graph(instance)
    source = f"generated {instance.cls}" if instance.kind == "generated" else instance.name
    return f"{source}, n = {graph.n:,}, m = {graph.m:,}"


def netlist(n: int, m: int, seed: int) -> Graph:
    """Return a graph like a netlist or a timing graph; connected, with at most `m` edges.

    Each gate reads one gate before it, and some gates read more. The distances of the gates have a
    Pareto distribution of index 1/2, so that cuts grow with the square root of the size: Rent's
    rule with exponent 1/2.
    """
    rng = np.random.default_rng(seed)
    reader = np.concatenate((np.arange(1, n), rng.integers(1, n, m - (n - 1))))
    distance = np.minimum(1 + rng.pareto(0.5, len(reader)), reader).astype(np.int64)
    ends = reader, reader - distance
    matrix = sp.coo_array((np.ones(len(reader), np.int32), ends), shape=(n, n)).tocsr()
    matrix.data[:] = 1
    return as_graph(matrix + matrix.T)
