"""The recipes run, section by section, if their packages are installed."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jetpy
from tests.graphs import edge_dict, random_graph
from tests.markdown import Block, blocks, packages

DOCS = Path(__file__).parents[1] / "docs"
RECIPES = [DOCS / "recipes.md", DOCS / "recipes-solvers.md"]


def sections() -> dict[str, list[Block]]:
    """Return the Python blocks by section, after those above the first section of the page."""
    found: dict[str, list[Block]] = {}
    for page in RECIPES:
        runs = [b for b in blocks(page) if b.language == "python" and not b.skipped]
        first = [block for block in runs if not block.section]
        for block in runs[len(first) :]:
            found.setdefault(block.section, first.copy()).append(block)
    return found


@pytest.mark.parametrize("title", sections())
def test_recipe_runs(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    names: dict[str, Any] = {}
    for block in sections()[title]:
        for package in packages(block.code):
            pytest.importorskip(package)
        exec(compile(block.code, block.page, "exec"), names)


@dataclass
class Process:
    """The part of an MPI communicator that the recipe for DOLFINx uses, between threads."""

    rank: int
    values: list[Any]
    barrier: Barrier

    def _from_all(self, value: Any) -> list[Any]:
        self.values[self.rank] = value
        self.barrier.wait()
        found = self.values.copy()
        self.barrier.wait()
        return found

    def gather(self, value: Any) -> list[Any] | None:
        found = self._from_all(value)
        return None if self.rank else found

    def bcast(self, value: Any) -> Any:
        return self._from_all(value)[0]

    def scan(self, value: int) -> int:
        return sum(self._from_all(value)[: self.rank + 1])


@pytest.mark.parametrize("ghosting", [False, True])
@pytest.mark.parametrize("bounds", [[0, 90], [0, 40, 90], [0, 0, 25, 90]])
def test_dolfinx_recipe_sends_cells_to_owners_and_ghosts(bounds: list[int], ghosting: bool) -> None:
    """Each cell goes to its owner first, then to the owners of its neighbours."""
    names: dict[str, Any] = {}
    exec(sections()["DOLFINx: custom partitioner"][0].code, names)
    graph, processes = random_graph(90, 200, 1), len(bounds) - 1
    values, barrier = [None] * processes, Barrier(processes, timeout=60)

    def work(rank: int) -> list[list[int]]:
        starts = graph.indptr[bounds[rank] : bounds[rank + 1] + 1]
        rows = SimpleNamespace(
            offsets=starts - starts[0], array=graph.indices[starts[0] : starts[-1]].astype(np.int64)
        )
        process = Process(rank, values, barrier)
        found, offsets = names["destinations"](process, processes, rows, ghosting)
        assert found.dtype == offsets.dtype == np.int32
        return [found[a:b].tolist() for a, b in pairwise(offsets)]

    with ThreadPoolExecutor(processes) as threads:
        found = [to for cells in threads.map(work, range(processes)) for to in cells]
    parts = jetpy.partition(graph, processes).parts.tolist()
    expected = [{part} for part in parts]
    for u, v in edge_dict(graph) if ghosting else ():
        expected[u].add(parts[v])
    assert [to[0] for to in found] == parts
    assert [sorted(to) for to in found] == [sorted(to) for to in expected]
