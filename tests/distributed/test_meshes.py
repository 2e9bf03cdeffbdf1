"""Dual graphs of distributed meshes equal those of one process, whatever the blocks."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
import jetpy.distributed
from jetpy.distributed.block import Block
from jetpy.distributed.communicator import Communicator, starts_of
from jetpy.errors import JetpyError
from tests.distributed.threads import run_on_threads

SQUARES = [0, 4, 8], [0, 1, 4, 3, 1, 2, 5, 4]


def elements_of(sizes: Any, nodes: Any, bounds: Any, rank: int) -> tuple[Any, Any]:
    """Return eptr and eind of the elements ``bounds[rank]:bounds[rank + 1]`` of a mesh."""
    starts, (first, end) = starts_of(sizes), bounds[rank : rank + 2]
    return starts[first : end + 1] - starts[first], np.asarray(nodes)[starts[first] : starts[end]]


def rows_of_all(sizes: Any, nodes: Any, bounds: Any, common_nodes: int) -> tuple[Any, Any]:
    def work(comm: Communicator) -> Block:
        own = elements_of(sizes, nodes, bounds, comm.rank)
        return jetpy.distributed.dual_graph(comm, own, common_nodes, elmdist=bounds)

    blocks = run_on_threads(len(bounds) - 1, work)
    for block in blocks:
        assert set(block.edge_weights.tolist()) | set(block.vertex_weights.tolist()) <= {1}
        assert block.indices.dtype == block.indptr.dtype == np.int64
    degrees = np.concatenate([np.diff(block.indptr) for block in blocks])
    return starts_of(degrees), np.concatenate([block.indices for block in blocks])


@st.composite
def meshes(draw: st.DrawFn) -> tuple[list[list[int]], list[int], int]:
    """Draw elements with any nodes, some twice; the blocks of 1 to 4 processes; common nodes."""
    node = st.sampled_from([0, 1, 2, 3, 4, 5, 6, 40, 2**40])
    elements = draw(st.lists(st.lists(node, max_size=5), max_size=12))
    cuts = draw(st.lists(st.integers(0, len(elements)), max_size=3))
    return elements, [0, *sorted(cuts), len(elements)], draw(st.integers(1, 3))


@settings(max_examples=150)
@given(meshes())
def test_rows_equal_brute_force(drawn: tuple[list[list[int]], list[int], int]) -> None:
    elements, bounds, least = drawn
    nodes = np.array([node for element in elements for node in element], np.int64)
    indptr, indices = rows_of_all([*map(len, elements)], nodes, bounds, least)
    found = [
        (int(u), int(v)) for u in range(len(elements)) for v in indices[indptr[u] : indptr[u + 1]]
    ]
    pairs = {
        (a, b)
        for a, b in combinations(range(len(elements)), 2)
        if len(set(elements[a]) & set(elements[b])) >= least
    }
    assert found == sorted(pairs | {(b, a) for a, b in pairs})


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("kind", ["hexahedron", "tetra"])
def test_rows_equal_the_dual_graph_of_one_process(kind: str, size: int) -> None:
    nodes = np.arange(7 * 6 * 5).reshape(7, 6, 5)
    corners = [nodes[a : a + 6, b : b + 5, c : c + 4].ravel() for a, b, c in np.ndindex(2, 2, 2)]
    cells = np.stack(corners, axis=1)[:, [0, 1, 3, 2, 4, 5, 7, 6]]
    if kind == "tetra":
        cells = cells[:, [0, 1, 2, 4]]
    cells = np.random.default_rng(3).permutation(cells)
    least = cells.shape[1] // 2
    expected = jetpy.dual_graph([(kind, cells)], common_nodes=least)
    bounds = np.array([0, 0, 31, 32, len(cells)])[-size - 1 :]
    bounds[0] = 0
    indptr, indices = rows_of_all(np.full(len(cells), cells.shape[1]), cells.ravel(), bounds, least)
    assert np.array_equal(indptr, expected.indptr)
    assert np.array_equal(indices, expected.indices)


@pytest.mark.parametrize(
    ("elements", "common_nodes", "elmdist", "message"),
    [
        (([0, 4, 9], SQUARES[1]), 2, None, "process 1: eptr must begin with 0"),
        (([0, 5, 4, 8], SQUARES[1]), 2, None, "process 1: eptr must begin with 0"),
        (([], []), 2, None, "process 1: eptr must begin with 0, must not decrease"),
        ((SQUARES[0], np.arange(8.0)), 2, None, "process 1: eind must be a one-dimensional array"),
        (([[0], [4, 8]], SQUARES[1]), 2, None, "process 1: eptr must be a one-dimensional array"),
        (([0, 1, 3], [0, 1, -2]), 2, None, r"process 1: eind\[2\], in row 1, is -2; nodes must"),
        (SQUARES[0], 2, None, "process 1: elements must be a tuple"),
        (SQUARES, 0, None, "process 1: common_nodes is 0; it must be an integer in 1.."),
        (SQUARES, "two", None, "process 1: common_nodes is 'two'; it must be an integer in 1.."),
        (SQUARES, 3, None, "process 1 passes common_nodes=3, but process 0 passes common_nodes=2"),
        (SQUARES, 2, [0, 1, 4], r"process 1: elmdist does not match .*; it must be \[0, 2, 4\]"),
        (SQUARES, 2, "all", "process 1: elmdist must be a one-dimensional array of integers"),
    ],
)
def test_wrong_input_of_one_process_is_one_error(
    elements: Any, common_nodes: Any, elmdist: Any, message: str
) -> None:
    passed: list[tuple[Any, Any, Any]] = [(SQUARES, 2, None), (elements, common_nodes, elmdist)]

    def work(comm: Communicator) -> str:
        own, least, starts = passed[comm.rank]
        with pytest.raises(JetpyError, match=message) as failed:
            jetpy.distributed.dual_graph(comm, own, least, elmdist=starts)
        return str(failed.value)

    first, other = run_on_threads(2, work)
    assert first == other
