"""`jetpy.partition_many`: each graph gets the result of `jetpy.partition`."""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.api import many, side_by_side
from jetpy.device import backends
from jetpy.graph.csr import Graph
from jetpy.initial import sharing, tasks
from jetpy.problem.presets import PRESETS
from jetpy.result.partition import Partition
from tests.device_backend import DeviceBackend
from tests.graphs import SMALL_GRAPHS, path, random_graph, star
from tests.strategies import weighted_graphs

SAME = ("k", "seed", "preset", "coarsening", "refinement", "backend", "objective", "generations")
SAME += ("gpu_skipped",)


@pytest.fixture(scope="module", autouse=True)
def no_started_gpu() -> Iterator[None]:
    """Let `auto` decide as in a process that has used no GPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backends, "_cuda_has_started", lambda: False)
        yield


def check_equal(found: list[Partition], alone: list[Partition]) -> None:
    """Compare everything except times and numbers of threads."""
    assert len(found) == len(alone)
    for one, other in zip(found, alone, strict=True):
        assert np.array_equal(one.parts, other.parts)
        assert (one.cut, one.feasible) == (other.cut, other.feasible)
        assert np.array_equal(one.limits, other.limits)
        assert [getattr(one, name) for name in SAME] == [getattr(other, name) for name in SAME]
        assert [level.n for level in one.levels] == [level.n for level in other.levels]


@settings(max_examples=25)
@given(
    graphs=st.lists(weighted_graphs(least=0, most=24), max_size=5),
    k=st.integers(1, 6),
    seed=st.integers(0, 3),
    preset=st.sampled_from(sorted({*PRESETS} - {"max"})),
    threads=st.integers(1, 5),
)
def test_each_result_equals_partition(
    graphs: list[Graph], k: int, seed: int, preset: Any, threads: int
) -> None:
    found = jetpy.partition_many(graphs, k, seed=seed, preset=preset, threads=threads)
    check_equal(found, [jetpy.partition(g, k, seed=seed, preset=preset, threads=1) for g in graphs])


@pytest.mark.parametrize("preset", ["default", "fast"])
def test_graphs_with_several_levels_equal_partition(preset: Any) -> None:
    graphs = [jetpy.generators.delaunay(700 + 400 * i, seed=i) for i in range(5)]
    graphs += [random_graph(900, 4000, 2, weighted=True), jetpy.generators.rmat(9, 6)]
    found = jetpy.partition_many(graphs, 8, preset=preset, threads=3)
    check_equal(found, [jetpy.partition(g, 8, preset=preset, threads=1) for g in graphs])


def test_each_graph_has_its_own_k_and_seed() -> None:
    graphs, ks, seeds = [path(40), star(30), path(50)], [2, 3, 4], np.array([5, 0, 7])
    found = jetpy.partition_many(graphs, ks, seed=seeds, threads=2)  # type: ignore[arg-type]
    rows = zip(graphs, ks, seeds.tolist(), strict=True)
    check_equal(found, [jetpy.partition(g, k, seed=seed, threads=1) for g, k, seed in rows])


def test_each_graph_has_its_own_arrays() -> None:
    graphs, rng = [random_graph(60, 150, i) for i in range(4)], np.random.default_rng(1)
    each: dict[str, list[Any]] = {
        "vertex_weights": [rng.integers(1, 9, 60), None, rng.integers(1, 9, (60, 2)), None],
        "edge_weights": [None, [3] * len(graphs[1].indices), None, None],
        "fixed": [None, rng.integers(-1, 3, 60), None, None],
        "home": [None, None, None, rng.integers(-1, 3, 60)],
    }
    found = jetpy.partition_many(graphs, 3, **each, threads=2)
    rows = [{name: values[i] for name, values in each.items()} for i in range(4)]
    alone = [jetpy.partition(g, 3, **row) for g, row in zip(graphs, rows, strict=True)]
    check_equal(found, alone)
    assert found[2].part_weights.shape == (3, 2)
    assert np.array_equal(found[3].moved, alone[3].moved)


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "volume"},
        {"connected": True},
        {"targets": [3, 1, 1, 1]},
        {"imbalance": 0.2, "seed": 3},
        {"generations": 2, "preset": "fast"},
        {"coarsening": "constrained", "refinement": "independent-set"},
    ],
    ids=str,
)
def test_options_apply_to_all_graphs(options: dict[str, Any]) -> None:
    graphs = [random_graph(90, 250, i, weighted=True) for i in range(4)]
    found = jetpy.partition_many(graphs, 4, **options, threads=2)
    check_equal(found, [jetpy.partition(g, 4, **options, threads=1) for g in graphs])


def test_iterator_of_different_input_types_is_accepted(tmp_path: Path) -> None:
    """Everything that `partition` accepts, from an iterator that can be read only once."""
    graph = random_graph(50, 120, 1)
    file = tmp_path / "a.graph"
    jetpy.write_graph(file, graph)
    wide = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    edges = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    kinds = [graph, file, wide, nx.path_graph(7), edges]
    found = jetpy.partition_many(iter(kinds), 2, n=iter([None, 50, None, None, 5]), threads=2)
    assert [len(result.parts) for result in found] == [50, 50, 50, 7, 5]
    for result in found[1:3]:
        assert np.array_equal(result.parts, found[0].parts)


@pytest.mark.usefixtures("no_idle_backends")
def test_larger_graphs_change_no_parts() -> None:
    """A graph gets no more room if the storage was made for a larger one.

    The larger graph is in an earlier run, or in the same call. Fixed vertices keep the graphs from
    shrinking, so that their levels fill the room they have.
    """
    larger = jetpy.generators.delaunay(2000)
    for seed in (48, 171, 224, 277):
        random = np.random.default_rng(seed)
        n = int(random.integers(100, 200))
        graph = random_graph(n, n // 8, seed, weighted=True)
        k = n // 3
        fixed = np.where(random.random(n) < 0.5, random.integers(0, k, n), -1)
        backends.forget_backends()
        alone = jetpy.partition(graph, k, fixed=fixed, threads=1)
        same_call, _ = jetpy.partition_many([graph, larger], k, fixed=[fixed, None], threads=1)
        later_run = jetpy.partition(graph, k, fixed=fixed, threads=1)
        assert np.array_equal(alone.parts, same_call.parts)
        assert np.array_equal(alone.parts, later_run.parts)


def test_no_graphs_give_no_results() -> None:
    assert jetpy.partition_many([], 4) == []
    assert jetpy.partition_many(iter(()), [], seed=[], fixed=[]) == []


@pytest.mark.parametrize(
    ("threads", "count", "expected"),
    [(1, 3, [1, 1, 1]), (2, 3, [1, 1, 1]), (7, 2, [3, 3]), (5, 1, [5])],
)
def test_threads_are_divided_among_large_graphs(
    threads: int, count: int, expected: list[int]
) -> None:
    found = jetpy.partition_many([path(20)] * count, 2, preset="jet", threads=threads)
    assert [result.threads for result in found] == expected


@pytest.fixture
def no_idle_backends() -> Iterator[None]:
    """Drop the back ends that are idle before and after a test."""
    backends.forget_backends()
    yield
    backends.forget_backends()


@pytest.mark.usefixtures("no_idle_backends")
def test_a_gpu_and_its_host_share_small_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The GPU is imitated; it takes some of the graphs, but not all."""
    taken: list[float] = []

    def gpu_jobs(*given: Any) -> Any:
        monkeypatch.setattr(sharing, "MIN_GAIN", 0)
        there = gpu_tasks_of(*given)
        taken.append(there.mean())
        return there

    gpu_tasks_of = tasks.gpu_jobs
    monkeypatch.setattr(tasks, "gpu_jobs", gpu_jobs)
    monkeypatch.setattr(DeviceBackend, "tasks_at_once", 512)
    monkeypatch.setitem(backends.BACKENDS, "cuda", lambda *_: DeviceBackend(1))
    graphs = [jetpy.generators.delaunay(100 + 3 * i, seed=i) for i in range(60)]
    graphs.append(random_graph(200, 800, 4, weighted=True))
    found = jetpy.partition_many(graphs, 4, backend="cuda", threads=2)
    assert len(taken) == 1
    assert 0 < taken[0] < 1
    assert {result.backend for result in found} == {DeviceBackend.name}
    for graph, result in zip(graphs, found, strict=True):
        alone = jetpy.partition(graph, 4, backend="cpu")
        assert np.array_equal(result.parts, alone.parts)
        assert (result.cut, result.levels[0].imbalance) == (alone.cut, alone.levels[0].imbalance)


