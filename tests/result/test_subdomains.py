"""Vertices by part, ghosts, and subgraphs of parts, compared with plain Python."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jetpy
from jetpy.errors import OptionError
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay
from jetpy.result.partition import LevelTable, Partition
from tests.graphs import SMALL_GRAPHS, edge_dict, path, random_graph
from tests.strategies import weighted_graphs


def as_partition(graph: Graph, parts: Any, k: int) -> Partition:
    """Return a result with the given parts."""
    shares = np.ones(k, np.int64)
    return Partition(
        graph=graph,
        parts=np.array(parts, np.int32),
        k=k,
        cut=0,
        ideals=shares,
        limits=shares,
        lower_limits=0 * shares,
        seed=0,
        preset="default",
        options=jetpy.Options(),
        backend="cpu",
        threads=1,
        seconds={},
        levels=LevelTable(),
        launches=0,
    )


@st.composite
def partitions(draw: st.DrawFn) -> Partition:
    small = st.sampled_from(sorted(SMALL_GRAPHS)).map(lambda name: SMALL_GRAPHS[name]())
    graph = draw(st.one_of(small, weighted_graphs()))
    k = draw(st.integers(1, 6))
    parts = draw(st.lists(st.integers(0, k - 1), min_size=graph.n, max_size=graph.n))
    return as_partition(graph, parts, k)


def checked_subgraph(result: Partition, p: int, halo: int) -> None:
    parts, edges = result.parts.tolist(), edge_dict(result.graph)
    owned = [v for v in range(result.graph.n) if parts[v] == p]
    near = {v for u, v in edges if parts[u] == p != parts[v]}
    ghosts = sorted(near, key=lambda v: (parts[v], v))

    assert result.members(p).tolist() == owned
    assert result.ghosts(p).tolist() == ghosts
    found = result.subgraph(p, halo)
    ids = [*owned, *ghosts] if halo else owned
    assert (found.part, found.owned) == (p, len(owned))
    assert found.global_ids.tolist() == ids
    assert found.ghost_owner.tolist() == [parts[v] for v in ids[len(owned) :]]
    inside = {
        (u, v): w
        for (u, v), w in edges.items()
        if u in ids and v in ids and p in (parts[u], parts[v])
    }
    renamed = {(ids[u], ids[v]): w for (u, v), w in edge_dict(found.graph).items()}
    assert renamed == inside
    assert found.graph.n == len(ids)
    assert len(found.graph.indices) == found.graph.indptr[-1] == len(inside)
    assert found.graph.vertex_weights.tolist() == result.graph.vertex_weights[ids].tolist()
    # as_graph refuses an invalid subgraph.
    jetpy.as_graph(tuple(getattr(found.graph, name) for name in ARRAYS))
    for name in ARRAYS:
        assert getattr(found.graph, name).dtype == np.int32
    for ids_or_parts in (found.global_ids, found.ghost_owner, result.members(p), result.ghosts(p)):
        assert ids_or_parts.dtype == np.int32


ARRAYS = ("indptr", "indices", "edge_weights", "vertex_weights")


@given(partitions(), st.sampled_from([0, 1]))
def test_members_ghosts_and_subgraphs_equal_the_oracle(result: Partition, halo: int) -> None:
    assert result.order.dtype == result.offsets.dtype == np.int32
    rows = [result.order[a:b].tolist() for a, b in pairwise(result.offsets)]
    assert rows == [np.flatnonzero(result.parts == p).tolist() for p in range(result.k)]
    for p in range(result.k):
        checked_subgraph(result, p, halo)


def test_ghosts_of_a_mesh_match_between_parts() -> None:
    graph = delaunay(3000)
    result = as_partition(graph, np.arange(graph.n) * 40 // graph.n, 40)
    ghosts = {}
    for p, found in enumerate(result.subgraphs(halo=1)):
        assert found.part == p
        ghosts[p] = {
            owner: found.global_ids[found.owned :][found.ghost_owner == owner].tolist()
            for owner in np.unique(found.ghost_owner).tolist()
        }
        within = found.graph.indices < found.owned
        source = found.graph.sources(0, found.graph.n)
        assert (within | (source < found.owned)).all()
    sizes = [found.graph.m for found in result.subgraphs()]
    assert (
        sum(sizes)
        == int((result.parts[graph.sources(0, graph.n)] == result.parts[graph.indices]).sum()) // 2
    )
    for p, by_owner in ghosts.items():  # p receives from q the vertices that q sends to p
        for q, wanted in by_owner.items():
            mine = set(result.members(q).tolist())
            assert set(wanted) <= mine
            assert p in ghosts[q]


def test_subgraph_keeps_names() -> None:
    graph = replace(path(4), names=("a", "b", "c", "d"))
    found = as_partition(graph, [1, 1, 0, 0], 2).subgraph(0, halo=1).graph
    assert found.names == ("c", "d", "b")
    assert found.name == "path4, part 0"


def test_returned_arrays_may_be_modified() -> None:
    result = as_partition(path(6), [0, 0, 0, 1, 1, 1], 2)
    result.members(0)[:] = 9
    result.subgraph(0, 1).global_ids[:] = 9
    assert result.members(0).tolist() == [0, 1, 2]


def test_subgraphs_are_computed_lazily(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr("jetpy.result.partition.subgraph", lambda *given: made.append(given[3]))
    found = as_partition(random_graph(40, 80, 1), np.arange(40) % 4, 4).subgraphs()
    assert made == []
    next(found)
    next(found)
    assert made == [0, 1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda result: result.members(2), r"there is no part 2; parts are numbered 0\.\.1"),
        (lambda result: result.members(-1), "there is no part -1"),
        (lambda result: result.ghosts(2), "there is no part 2"),
        (lambda result: result.subgraph(2), "there is no part 2"),
        (lambda result: result.subgraph(0, 2), "halo is 2; it must be 0 .* or 1"),
        (lambda result: result.subgraphs(halo=-1), "halo is -1; it must be 0"),
    ],
)
def test_bad_part_or_halo_is_refused(call: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        call(as_partition(path(4), [0, 0, 1, 1], 2))


@pytest.mark.parametrize("name", ["p.part", "p.txt", "p.npy", "p.npz", "p.csv.gz", "p.json"])
def test_result_saves_its_parts(tmp_path: Path, name: str) -> None:
    result = as_partition(path(4), [0, 2, 1, 1], 3)
    result.save(tmp_path / name)
    assert jetpy.read_parts(tmp_path / name, 4).tolist() == [0, 2, 1, 1]
    with pytest.raises(jetpy.GraphError, match=r"jetpy does not write partitions as \.xlsx"):
        result.save(tmp_path / "p.xlsx")
