"""Several weights per vertex with several processes: the parts of one process, refused input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
import jetpy.distributed
from jetpy.constraints import multiconstraint
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.gathering import available_memory
from jetpy.distributed.levels import PieceLevel
from jetpy.distributed.multiconstraint import Columns
from jetpy.distributed.multiconstraint_levels import PieceLevels
from jetpy.distributed.terminals import PLACES
from jetpy.errors import GraphError, JetpyError, OptionError, OutOfMemoryError
from tests.children import MPIEXEC
from tests.device_backend import DeviceBackend
from tests.distributed.test_pieces import block_of
from tests.distributed.test_processes import launched
from tests.distributed.threads import run_on_threads

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}
V = np.arange(600)
WEIGHTS = np.stack([1 + V % 3, V // 100 % 4, 5 * (V % 7 == 0)], axis=1).astype(np.int32)
GRID = replace(jetpy.generators.grid(30, 20), constraint_weights=WEIGHTS)
FIXED = np.where(V % 97 == 5, V % 4, -1)
TOGETHER = np.where(V % 3 == 1, V * 7 % 90, -1)
TOGETHER[FIXED >= 0] = 100 + FIXED[FIXED >= 0]
MOST = WEIGHTS.sum(axis=0) // 4 + 20
OPTIONS: dict[str, dict[str, Any]] = {
    "fast": {"preset": "fast"},
    "default": {},
    "ultra": {"preset": "ultra", "seed": 2},
    "an imbalance for each weight": {"imbalance": [0.01, 0.2, 0.4]},
    "targets": {"targets": [1, 2, 3, 4], "imbalance": 0.1},
    "lower imbalance": {"lower_imbalance": 0.1, "imbalance": 0.1},
    "greatest weights": {"max_weights": np.tile(MOST, (4, 1))},
    "generations": {"generations": 5, "preset": "fast"},
    "generations and V-cycles": {"generations": 3, "imbalance": 0.1},
    "fixed": {"fixed": FIXED, "imbalance": 0.1},
    "together": {"together": TOGETHER, "fixed": FIXED, "imbalance": 0.2},
    "within": {"within": V // 350, "imbalance": [0.1, 0.2, 0.3]},
}
GATHERED = "lower imbalance", "together", "within"
"""Options for which processes gather the graph, whatever its size."""


def blocks_for(size: int) -> Any:
    """Return the first vertices of processes of uneven sizes; that of rank 1 is empty."""
    return np.array([0, *[217, 217, 222][: size - 1], GRID.n])


def own_of(options: dict[str, Any], bounds: Any, rank: int) -> dict[str, Any]:
    """Return options with the places of a process's vertices only."""
    own = slice(*bounds[rank : rank + 2])
    return {**options, **{name: options[name][own] for name in PLACES if name in options}}


def assert_equal(results: list[Any], expected: jetpy.Partition) -> None:
    assert np.array_equal(np.concatenate([found.parts for found in results]), expected.parts)
    for found in results:
        assert (found.cut, found.imbalance) == (expected.cut, expected.imbalance)
        assert (found.feasible, found.empty_parts) == (expected.feasible, expected.empty_parts)
        assert found.generations == expected.generations
        for name in ("part_weights", "limits", "lower_limits"):
            assert np.array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("name", OPTIONS)
def test_parts_equal_those_of_one_process(name: str, size: int) -> None:
    bounds, options = blocks_for(size), {**OPTIONS[name], **ENGINE}

    def run(comm: Communicator) -> Any:
        own = own_of(options, bounds, comm.rank)
        return jetpy.distributed.partition(comm, block_of(GRID, bounds, comm.rank), 4, **own)

    assert_equal(run_on_threads(size, run), jetpy.partition(GRID, 4, **options))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("places", [{}, {"fixed": FIXED, "together": TOGETHER}])