def test_results_are_equal_on_every_back_end(backend_name: str) -> None:
    graphs = [make() for make in SMALL_GRAPHS.values()]
    graphs += [random_graph(300, 900, 4, weighted=True)]
    found = jetpy.partition_many(graphs, 3, backend=backend_name)  # type: ignore[arg-type]
    alone = [jetpy.partition(g, 3, backend="cpu", threads=1) for g in graphs]
    for one, other in zip(found, alone, strict=True):
        assert np.array_equal(one.parts, other.parts)


def test_every_option_of_partition_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = jetpy.partition, jetpy.partition_many
    options, own = ([*signature(one).parameters.values()][1:] for one in functions)
    assert [(one.name, one.default) for one in own] == [(one.name, one.default) for one in options]
    of_each = {"k", "seed", "vertex_weights", "edge_weights", "vertex_sizes", "n"}
    of_each |= {"fixed", "home", "together", "within"}
    given: dict[str, Any] = {one.name: object() for one in options}
    given |= {name: [given[name]] for name in of_each} | {"threads": 1, "progress": None}
    passed: dict[str, Any] = {}

    def take(graph: Any, **options: Any) -> None:
        passed.update({name: value for name, value in options.items() if value is not None})

    def solve_all(plans: Any, execution: Any, pools: Any) -> list[tuple[int, None]]:
        passed.update({name: getattr(execution, name) for name in of_execution})
        return [(0, None)]

    def convert(graph: Graph, **options: Any) -> Graph:
        take(graph, **options)
        return graph

    of_execution = "backend", "threads", "device", "profile"
    monkeypatch.setattr(many, "make_plan", take)
    monkeypatch.setattr(many, "as_graph", convert)
    monkeypatch.setattr(many, "solve_all", solve_all)
    assert jetpy.partition_many([GOOD], **given) == [None]
    del given["progress"]
    assert passed == {n: value[0] if n in of_each else value for n, value in given.items()}


