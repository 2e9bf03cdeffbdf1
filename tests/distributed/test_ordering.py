"""`jetpy.distributed.order` and `nested_dissection`: the order of one process, refused input."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp

import jetpy
import jetpy.distributed
from jetpy import generators
from jetpy.distributed.communicator import Communicator
from jetpy.errors import GraphError, OptionError, OutOfMemoryError
from jetpy.ordering import dissection
from tests.distributed.test_pieces import evenly
from tests.distributed.threads import run_on_threads

GRID = generators.grid(30, 20)


def pattern(matrix: Any) -> sp.csr_array:
    """Return the symmetric pattern of a matrix."""
    csr = sp.csr_array(matrix)
    return sp.csr_array((csr + csr.T) != 0).astype(np.int32)


def with_dense_rows() -> sp.csr_array:
    grid = sp.lil_array((420, 420))
    near = generators.grid(20, 20)
    grid[near.sources(0, 400), near.indices] = 1
    grid[[400, 410]] = 1
    return pattern(grid)


def matrix_of(graph: jetpy.Graph) -> sp.csr_array:
    rows = np.ones(len(graph.indices), np.int32), graph.indices, graph.indptr
    return sp.csr_array(rows, shape=(graph.n, graph.n))


PATTERNS = {
    "mesh": matrix_of(generators.delaunay(700, seed=2)),
    "cube": matrix_of(generators.cube(8, 9, 9)),
    "network": matrix_of(generators.rmat(9, 4)),
    "disconnected": sp.block_diag(
        [matrix_of(generators.grid(20, 20)), np.zeros((50, 50)), *[np.ones((3, 3))] * 20],
        format="csr",
    ),
    "dense rows": with_dense_rows(),
    "equal rows": pattern(np.kron(matrix_of(generators.grid(10, 12)).toarray(), np.ones((3, 3)))),
}
FEW = {
    "nothing": sp.csr_array((0, 0)),
    "one row": sp.csr_array((1, 1)),
    "no entries": sp.csr_array((4, 4)),
    "a path": pattern(np.eye(7, k=1)),
}


def order(
    comm: Any,
    matrix: sp.csr_array,
    bounds: Any = None,
    method: str = "nested_dissection",
    **options: Any,
) -> Any:
    """Order a matrix; each process passes a block of its rows."""
    size, rank = (1, 0) if comm is None else (comm.size, comm.rank)
    bounds = evenly(matrix.shape[0], size) if bounds is None else bounds
    own = matrix[bounds[rank] : bounds[rank + 1]]
    if options.get("together") is not None:
        options["together"] = options["together"][bounds[rank] : bounds[rank + 1]]
    block = own.indptr.astype(np.int64), own.indices.astype(np.int64)
    return getattr(jetpy.distributed, method)(comm, block, threads=1, **options)


def check(
    matrix: sp.csr_array, size: int, method: str = "nested_dissection", **options: Any
) -> None:
    expected = getattr(jetpy, method)(matrix, threads=1, **options)
    assert expected.tree is not None
    results = run_on_threads(size, partial(order, matrix=matrix, method=method, **options))
    assert np.array_equal(np.concatenate([r.iperm for r in results]), expected.iperm)
    for found in results:
        assert np.array_equal(found.perm, expected.perm)
        assert np.array_equal(found.tree.parents, expected.tree.parents)
        assert np.array_equal(found.tree.starts, expected.tree.starts)
        assert np.array_equal(found.iperm, expected.iperm[found.first :][: len(found.iperm)])
        assert (found.n, found.processes, found.threads) == (matrix.shape[0], size, size)
        assert (found.whole.fill, found.whole.choices) == (expected.fill, expected.choices)


@pytest.mark.parametrize(("preset", "size"), [("fast", 2), ("default", 1), ("best", 3)])
@pytest.mark.parametrize("name", PATTERNS)
def test_order_equals_that_of_one_process(name: str, preset: str, size: int) -> None:
    check(PATTERNS[name], size, preset=preset, leaf_size=30, seed=size)


@pytest.mark.parametrize("keeps", [False, True])
def test_rows_that_come_last(keeps: bool) -> None:
    last = np.random.default_rng(3).permutation(700)[:110]
    check(PATTERNS["mesh"], 3, leaf_size=30, last=last, keep_last_order=keeps)


@pytest.mark.parametrize("name", FEW)
def test_all_rows_come_last(name: str) -> None:
    check(FEW[name], 3, last=np.arange(FEW[name].shape[0]))


def test_groups_of_rows_on_several_processes() -> None:
    rng = np.random.default_rng(4)
    groups = np.where(rng.random(700) < 0.3, -1, rng.permutation(700) // 2)
    last = np.flatnonzero(groups % 7 == 1)
    check(PATTERNS["mesh"], 3, leaf_size=30, together=groups, last=last)


@pytest.mark.parametrize("size", [2, 3])
def test_orders_to_start_from(size: int) -> None:
    start = np.random.default_rng(size).permutation(700)
    check(PATTERNS["mesh"], size, leaf_size=30, start=start)


@pytest.mark.parametrize("preset", ["fast", "best"])
def test_orders_to_start_from_with_constraints(preset: str) -> None:
    matrix = PATTERNS["dense rows"]
    n = matrix.shape[0]
    groups = np.random.default_rng(5).permutation(n) // 2
    last, start = np.flatnonzero(groups % 9 == 1), np.arange(n)[::-1]
    check(matrix, 3, preset=preset, leaf_size=30, together=groups, last=last, start=start)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("name", PATTERNS)
def test_choices_by_component_equal_those_of_one_process(name: str, size: int) -> None:
    check(PATTERNS[name], size, method="order", seed=size)


@pytest.mark.parametrize("method", ["order", "nested_dissection"])
@pytest.mark.parametrize(
    ("start", "message"),
    [
        (np.arange(599), r"process 0: start has shape \(599,\), but the matrix has 600 rows"),
        (np.arange(1, 601), r"process 0: start\[599\] is 600, but must be in 0..599"),
        (np.zeros(600, int), "process 0: start is not a permutation: row 0 occurs twice"),
        (0.5, "process 0: start"),
    ],
)
def test_wrong_starts_are_refused_on_all_ranks(method: str, start: Any, message: str) -> None:
    def run(comm: Communicator) -> None:
        with pytest.raises(jetpy.JetpyError, match=message):
            order(comm, matrix_of(GRID), method=method, start=start)

    run_on_threads(3, run)


def test_a_wrong_start_on_one_rank_is_refused_on_all() -> None:
    def run(comm: Communicator) -> None:
        start = np.full(600, 7) if comm.rank == 1 else np.arange(600)
        with pytest.raises(OptionError, match="process 1: start is not a permutation: row 7"):
            order(comm, matrix_of(GRID), start=start)

    run_on_threads(2, run)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (600, "group 5 of together has row 3, which is in last, and row 599"),
        (599, r"process 1: together has shape \(299,\)"),
    ],
)
def test_wrong_groups_are_refused_on_all_ranks(rows: int, message: str) -> None:
    """The two rows of the group are on different processes, and one of them comes last."""
    groups = np.full(600, -1)
    groups[[3, 599]] = 5

    def run(comm: Communicator) -> None:
        with pytest.raises(OptionError, match=message):
            order(comm, matrix_of(GRID), together=groups[:rows], last=[3])

    run_on_threads(2, run)


@pytest.mark.parametrize(
    ("last", "message"),
    [([3, 600], "row 600"), ([5, 5], "row 5 twice"), (0.5, "list of rows")],
)
def test_wrong_last_rows_are_refused_on_all_ranks(last: Any, message: str) -> None:
    def run(comm: Communicator) -> None:
        with pytest.raises(OptionError, match=message):
            order(comm, matrix_of(GRID), last=last)

    run_on_threads(2, run)


@pytest.mark.parametrize("name", FEW)
def test_more_processes_than_rows(name: str) -> None:
    check(FEW[name], 9, preset="best", leaf_size=2)


def test_blocks_may_be_empty_and_uneven() -> None:
    matrix = PATTERNS["mesh"]
    bounds = np.array([0, 0, 600, 600, 700])
    expected = jetpy.nested_dissection(matrix, preset="fast").iperm
    results = run_on_threads(4, partial(order, matrix=matrix, bounds=bounds, preset="fast"))
    assert [len(found.iperm) for found in results] == [0, 600, 0, 100]
    assert np.array_equal(np.concatenate([found.iperm for found in results]), expected)


def test_the_diagonal_does_not_matter() -> None:
    matrix = PATTERNS["mesh"]
    full = sp.csr_array(matrix + sp.eye_array(matrix.shape[0], dtype=np.int32))
    for found in run_on_threads(2, partial(order, matrix=full)):
        assert np.array_equal(found.perm, jetpy.nested_dissection(matrix).perm)


def test_only_the_first_process_reports_progress() -> None:
    calls: list[tuple[int, str, int, int]] = []

    def run(comm: Communicator) -> Any:
        def tell(*call: Any) -> None:
            calls.append((comm.rank, *call))

        return order(comm, PATTERNS["mesh"], progress=tell)

    run_on_threads(2, run)
    assert {rank for rank, *_ in calls} == {0}
    assert any(stage == "order" for _, stage, *_ in calls)


def test_only_process_0_has_the_pattern() -> None:
    """The others have the whole order and its costs, but cannot update or save it."""

    def run(comm: Communicator) -> Any:
        whole = order(comm, PATTERNS["mesh"]).whole
        if comm.rank == 0:
            return whole.updated(PATTERNS["mesh"]).perm, whole.symbolic
        for work in (lambda: whole.updated(PATTERNS["mesh"]), lambda: whole.save_session("s.npz")):
            with pytest.raises(OptionError, match="only process 0 has the pattern"):
                work()
        return whole.perm, whole.symbolic

    (perm, structure), *others = run_on_threads(3, run)
    for other, same in others:
        assert np.array_equal(other, perm)
        assert np.array_equal(same.parents, structure.parents)
        assert np.array_equal(same.counts, structure.counts)
        assert (same.operations, same.height) == (structure.operations, structure.height)


def test_too_little_memory_is_an_error_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jetpy.distributed.gathering.available_memory", lambda: 1 << 10)

    def run(comm: Communicator) -> None:
        with pytest.raises(OutOfMemoryError, match="process 0: process 0 gathers the pattern of"):
            order(comm, PATTERNS["mesh"])

    run_on_threads(2, run)


def test_repr() -> None:
    found = order(None, matrix_of(GRID))
    assert repr(found) == f"DistributedOrdering({found.whole!r}, processes 1)"


def one_way(comm: Communicator) -> Any:
    blocks = (([0, 1], [1]), ([0, 0], []))
    indptr, indices = blocks[comm.rank]
    return np.array(indptr), np.array(indices, int)


@pytest.mark.parametrize("threads", [1, 0])
def test_bad_input_is_refused_on_all_ranks(threads: int) -> None:
    raised = []

    def run(comm: Communicator) -> None:
        try:
            jetpy.distributed.nested_dissection(comm, one_way(comm), threads=threads)
        except jetpy.JetpyError as found:
            raised.append(found)

    run_on_threads(2, run)
    assert [type(found) for found in raised] == [GraphError if threads else OptionError] * 2


def test_a_graph_that_is_too_large_is_refused_on_all_ranks() -> None:
    def run(comm: Communicator) -> str:
        with pytest.raises(GraphError) as raised:
            order(comm, matrix_of(GRID))
        return str(raised.value)

    with patch.multiple(dissection, most_tries=lambda n, nnz: 0):
        for message in run_on_threads(2, run):
            assert "nested dissection takes fewer than" in message


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 1},
        {"preset": "fast"},
        {"tries": 3},
        {"last": [1, 2]},
        {"keep_last_order": True},
        {"start": np.arange(600)},
    ],
)
def test_different_option_on_another_rank_is_refused(options: dict[str, Any]) -> None:
    def run(comm: Communicator) -> Any:
        return order(comm, matrix_of(GRID), **(options if comm.rank else {}))

    with pytest.raises(OptionError, match="process 1 passes"):
        run_on_threads(2, run)


def test_different_starts_are_refused() -> None:
    def run(comm: Communicator) -> Any:
        return order(comm, matrix_of(GRID), start=np.roll(np.arange(600), comm.rank))

    message = "process 1 passes start='permutation with SHA-256 .*', but process 0 passes start='"
    with pytest.raises(OptionError, match=message):
        run_on_threads(2, run)


def test_vtxdist_is_checked() -> None:
    with pytest.raises(GraphError, match="vtxdist does not match"):
        run_on_threads(2, partial(order, matrix=matrix_of(GRID), vtxdist=[0, 1, 600]))
