"""`jetpy.distributed.partition`: results, and refused input."""

from __future__ import annotations

import threading
import weakref
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jetpy
import jetpy.distributed
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.terminals import PLACES
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.errors import BackendError, GraphError, OptionError, OutOfMemoryError
from tests.device_backend import DeviceBackend
from tests.distributed.test_pieces import block_of, evenly
from tests.distributed.threads import run_on_threads

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}
GRID = jetpy.generators.grid(30, 20)


def partition(comm: Any, block: Any, k: int = 4, **options: Any) -> Any:
    return jetpy.distributed.partition(comm, block, k, **ENGINE, **options)


def test_single_process_equals_partition() -> None:
    expected = jetpy.partition(GRID, 4, **ENGINE)
    found = partition(None, (GRID.indptr, GRID.indices), small=0)
    assert np.array_equal(found.parts, expected.parts)
    assert (found.n, found.m, found.first, found.processes) == (GRID.n, GRID.m, 0, 1)
    assert found.cut == expected.cut
    assert found.feasible
    assert np.array_equal(found.part_weights, expected.part_weights)
    assert found.imbalance == expected.imbalance
    assert found.stats()["seconds"]["total"] > 0


@pytest.mark.parametrize("small", [0, 10**9])
@pytest.mark.parametrize("size", [1, 3])
def test_refine_and_evaluate_equal_one_process(size: int, small: int) -> None:
    bounds = evenly(GRID.n, size)
    start = np.random.default_rng(3).integers(0, 5, GRID.n)
    options: dict[str, Any] = {"preset": "fast", "seed": 4, **ENGINE}
    expected = jetpy.refine(GRID, start, 5, **options)

    def run(comm: Communicator) -> Any:
        block = block_of(GRID, bounds, comm.rank)
        own = start[bounds[comm.rank] : bounds[comm.rank + 1]]
        found = jetpy.distributed.refine(comm, block, own, 5, small=small, **options)
        return found, jetpy.distributed.evaluate(comm, block, found.parts, 5)

    results = run_on_threads(size, run)
    parts = np.concatenate([found.parts for found, _ in results])
    assert np.array_equal(parts, expected.parts)
    for found, evaluated in results:
        assert found.cut == evaluated.cut == expected.cut
        assert np.array_equal(evaluated.part_weights, expected.part_weights)
        assert evaluated.feasible == expected.feasible


@pytest.mark.parametrize(
    ("parts", "message"),
    [([0], "600 integers"), (np.zeros(600), "600 integers"), (np.full(600, 5), r"0\.\.4")],
)
def test_bad_parts_are_refused(parts: Any, message: str) -> None:
    block = GRID.indptr, GRID.indices
    with pytest.raises(GraphError, match=message):
        jetpy.distributed.refine(None, block, parts, 5, **ENGINE)


@pytest.mark.parametrize("edge_factor", [40, 64])
def test_dense_levels_equal_one_process(edge_factor: int) -> None:
    """The finest level (64) or a coarse one (40) is dense, so that it is gathered."""
    graph = jetpy.generators.rmat(11, edge_factor)
    assert (2 * graph.m >= 64 * graph.n) == (edge_factor == 64)
    bounds = evenly(graph.n, 3)
    expected = jetpy.partition(graph, 4, preset="fast", **ENGINE)

    def run(comm: Communicator) -> Any:
        return partition(comm, block_of(graph, bounds, comm.rank), preset="fast", small=0)

    results = run_on_threads(3, run)
    assert np.array_equal(np.concatenate([found.parts for found in results]), expected.parts)
    pairs = jetpy.partition(graph, 4, preset="fast", options={"coarsen.dense": None}, **ENGINE)
    assert not np.array_equal(pairs.parts, expected.parts)


