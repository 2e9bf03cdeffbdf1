"""Graphs and partitions that are written to files and read back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import jetpy
from jetpy.graph.csr import Graph
from jetpy.io import FORMATS
from jetpy.io.compression import COMPRESSIONS
from tests.fuzz import oracles
from tests.fuzz.checks import Finding, ensure, equal
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine, any_column, any_graph, any_sizes, supporting
from tests.fuzz.oracles import Parts

PACKAGES = {".zst": "zstandard"}
"""Packages required by compressions."""
CHOICES: Choices = {
    "format": list(FORMATS),
    "field of a matrix": ["integer", "unsigned-integer", "real", "double"],
    "format of parts": [".npy", ".npz", ".csv", ".json", ".part", ".txt", ""],
    "weights of a filed vertex": [1, 1, 1, 2, 3],
    "compression": [
        *[""] * 4,
        *(suffix for suffix in COMPRESSIONS if find_spec(PACKAGES.get(suffix, "jetpy"))),
    ],
}
WITH_VERTEX_WEIGHTS = (".graph", ".metis", ".npz", ".parhip", ".bgf")


@dataclass(frozen=True, eq=False)
class Filed:
    graph: Graph
    suffix: str
    field: str
    given: Parts
    parts_suffix: str

    def __str__(self) -> str:
        return f"files: {self.graph.name}, as {self.suffix}, parts as {self.parts_suffix!r}"

    def parts(self, engine: Engine) -> Parts:
        """Return the parts of a graph that is passed as the path of its file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"graph{self.suffix}")
            jetpy.write_graph(path, self.graph)
            return jetpy.partition(path, 3, preset="fast", **engine).parts

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph = self.graph
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"graph{self.suffix}")
            jetpy.write_graph(path, graph)
            if self.suffix == ".mtx":
                _rewrite(path, self.field)
            found = jetpy.read_graph(path)
            for array in ("indptr", "indices", "edge_weights", "vertex_weights"):
                yield equal("files of graphs", getattr(found, array), getattr(graph, array))
            yield equal("files of graphs", oracles.sizes_of(found), oracles.sizes_of(graph))
            several, expected = found.constraint_weights, graph.constraint_weights
            is_same = several is expected or (
                several is not None and np.array_equal(several, expected)
            )
            yield ensure("files of graphs", is_same, f"weights are {several}")
            path = Path(folder, f"some{self.parts_suffix}")
            jetpy.write_parts(path, self.given)
            parts = jetpy.read_parts(path, graph.n)
            yield equal("files of parts", parts, self.given)
            yield ensure("files of parts", parts.dtype == np.int32, str(parts.dtype))
        alone, *others = (
            jetpy.partition(graph, 3, preset="fast", **engine).parts
            for engine in supporting(engines, graph)
        )
        for other in others:
            yield equal("engines agree", alone, other)
        yield equal("files of graphs", self.parts(engines[0]), alone)


def filed(rng: Random) -> Filed:
    graph = any_graph(rng, most=None, largest=1000)
    suffix, compression = (rng.pick(what, CHOICES[what]) for what in ("format", "compression"))
    if suffix not in WITH_VERTEX_WEIGHTS:
        graph = replace(graph, vertex_weights=np.ones(graph.n, np.int32))
    if suffix == ".npy":  # 0 means no edge there
        graph = replace(graph, edge_weights=np.maximum(graph.edge_weights, 1))
    if suffix in (".graph", ".metis", ".npz"):
        graph = any_sizes(rng, graph)
        kinds = rng.pick("weights of a filed vertex", CHOICES["weights of a filed vertex"])
        if kinds > 1 and not graph.is_large:
            columns = [any_column(rng, "half zero", graph.n) for _ in range(kinds)]
            graph = jetpy.as_graph(graph, vertex_weights=np.stack(columns, axis=1))
    k = int(rng.integers(1, graph.n + 6))
    parts = rng.integers(k, size=graph.n).astype(np.int32)
    parts_suffix = rng.pick("format of parts", CHOICES["format of parts"])
    field = rng.pick("field of a matrix", CHOICES["field of a matrix"])
    return Filed(graph, suffix + compression, field, parts, parts_suffix + compression)


def _rewrite(path: Path, field: str) -> None:
    """Write a Matrix Market file as other programs do, with another field and with blanks."""
    banner, rest = path.read_text().split("\n", 1)
    path.write_text(f" {banner.replace(' integer ', f' {field} ')} \n  % a comment\n {rest}")