def test_refined_parts_equal_those_of_one_process(places: dict[str, Any], size: int) -> None:
    bounds, start = blocks_for(size), V * 7 % 4
    options = {"imbalance": 0.2, **places, **ENGINE}

    def run(comm: Communicator) -> Any:
        block, own = block_of(GRID, bounds, comm.rank), start[slice(*bounds[comm.rank :][:2])]
        return jetpy.distributed.refine(comm, block, own, 4, **own_of(options, bounds, comm.rank))

    expected = jetpy.refine(GRID, start, 4, **options)
    assert not np.array_equal(expected.parts, start)
    assert_equal(run_on_threads(size, run), expected)


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jet refines levels of 100 vertices, and no process may gather the input."""

    def fail(columns: Columns) -> None:
        raise AssertionError("the graph is gathered")

    monkeypatch.setattr(multiconstraint, "JET_VERTICES", 100)
    monkeypatch.setattr(Columns, "graph", fail)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("name", [name for name in OPTIONS if name not in GATHERED])
def test_parts_in_pieces_equal_those_of_one_process(in_pieces: None, name: str, size: int) -> None:
    bounds, options = blocks_for(size), {**OPTIONS[name], **ENGINE}

    def run(comm: Communicator) -> Any:
        block, own = block_of(GRID, bounds, comm.rank), own_of(options, bounds, comm.rank)
        return jetpy.distributed.partition(comm, block, 4, small=0, **own)

    assert_equal(run_on_threads(size, run), jetpy.partition(GRID, 4, **options))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("preset", ["fast", "ultra"])
def test_a_piece_may_be_the_only_level(in_pieces: None, preset: Any, size: int) -> None:
    bounds, options = blocks_for(size), {"preset": preset, "imbalance": 0.1, **ENGINE}

    def run(comm: Communicator) -> Any:
        block = block_of(GRID, bounds, comm.rank)
        return jetpy.distributed.partition(comm, block, 60, small=0, **options)

    assert_equal(run_on_threads(size, run), jetpy.partition(GRID, 60, **options))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("places", [{}, {"fixed": FIXED}])
@pytest.mark.parametrize("start", [V * 7 % 4, V // 150, V // 200])
def test_refined_parts_in_pieces(
    in_pieces: None, start: np.ndarray, places: dict[str, Any], size: int
) -> None:
    bounds, options = blocks_for(size), {"imbalance": 0.05, **places, **ENGINE}

    def run(comm: Communicator) -> Any:
        block, given = block_of(GRID, bounds, comm.rank), start[slice(*bounds[comm.rank :][:2])]
        own = own_of(options, bounds, comm.rank)
        return jetpy.distributed.refine(comm, block, given, 4, small=0, **own)

    assert_equal(run_on_threads(size, run), jetpy.refine(GRID, start, 4, **options))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_empty_parts_in_pieces_are_filled(in_pieces: None, size: int) -> None:
    """Few vertices weigh anything, so the smallest cut leaves parts empty."""
    weights = np.stack([9 * (V < 4), 9 * (V >= 596)], axis=1).astype(np.int32)
    graph, bounds = replace(GRID, constraint_weights=weights), blocks_for(size)
    options = {"imbalance": 3.0, "large_imbalance": True, "preset": "fast", **ENGINE}

    def run(comm: Communicator) -> Any:
        block = block_of(graph, bounds, comm.rank)
        return jetpy.distributed.partition(comm, block, 8, small=0, **options)

    results = run_on_threads(size, run)
    assert results[0].empty_parts == 0
    assert_equal(results, jetpy.partition(graph, 8, **options))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_levels_are_gathered_where_jet_leaves_excess(
    in_pieces: None, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Few different weights leave parts little room. Several levels are in pieces."""
    graph, depths = jetpy.generators.grid(60, 50), []
    of_ranges = np.random.default_rng(0).integers(0, 20, (16, 2), np.int32)
    weights = of_ranges[np.arange(graph.n) * 16 // graph.n]
    graph, bounds = replace(graph, constraint_weights=weights), 5 * blocks_for(size)
    options = {"imbalance": 0.005, "preset": "fast", **ENGINE}
    passes = PieceLevels.passes

    def record(levels: PieceLevels, depth: int, *rest: Any) -> Any:
        depths.append(isinstance(levels.hierarchy[depth], PieceLevel))
        return passes(levels, depth, *rest)

    monkeypatch.setattr(PieceLevels, "passes", record)

    def run(comm: Communicator) -> Any:
        block = block_of(graph, bounds, comm.rank)
        return jetpy.distributed.partition(comm, block, 3, small=0, **options)

    results = run_on_threads(size, run)
    assert any(depths)
    assert_equal(results, jetpy.partition(graph, 3, **options))


@pytest.mark.parametrize("k", [1, 600, 700])
def test_each_vertex_may_have_a_part(k: int) -> None:
    bounds = blocks_for(3)

    def run(comm: Communicator) -> Any:
        block = block_of(GRID, bounds, comm.rank)
        return jetpy.distributed.partition(comm, block, k, imbalance=0.9, **ENGINE)

    assert_equal(run_on_threads(3, run), jetpy.partition(GRID, k, imbalance=0.9, **ENGINE))


@pytest.mark.parametrize("size", [1, 3])
def test_partitions_are_evaluated(size: int) -> None:
    bounds, parts = blocks_for(size), V * 3 % 5

    def run(comm: Communicator) -> Any:
        own = parts[slice(*bounds[comm.rank :][:2])]
        block = block_of(GRID, bounds, comm.rank)
        return jetpy.distributed.evaluate(comm, block, own, 6, imbalance=[0.1, 0.2, 0.3])

    expected = jetpy.evaluate(GRID, parts, 6)
    ideals = -(-WEIGHTS.sum(axis=0) // 6)
    limits = (ideals * np.array([110, 120, 130]) // 100).tolist()
    for found in run_on_threads(size, run):
        assert (found.cut, found.imbalance) == (expected.cut, expected.imbalance)
        assert np.array_equal(found.part_weights, expected.part_weights)
        assert (found.limits.tolist(), found.empty_parts) == ([limits] * 6, 1)
        assert not found.feasible


def test_a_time_limit_ends_all_processes_after_the_same_generation() -> None:
    bounds = blocks_for(3)

    def run(comm: Communicator) -> Any:
        block = block_of(GRID, bounds, comm.rank)
        return jetpy.distributed.partition(comm, block, 4, time_limit=0.3, **ENGINE)

    results = run_on_threads(3, run)
    [generations] = {found.generations for found in results}
    assert generations >= 3
    assert_equal(results, jetpy.partition(GRID, 4, generations=generations, **ENGINE))


@pytest.mark.parametrize("options", [{}, {"within": V // 350}])
def test_parts_on_a_device_equal_those_on_the_host(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    expected = jetpy.partition(GRID, 4, **options, **ENGINE)
    device = DeviceBackend(1)
    monkeypatch.setattr("jetpy.distributed.api.engine_of_process", lambda *_, **__: device)
    found = jetpy.distributed.partition(None, block_of(GRID, blocks_for(1), 0), 4, **options)
    assert_equal([found], expected)


def refusal(weights: list[Any], kind: type[JetpyError], **options: Any) -> str:
    """Return the message with which both processes refuse weights of a path of four vertices."""

    def run(comm: Communicator) -> str:
        rows = ([0, 2, 3], [1, 3, 2]) if comm.rank else ([0, 1, 3], [1, 0, 2])
        with pytest.raises(kind) as failed:
            jetpy.distributed.partition(
                comm, (*rows, None, weights[comm.rank]), 2, **options, **ENGINE
            )
        return str(failed.value)

    [message] = set(run_on_threads(2, run))
    return message


TWO = [[1, 2], [1, 1]]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([TWO, [1, 2]], "the number of weights of each vertex is 1 in process 1, but 2 in"),
        ([TWO, None], "process 1 passes no vertex_weights, but process 0 does; all processes must"),
        (
            [TWO, [[1, 2, 3]] * 2],
            "the number of weights of each vertex is 3 in process 1, but 2 in",
        ),
        ([TWO, TWO[:1]], "process 1: vertex_weights has 1 entries; it must have 2"),
        ([TWO, [[0.5, 1]] * 2], "process 1: vertex_weights must be integers, not float64"),
        ([TWO, [[1, 2], [1]]], "process 1: vertex_weights must be a one-dimensional array"),
        ([TWO, [[1, 2], [1, -1]]], "process 1: weight 1 of vertex 3 is -1; it must be an integer"),
        ([[[2**30, 0], [0, 0]]] * 2, "the vertex weights overflow: the sum of weight 0"),
    ],
)
def test_wrong_weights_are_one_error(weights: list[Any], message: str) -> None:
    assert refusal(weights, OptionError if None in weights else GraphError).startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"home": [0, 1]}, "process 0: several weights cannot be combined with home"),
        ({"connected": True}, "process 0: several weights cannot be combined with home or conn"),
        ({"objective": "volume"}, "process 0: several weights cannot be combined with an obj"),
        ({"imbalance": [0.1] * 3}, "process 0: imbalance has 3 numbers; give one number, or one"),
        ({"max_weights": [1, 2]}, "process 0: max_weights has shape (2,); it must be one weight"),
        ({"min_weights": 9}, "process 0: for weight 0, part 0 has the lower limit 9 and the upper"),
        ({"seed": -1}, "process 0: seed is -1"),
    ],
)
def test_wrong_options_are_one_error(options: dict[str, Any], message: str) -> None:
    assert refusal([TWO, TWO], OptionError, **options).startswith(message)


def test_fixed_vertices_of_a_group_in_two_parts_are_one_error() -> None:
    own = {"fixed": [0, 1], "together": [5, 5]}
    message = "process 0: group 5 of together has vertices fixed in parts 0 and 1"
    assert refusal([TWO, TWO], OptionError, **own).startswith(message)


def test_large_edge_weights_are_refused() -> None:
    rows = [0, 1, 2], [1, 0], [2**30, 2**30]
    with pytest.raises(GraphError, match="needs a graph with fewer than"):
        jetpy.distributed.partition(None, (*rows, TWO), 2, **ENGINE)


def test_a_graph_beyond_the_memory_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jetpy.distributed.gathering.available_memory", lambda: 503)
    assert "(1) need about 0.0 GiB, more than the 0.0 GiB" in refusal([TWO, TWO], OutOfMemoryError)
    alone = refusal([TWO, TWO], OutOfMemoryError, within=[0, 1])
    assert alone.startswith(
        "process 0: process 0 gathers the whole graph of 4 vertices and 3 edges"
    )
    monkeypatch.setattr("jetpy.distributed.gathering.available_memory", lambda: 504)
    weights: Any = (np.array([0, 1, 3, 5, 6]), np.array([1, 0, 2, 1, 3, 2]), None, TWO + TWO)
    assert jetpy.distributed.partition(None, weights, 2, **ENGINE).n == 4


def test_available_memory_is_read() -> None:
    found = available_memory()
    assert found is None or 1 << 20 < found < 1 << 50


@pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec")
@pytest.mark.parametrize("place", ["in the graph", "in a file"])
def test_command_line_equals_one_process(place: str, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    file, weights, parts = (tmp_path / name for name in ("a.graph", "weights.txt", "a.part"))
    jetpy.write_graph(file, GRID if place == "in the graph" else jetpy.generators.grid(30, 20))
    np.savetxt(weights, WEIGHTS, fmt="%d")
    more = [] if place == "in the graph" else ["--vertex-weights", str(weights)]
    command = ["-m", "jetpy", "partition", str(file), "-k", "4", "--imbalance", "0.1,0.2,0.3"]
    engine = ["--backend", "cpu", "--threads", "1"]
    done = launched(2, *command, *more, *engine, "-o", str(parts))
    assert done.returncode == 0, done.stderr
    expected = jetpy.partition(GRID, 4, imbalance=[0.1, 0.2, 0.3], **ENGINE)
    assert np.array_equal(jetpy.read_parts(parts), expected.parts)
    assert f"limit, weight 2  {expected.limits[0, 2]}; the heaviest" in done.stdout