# Errors

LOOP = ([0, 1], [0])
"""Arrays of a graph with a self-loop."""
GOOD = path(6)


@pytest.mark.parametrize(
    ("graphs", "k", "options", "error", "message"),
    [
        ([GOOD, LOOP, GOOD], 2, {}, jetpy.GraphError, r"^graphs\[1\]: edge \(0, 0\) is a self"),
        ([GOOD] * 5 + [LOOP] * 5, 2, {}, jetpy.GraphError, r"^graphs\[5\]: "),
        ([GOOD, object()], 2, {}, jetpy.GraphError, r"^graphs\[1\]: cannot make a graph"),
        ([GOOD, "no.graph"], 2, {}, jetpy.MissingFileError, r"^graphs\[1\]: no.graph: "),
        ([GOOD, GOOD], [2, 0], {}, jetpy.OptionError, r"^graphs\[1\]: k is 0"),
        ([GOOD, GOOD], 2, {"seed": [0, -1]}, jetpy.OptionError, r"^graphs\[1\]: seed is -1"),
        ([GOOD, GOOD], 2, {"preset": "slow"}, jetpy.OptionError, r"^graphs\[0\]: unknown preset"),
        ([GOOD], 2, {"fixed": [[0] * 5]}, jetpy.OptionError, r"^graphs\[0\]: .*fixed"),
        (
            [GOOD, GOOD],
            [2],
            {},
            jetpy.OptionError,
            "^k has 1 items; it must have one item for each of 2 graphs$",
        ),
        (
            [],
            2,
            {"home": [None]},
            jetpy.OptionError,
            "^home has 1 items; it must have one item for each of 0 graphs$",
        ),
        (GOOD, 2, {}, jetpy.GraphError, "^graphs is a Graph; graphs must be a list of graphs$"),
        ("a.graph", 2, {}, jetpy.GraphError, "^graphs is a str; graphs must be a list of graphs$"),
        ([], 2, {"threads": 0}, jetpy.OptionError, "^threads is 0"),
        ([GOOD], 2, {"threads": 1.5}, jetpy.OptionError, "^threads is 1.5"),
        ([GOOD], 2, {"device": False}, jetpy.OptionError, "device is False; device must be the"),
        ([GOOD], 2, {"progress": 3}, jetpy.OptionError, "^progress is 3; progress must be"),
    ],
)
def test_error_names_the_first_wrong_graph(
    graphs: Any, k: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    for threads in (1, 2, 4):
        with pytest.raises(error, match=message):
            jetpy.partition_many(graphs, k, **{"threads": threads, **options})


def test_foreign_error_gets_a_note_with_the_graph() -> None:
    class Wrong:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("of the caller")

    with pytest.raises(RuntimeError, match="of the caller") as found:
        jetpy.partition_many([GOOD, Wrong()], 2, threads=2)
    assert found.value.__notes__ == ["The error concerns graphs[1] of jetpy.partition_many."]


def test_no_graph_starts_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    def as_graph(graph: int, **_: Any) -> Graph:
        begun.append(graph)
        if graph == 1:
            raise jetpy.GraphError("of the graph")
        return GOOD

    monkeypatch.setattr(many, "as_graph", as_graph)
    with pytest.raises(jetpy.GraphError, match=r"graphs\[1\]: of the graph"):
        jetpy.partition_many(range(100_000), 2, threads=1)
    assert len(begun) < 100_000


def test_all_graphs_are_checked_before_the_first_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve_all(*_: Any) -> None:
        pytest.fail("it was started")

    monkeypatch.setattr(many, "solve_all", solve_all)
    with pytest.raises(jetpy.GraphError, match=r"graphs\[9\]"):
        jetpy.partition_many([GOOD] * 9 + [LOOP], 2, threads=2)


# While it runs


def endless(execution: Any) -> None:
    while True:
        execution.progress("refine", 0, 1)
        time.sleep(0.001)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("preset", ["default", "jet"])
@pytest.mark.parametrize("delay", [0, 0.001, 0.01, 0.1])
def test_ctrl_c_ends_running_graphs(
    monkeypatch: pytest.MonkeyPatch, preset: Any, delay: float
) -> None:
    """The runs never end by themselves, and Ctrl-C does not interrupt a wait for them."""
    begun = threading.Event()

    def endless_run(plan: Any, execution: Any) -> None:
        begun.set()
        endless(execution)

    def endless_launch(requests: Any, execution: Any, backend: Any) -> None:
        begun.set()
        endless(execution)

    def interrupt() -> None:
        begun.wait()
        time.sleep(delay)
        _thread.interrupt_main()

    monkeypatch.setattr(side_by_side, "carry_out", endless_run)
    monkeypatch.setattr(side_by_side, "run_small", endless_launch)
    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        jetpy.partition_many([GOOD] * 1000, 2, preset=preset, threads=3)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_releases_all_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a lock taken in Python, where the signal may arrive before its `with` block."""

    class Pool(ThreadPoolExecutor):
        def submit(self, *given: Any, **options: Any) -> Any:
            future = super().submit(*given, **options)
            self._idle_semaphore._cond.acquire()
            signal.raise_signal(signal.SIGINT)
            self._idle_semaphore._cond.release()
            return future

    monkeypatch.setattr(many, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(many, "as_graph", lambda graph, **_: time.sleep(0.05) or graph)
    with pytest.raises(KeyboardInterrupt):
        jetpy.partition_many([GOOD] * 9, 2, backend="cpu", threads=3)


@pytest.mark.usefixtures("interruptible")
def test_signal_handler_without_exception_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def interrupt(requests: Any, *_: Any) -> list[None]:
        signal.raise_signal(signal.SIGINT)
        return [None] * len(requests)

    monkeypatch.setattr(side_by_side, "run_small", interrupt)
    signal.signal(signal.SIGINT, lambda *given: seen.append(given))
    assert jetpy.partition_many([GOOD] * 5, 2, backend="cpu", threads=2) == [None] * 5
    assert seen


def test_error_ends_running_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(plan: Any, execution: Any) -> None:
        if plan.request.graph.n == 1:
            raise ZeroDivisionError
        endless(execution)

    monkeypatch.setattr(side_by_side, "carry_out", solve)
    with pytest.raises(ZeroDivisionError):
        jetpy.partition_many([path(1), *[GOOD] * 50], 2, preset="jet", threads=3)


def test_progress_counts_graphs_in_the_calling_thread() -> None:
    calls: list[tuple[Any, ...]] = []
    jetpy.partition_many(
        [GOOD] * 4, 2, threads=2, progress=lambda *now: calls.append((*now, threading.get_ident()))
    )
    assert calls == [("graphs", done, 4, threading.get_ident()) for done in range(1, 5)]


def test_no_thread_remains() -> None:
    jetpy.partition_many([GOOD] * 9, 2, backend="cpu", threads=3)  # the back end keeps its threads
    before = threading.active_count()
    jetpy.partition_many([GOOD] * 9, 2, backend="cpu", threads=3)
    assert threading.active_count() == before