@pytest.mark.parametrize("small", [0, 2000, 10**9])
@pytest.mark.parametrize("size", [2, 3])
def test_a_core_is_gathered_as_by_one_process(size: int, small: int) -> None:
    """The second start of the finest level is the same for a level in pieces and a whole one."""
    graph = jetpy.generators.rmat(12, 2, seed=3)
    bounds = evenly(graph.n, size)
    options: dict[str, Any] = {"options": {"small.max_vertices": 0}, "seed": 1}
    expected = jetpy.partition(graph, 16, **options, **ENGINE)
    without = {"small.max_vertices": 0, "gathers_core": False}
    assert expected.cut < jetpy.partition(graph, 16, options=without, seed=1, **ENGINE).cut

    def run(comm: Communicator) -> Any:
        return partition(comm, block_of(graph, bounds, comm.rank), 16, small=small, **options)

    results = run_on_threads(size, run)
    assert np.array_equal(np.concatenate([found.parts for found in results]), expected.parts)


WEIGHTED = replace(
    GRID,
    vertex_weights=1 + np.arange(GRID.n, dtype=np.int32) % 5,
    vertex_sizes=np.arange(GRID.n, dtype=np.int32) % 4,
)
FIXED = np.where(np.arange(GRID.n) % 97 == 5, np.arange(GRID.n) % 4, -1)
HOME = np.where(np.arange(GRID.n) % 11 == 0, -1, np.arange(GRID.n) // 3 % 4)
TOGETHER = np.where(np.arange(GRID.n) % 3 == 1, np.arange(GRID.n) * 7 % 40, -1)
TOGETHER[FIXED >= 0] = 100 + FIXED[FIXED >= 0]
"""Groups of vertices of all processes."""
WITHIN = np.array([0, 2, 3])[np.arange(GRID.n) // 230]
OPTIONS: dict[str, dict[str, Any]] = {
    "targets": {"targets": [1, 2, 3, 4]},
    "targets and an imbalance": {"targets": [5, 1, 1, 1.5], "imbalance": 0.01},
    "least weights": {"min_weights": 440},
    "least and greatest weights": {"min_weights": 300, "max_weights": [900, 310, 310, 320]},
    "lower imbalance": {"lower_imbalance": 0.01},
    "methods": {"coarsening": "union-find"},
    "options": {"options": {"refine.patience": 3}},
    "tasks of a level": {"options": {"initial.task_size": 3000}},
    "generations": {"generations": 3, "seed": 1},
    "V-cycles": {"preset": "ultra"},
    "fixed": {"fixed": FIXED},
    "home": {"home": HOME, "migration": 0.5},
    "fixed and home": {"fixed": FIXED, "home": HOME},
    "together": {"together": TOGETHER},
    "together and all others": {"together": TOGETHER, "fixed": FIXED, "home": HOME},
    "connected": {"connected": True, "imbalance": 0.01, "seed": 3},
    "connected and a lower imbalance": {"connected": True, "lower_imbalance": 0.02, "fixed": FIXED},
    "connected groups and generations": {
        **{"connected": True, "together": TOGETHER, "home": HOME, "generations": 2},
    },
    "volume": {"objective": "volume", "targets": [1, 2, 3, 4]},
    "volume and places": {"objective": "volume", "home": HOME, "fixed": FIXED},
    "within": {"within": WITHIN},
    "connected within": {"within": WITHIN, "connected": True, "max_weights": 190},
}
IN_PIECES = {
    "small.max_vertices": 0,
    "initial.task_size": 0,
    "refine.flow_sweeps": 0,
    "branches": (),
}
"""Options without which these levels are gathered."""


def own_of(options: dict[str, Any], bounds: Any, rank: int) -> dict[str, Any]:
    """Return options with the places of a process's vertices only."""
    own = slice(*bounds[rank : rank + 2])
    places = {name: options[name][own] for name in PLACES if name in options}
    return {**options, **places}


@cache
def usual(seed: int, is_gathered: bool) -> np.ndarray:
    changes = {} if is_gathered else IN_PIECES
    return jetpy.partition(WEIGHTED, 4, seed=seed, options=changes, **ENGINE).parts


@pytest.mark.parametrize("changes", [IN_PIECES, {}], ids=["in pieces", "gathered"])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("name", OPTIONS)
def test_options_equal_one_process(name: str, size: int, changes: dict[str, Any]) -> None:
    options = {**OPTIONS[name], "options": {**changes, **OPTIONS[name].get("options", {})}}
    bounds = np.array([0, *[217, 217, 222][: size - 1], GRID.n])
    expected = jetpy.partition(WEIGHTED, 4, **options, **ENGINE)
    assert not np.array_equal(expected.parts, usual(options.get("seed", 0), changes == {}))

    def run(comm: Communicator) -> Any:
        block, own = block_of(WEIGHTED, bounds, comm.rank), own_of(options, bounds, comm.rank)
        return partition(comm, block, small=0 if changes else 10**9, **own)

    results = run_on_threads(size, run)
    assert np.array_equal(np.concatenate([found.parts for found in results]), expected.parts)
    for found in results:
        assert (found.cut, found.imbalance) == (expected.cut, expected.imbalance)
        assert np.array_equal(found.limits, expected.limits)
        assert np.array_equal(found.lower_limits, expected.lower_limits)
        assert (found.feasible, found.generations) == (expected.feasible, expected.generations)
        assert (found.k, found.disconnected) == (expected.k, expected.disconnected)
        volume = expected.communication_volume if expected.objective == "volume" else None
        assert found.communication_volume == found.stats().get("communication_volume") == volume
        if "home" in options:
            assert found.moved_vertices == len(expected.moved)
            assert found.moved_weight == expected.moved_weight == found.stats()["moved_weight"]
        else:
            assert found.moved_weight is None
            assert "moved_weight" not in found.stats()


@pytest.mark.parametrize("changes", [IN_PIECES, {}], ids=["in pieces", "gathered"])
def test_a_time_limit_ends_all_processes_after_the_same_generation(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts are those of as many generations; each process has a clock of another speed."""
    bounds, options = evenly(GRID.n, 3), {"options": changes, "preset": "fast"}
    clock = threading.local()

    def seconds() -> float:
        clock.now += clock.speed
        return float(clock.now)

    clocks = SimpleNamespace(perf_counter=seconds)
    monkeypatch.setattr("jetpy.multilevel.evolution.time", clocks)

    def run(comm: Communicator) -> Any:
        clock.now, clock.speed = 0.0, 0.01 * (1 + comm.rank)
        block, small = block_of(GRID, bounds, comm.rank), 0 if changes else 10**9
        return partition(comm, block, time_limit=0.3, small=small, **options)

    results = run_on_threads(3, run)
    [generations] = {found.generations for found in results}
    assert generations > 1
    monkeypatch.undo()
    expected = jetpy.partition(GRID, 4, generations=generations, **options, **ENGINE)
    assert np.array_equal(np.concatenate([found.parts for found in results]), expected.parts)


def test_rows_are_freed_before_refinement(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[Any]] = []
    alive: list[bool] = []
    check, evolve = jetpy.distributed.api._checked_rows, jetpy.distributed.run.evolve_level

    def checked(*given: Any) -> Any:
        rows = check(*given)
        made.append(weakref.ref(rows))
        return rows

    def evolved(*given: Any) -> Any:
        alive.append(made[0]() is not None)
        return evolve(*given)

    monkeypatch.setattr("jetpy.distributed.api._checked_rows", checked)
    monkeypatch.setattr("jetpy.distributed.run.evolve_level", evolved)
    partition(None, (GRID.indptr, GRID.indices), small=0)
    assert alive == [False]


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("more", [{}, {"objective": "volume"}, {"connected": True}])
def test_fixed_vertices_and_groups_stay_in_refinement(more: dict[str, Any], size: int) -> None:
    bounds, start = evenly(GRID.n, size), np.arange(GRID.n) % 4
    options: dict[str, Any] = {
        "options": IN_PIECES,
        "fixed": FIXED,
        "together": TOGETHER,
        **more,
        **ENGINE,
    }
    expected = jetpy.refine(WEIGHTED, start, 4, **options)

    def run(comm: Communicator) -> Any:
        block, own = block_of(WEIGHTED, bounds, comm.rank), own_of(options, bounds, comm.rank)
        parts = start[bounds[comm.rank] : bounds[comm.rank + 1]]
        return jetpy.distributed.refine(comm, block, parts, 4, small=0, **own).parts

    parts = np.concatenate(run_on_threads(size, run))
    assert np.array_equal(parts, expected.parts)
    assert np.array_equal(parts[FIXED >= 0], FIXED[FIXED >= 0])
    for name in np.unique(TOGETHER[TOGETHER >= 0]):
        assert len(np.unique(parts[name == TOGETHER])) == 1


def test_groups_without_weights_are_refined_as_by_one_process() -> None:
    """If all weights are 0, the limit follows from the numbers of vertices, not of groups."""
    graph = replace(GRID, vertex_weights=np.zeros(GRID.n, np.int32))
    start, bounds = np.arange(GRID.n) % 3, evenly(GRID.n, 2)
    together = np.where(start == 2, np.arange(GRID.n) // 60, -1)
    options: dict[str, Any] = {"preset": "fast", "options": IN_PIECES, **ENGINE}
    options |= {"imbalance": 0.0, "together": together}
    expected = jetpy.refine(graph, start, 3, **options)

    def run(comm: Communicator) -> Any:
        block, own = block_of(graph, bounds, comm.rank), own_of(options, bounds, comm.rank)
        parts = start[bounds[comm.rank] : bounds[comm.rank + 1]]
        return jetpy.distributed.refine(comm, block, parts, 3, small=0, **own).parts

    assert np.array_equal(np.concatenate(run_on_threads(2, run)), expected.parts)


@pytest.mark.parametrize(
    ("here", "message"),
    [
        ({}, "process 1 passes fixed='nothing', but process 0 passes fixed='an array'"),
        ({"fixed": [0] * 299}, r"^process 1: fixed has shape \(299,\); it must have one part"),
        ({"fixed": [0.5] * 300}, "^process 1: fixed must contain integers, not float64"),
        (
            {"fixed": [4] * 300},
            r"^process 1: fixed has part 4 for vertex 300; parts must be in 0\.\.3",
        ),
        ({"fixed": [-1] * 300, "home": [0] * 300}, "process 1 passes home='an array', but"),
        ({"fixed": [-1] * 300, "migration": -1}, "^process 1: migration is -1; it must be"),
        ({"fixed": [-1] * 300, "migration": 2.0}, "process 1 passes migration=2.0, but process 0"),
    ],
)
def test_wrong_places_of_one_process_are_one_error(here: dict[str, Any], message: str) -> None:
    def run(comm: Communicator) -> str:
        places = here if comm.rank else {"fixed": [-1] * 299 + [0]}
        with pytest.raises(OptionError, match=message) as failed:
            partition(comm, block_of(GRID, evenly(GRID.n, 2), comm.rank), **places)
        return str(failed.value)

    first, other = run_on_threads(2, run)
    assert first == other


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({"together": [0] * 150 + [7] * 450}, "groups 0, 7 of together weigh more than a part may"),
        (
            {"together": [3] * 2 + [-1] * 596 + [3] * 2, "fixed": [1] + [-1] * 598 + [2]},
            "group 3 of together has vertices fixed in parts 1 and 2; fix all in one part",
        ),
        ({"together": [0] * 599 + [-2]}, "together has group -2 for vertex"),
    ],
)
def test_wrong_groups_are_refused_as_by_one_process(places: dict[str, Any], message: str) -> None:
    bounds = evenly(GRID.n, 2)
    with pytest.raises(OptionError, match=message):
        jetpy.partition(GRID, 16, **places, **ENGINE)

    def run(comm: Communicator) -> str:
        own = own_of(places, bounds, comm.rank)
        with pytest.raises(OptionError, match=message) as failed:
            partition(comm, block_of(GRID, bounds, comm.rank), 16, **own)
        return str(failed.value)

    first, other = run_on_threads(2, run)
    assert first == other


def test_too_much_migration_is_refused() -> None:
    places = {"home": np.zeros(GRID.n, int), "migration": 2.0**45}
    with pytest.raises(OptionError, match=r"migration may reach .* at most 2\*\*46"):
        partition(None, (GRID.indptr, GRID.indices), **places)


@pytest.mark.parametrize("size", [1, 3])
def test_parts_too_light_are_filled_in_pieces(size: int) -> None:
    bounds = evenly(GRID.n, size)
    start = np.where(np.arange(GRID.n) < 4, np.arange(GRID.n), 3)
    options: dict[str, Any] = {
        "preset": "fast",
        "min_weights": 300,
        "options": {"refine.flow_sweeps": 0},
        **ENGINE,
    }
    expected = jetpy.refine(WEIGHTED, start, 4, **options)
    assert expected.part_weights.min() >= 300

    def run(comm: Communicator) -> Any:
        block = block_of(WEIGHTED, bounds, comm.rank)
        own = start[bounds[comm.rank] : bounds[comm.rank + 1]]
        return jetpy.distributed.refine(comm, block, own, 4, small=0, **options).parts

    assert np.array_equal(np.concatenate(run_on_threads(size, run)), expected.parts)


@pytest.mark.parametrize("size", [1, 3])
def test_preset_max_equals_one_process(size: int) -> None:
    graph = replace(GRID, vertex_weights=2 * (1 + np.arange(GRID.n, dtype=np.int32) % 3))
    bounds = evenly(GRID.n, size)
    expected = jetpy.partition(graph, 4, preset="max", **ENGINE)
    assert not np.array_equal(expected.parts, jetpy.partition(graph, 4, preset="ultra", **ENGINE))

    def run(comm: Communicator) -> Any:
        block = block_of(graph, bounds, comm.rank)
        found = partition(comm, block, preset="max")
        again = jetpy.distributed.refine(comm, block, found.parts, 4, preset="max", **ENGINE)
        return found, again

    results = run_on_threads(size, run)
    assert np.array_equal(np.concatenate([found.parts for found, _ in results]), expected.parts)
    for found, again in results:
        assert (found.cut, found.preset) == (expected.cut, "max")
        assert np.array_equal(found.part_weights, expected.part_weights)
        assert found.seconds["total"] > 0
        assert again.cut <= found.cut


@pytest.mark.parametrize("k", [1, 600, 700])
def test_trivial_k_equals_one_process(k: int) -> None:
    bounds = evenly(GRID.n, 3)
    results = run_on_threads(3, lambda comm: partition(comm, block_of(GRID, bounds, comm.rank), k))
    expected = jetpy.partition(GRID, k, **ENGINE)
    assert np.array_equal(np.concatenate([r.parts for r in results]), expected.parts)
    for result in results:
        assert np.array_equal(result.part_weights, expected.part_weights)
        assert result.cut == expected.cut


def test_empty_graph_is_accepted() -> None:
    nothing = np.zeros(0, int)
    assert len(partition(None, (np.zeros(1, int), nothing)).parts) == 0


def pair(*blocks: Any) -> Any:
    return lambda comm: blocks[comm.rank]


I32 = np.array
BAD: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "no tuple": (
        pair([0], [0]),
        {},
        GraphError,
        "process 0: the block is a list; it must be a tuple",
    ),
    "second is bad": (
        pair((I32([0, 1]), I32([1]), I32([1])), (I32([0, 1]), I32([0]), I32([-1]))),
        {},
        GraphError,
        r"process 1: edge_weights has -1 for edge \(1, 0\); weights must be in 0\.\.2",
    ),
    "ends": (
        pair((I32([0, 2]), I32([1])), (I32([0, 1]), I32([0]))),
        {},
        GraphError,
        "process 0: indptr must begin with 0",
    ),
    "floats": (
        pair((I32([0, 1]), I32([1.0])), (I32([0, 1]), I32([0]))),
        {},
        GraphError,
        "indices must be a one-dimensional array of integers",
    ),
    "outside": (
        pair((I32([0, 1]), I32([1])), (I32([0, 1]), I32([2]))),
        {},
        GraphError,
        r"process 1: edge \(1, 2\) leaves the graph; vertices must be in 0\.\.1",
    ),
    "an id of 33 bits": (
        pair((I32([0, 1]), I32([1 + 2**32], np.int64)), (I32([0, 1]), I32([0]))),
        {},
        GraphError,
        rf"edge \(0, {1 + 2**32}\) leaves the graph; vertices must be in 0\.\.1",
    ),
    "loop": (
        pair((I32([0, 1]), I32([0])), (I32([0, 0]), I32([], int))),
        {},
        GraphError,
        r"edge \(0, 0\) is a self-loop",
    ),
    "twice": (
        pair((I32([0, 2]), I32([1, 1])), (I32([0, 2]), I32([0, 0]))),
        {},
        GraphError,
        r"edge \(0, 1\) is listed more than once",
    ),
    "one way": (
        pair((I32([0, 1]), I32([1])), (I32([0, 0]), I32([], int))),
        {},
        GraphError,
        r"process 0: the graph is not symmetric: edge \(0, 1\) is listed, but not its reverse",
    ),
    "two weights": (
        pair((I32([0, 1]), I32([1]), I32([3])), (I32([0, 1]), I32([0]), I32([4]))),
        {},
        GraphError,
        r"not symmetric: edge \(0, 1\) has weight 3, but its reverse, edge \(1, 0\), has weight 4",
    ),
    "vtxdist": (
        pair((I32([0, 1]), I32([1])), (I32([0, 1]), I32([0]))),
        {"vtxdist": [0, 2, 2]},
        GraphError,
        r"vtxdist does not match the blocks; it must be \[0, 1, 2\]",
    ),
    "k": (
        pair((I32([0, 1]), I32([1])), (I32([0, 1]), I32([0]))),
        {"k": 0},
        OptionError,
        "k is 0",
    ),
    "preset": (
        pair((I32([0, 1]), I32([1])), (I32([0, 1]), I32([0]))),
        {"preset": "best"},
        OptionError,
        "unknown preset 'best'",
    ),
    "connected and a volume": (
        pair((I32([0, 1]), I32([1])), (I32([0, 1]), I32([0]))),
        {"connected": True, "objective": "volume"},
        OptionError,
        "process 0: connected cannot be combined with an objective other than cut",
    ),
    "an unknown objective": (
        pair((I32([0, 1]), I32([1])), (I32([0, 1]), I32([0]))),
        {"objective": "Volume"},
        OptionError,
        "process 0: unknown objective 'Volume'",
    ),
    "a size below 0": (
        pair((I32([0, 1]), I32([1]), None, None, [2]), (I32([0, 1]), I32([0]), None, None, [-3])),
        {"objective": "volume"},
        GraphError,
        "process 0: vertex 1 has size -3; sizes must be integers in",
    ),
    "sizes of one process": (
        pair((I32([0, 1]), I32([1]), None, None, [2]), (I32([0, 1]), I32([0]))),
        {},
        OptionError,
        "process 1 passes no vertex_sizes, but process 0 does; all processes must",
    ),
    "within and fixed": (
        pair((I32([0, 1]), I32([1])), (I32([0, 1]), I32([0]))),
        {"within": [0], "fixed": [-1]},
        OptionError,
        "process 0: within cannot be combined with fixed",
    ),
    "within of another length": (
        pair((I32([0, 1]), I32([1])), (I32([0, 1]), I32([0]))),
        {"within": [0, 1]},
        GraphError,
        "process 0: parts must be 1 integers, one for each owned vertex",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_on_all_ranks(name: str) -> None:
    blocks, options, error, message = BAD[name]
    raised = []

    def run(comm: Communicator) -> None:
        try:
            partition(comm, blocks(comm), **{"k": 2, **options})
        except jetpy.JetpyError as found:
            raised.append(found)

    run_on_threads(2, run)
    assert len(raised) == 2, "all processes raise"
    for found in raised:
        assert isinstance(found, error)
        with pytest.raises(error, match=message):
            raise found


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("k", (10, 11)),
        ("small", (10, 11)),
        ("connected", (True, False)),
        ("within", (None, np.zeros(300, int))),
    ],
)
def test_different_option_on_another_rank_is_refused(option: str, values: tuple[Any, Any]) -> None:
    bounds = evenly(GRID.n, 2)

    def run(comm: Communicator) -> Any:
        options: dict[str, Any] = {option: values[comm.rank]}
        return partition(comm, block_of(GRID, bounds, comm.rank), **options)

    with pytest.raises(OptionError, match="process 1 passes"):
        run_on_threads(2, run)


@pytest.mark.parametrize("name", ["auto", "cuda"])
def test_mixed_gpus_and_cpus_are_refused_unless_auto(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `auto`, all ranks use CPUs; with `cuda`, an error is raised."""
    kinds = iter([CpuBackend(1), DeviceBackend(1)])

    def engine(leases: Any, neighbours: Any, asked: str, **_: Any) -> CpuBackend:
        return next(kinds) if asked == name else CpuBackend(1)

    monkeypatch.setattr("jetpy.distributed.api.engine_of_process", engine)
    bounds = evenly(GRID.n, 2)

    def run(comm: Communicator) -> Any:
        block = block_of(GRID, bounds, comm.rank)
        return jetpy.distributed.partition(comm, block, 4, backend=name, small=0)  # type: ignore[arg-type]

    if name == "cuda":
        with pytest.raises(BackendError, match="some processes run on a GPU, others on CPUs"):
            run_on_threads(2, run)
        return
    parts = np.concatenate([result.parts for result in run_on_threads(2, run)])
    assert np.array_equal(parts, jetpy.partition(GRID, 4, **ENGINE).parts)


def test_a_full_gpu_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(CpuBackend):
        def available_bytes(self, error: MemoryError) -> int:
            return 1 << 20

    def fail(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr("jetpy.distributed.api.engine_of_process", lambda *_, **__: Full(1))
    monkeypatch.setattr("jetpy.distributed.run.evolve_level", fail)
    with pytest.raises(OutOfMemoryError, match="a graph of 600 vertices and 1,150 edges needs"):
        jetpy.distributed.partition(None, (GRID.indptr, GRID.indices), 4)


def test_wrong_options_on_one_rank() -> None:
    bounds = evenly(GRID.n, 2)

    def run(comm: Communicator) -> Any:
        return partition(comm, block_of(GRID, bounds, comm.rank), 4 - 4 * comm.rank)

    with pytest.raises(OptionError, match=r"^process 1: k is 0; k must be in 1\.\."):
        run_on_threads(2, run)


@pytest.mark.parametrize("bound", [2225, 2262, 2299])
def test_rebalancing_across_unaligned_blocks(bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last evicted vertices of a part have ids that differ in few bits, and are in two blocks.

    If every piece compared its own vertices only, some of these parts would differ.
    """
    monkeypatch.setattr("jetpy.refinement.rebalance.MAX_HALF_BITS", 1)
    graph, k = jetpy.generators.grid(64, 64), 8
    start = (np.arange(graph.n) >= 0.7 * graph.n).astype(int)
    start[:k] = range(k)
    options: dict[str, Any] = {"preset": "fast", **ENGINE}
    expected = jetpy.refine(graph, start, k, **options)
    bounds = np.array([0, bound, graph.n])

    def run(comm: Communicator) -> Any:
        block, own = block_of(graph, bounds, comm.rank), start[bounds[comm.rank] :]
        own = own[: len(block.indptr) - 1]
        return jetpy.distributed.refine(comm, block, own, k, small=0, **options).parts

    assert np.array_equal(np.concatenate(run_on_threads(2, run)), expected.parts)
