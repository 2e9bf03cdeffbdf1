"""Concurrent calls of jetpy from Python threads give the results of serial calls."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.device import backends
from jetpy.device.backends import MAX_IDLE, check_backend, get_backend, lease
from jetpy.engines.cpu import compiling, llvm
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.engines.cpu.thread_pool import ThreadPool, in_a_run
from jetpy.engines.threads import available_threads, fork_safe_lock, uninterrupted
from jetpy.engines.turns import KOKKOS
from jetpy.errors import JetpyError, OptionError
from jetpy.kernel_language import Width
from jetpy.workloads.common import selfcheck
from tests.children import ensure, run_in_child
from tests.conftest import register_mode, require_backend
from tests.graphs import random_graph
from tests.modules import Load
from tests.switching import switching_often

Choice = tuple[str, int | None]
CALLERS = 6
"""Number of calling threads, possibly more than the machine has cores."""


@pytest.fixture(autouse=True)
def switching() -> Iterator[None]:
    """Switch between Python threads thousands of times a second."""
    with switching_often():
        yield


@cache
def graph(name: str) -> jetpy.Graph:
    return {
        "delaunay": lambda: jetpy.generators.delaunay(6000),
        "grid": lambda: jetpy.generators.grid(60, 50),
        "rmat": lambda: jetpy.generators.rmat(11, 6),
        "weighted": lambda: random_graph(900, 4000, 2, weighted=True),
    }[name]()


def digest(*values: Any) -> str:
    found = sha256()
    for value in values:
        found.update(np.ascontiguousarray(value).tobytes())
    return found.hexdigest()


def partition(name: str, k: int, **options: Any) -> Callable[..., str]:
    def call(**engine: Any) -> str:
        result = jetpy.partition(graph(name), k, **options, **engine)
        subgraph = list(result.subgraphs())[k // 2]
        graded = jetpy.evaluate(graph(name), result)
        numbers = [result.cut, graded.cut, subgraph.owned]
        return digest(result.parts, result.part_weights, subgraph.global_ids, numbers)

    return call


def refine(name: str, k: int, **options: Any) -> Callable[..., str]:
    start = np.random.default_rng(k).integers(0, k, graph(name).n)
    return lambda **engine: digest(
        jetpy.refine(graph(name), start, k, **options, **engine).parts,
    )


def mapping(name: str, hierarchy: str, method: str) -> Callable[..., str]:
    def call(**engine: Any) -> str:
        found = jetpy.map_processes(graph(name), hierarchy, "1:9", method=method, **engine)
        return digest(found.pe, found.cost)

    return call


def session(name: str, k: int) -> Callable[..., str]:
    def call(**engine: Any) -> str:
        live = jetpy.IncrementalPartitioner(graph(name), k, **engine)
        rng, states = random.Random(k), []
        for _ in range(3):
            ids = live.vertices.tolist()
            live.delete_vertices(rng.sample(ids, 40))
            live.insert_vertices(20)
            states += [live.partition, live.cut, live.m]
        return digest(*states)

    return call


CALLS = [
    partition("delaunay", 8),
    partition("delaunay", 31, seed=4),
    partition("grid", 3, preset="fast"),
    partition("rmat", 16),
    partition("weighted", 5, preset="gkway"),
    partition("weighted", 4, connected=True),
    partition("weighted", 6, objective="volume"),
    partition("grid", 5, fixed=np.arange(3000) // 40 % 16 - 1 & 3),
    refine("rmat", 7, preset="fast"),
    mapping("weighted", "2:3", "im"),
    mapping("grid", "4:2", "hm"),
    session("grid", 4),
]


@cache
def serial_result(call: Callable[..., str]) -> str:
    return call(backend="cpu", threads=1)


def test_concurrent_calls_equal_serial_calls(
    backend_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_backend(backend_name)
    names: list[str] = [backend_name]
    if backend_name == "cpu":
        names += [register_mode(mode, monkeypatch) for mode in ("captured", "apart")]
    rng = random.Random(1)
    jobs = [(call, name, count) for call in CALLS for name in names for count in (1, None)]
    rng.shuffle(jobs)
    expected = [serial_result(call) for call, _, _ in jobs]

    def run(job: tuple[Callable[..., str], str, int | None]) -> str:
        call, name, count = job
        return call(backend=name, threads=count if "cpu" in name else None)

    with ThreadPoolExecutor(CALLERS) as callers:
        assert list(callers.map(run, jobs)) == expected


def test_failing_calls_do_not_affect_others() -> None:
    expected = serial_result(CALLS[0])

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "refine":
            raise KeyboardInterrupt

    def run(number: int) -> str:
        wrong: list[dict[str, Any]] = [{}, {"progress": stop}, {"imbalance": -1.0}]
        options = wrong[number % 3]
        if not options:
            return CALLS[0](backend="cpu", threads=2)
        with pytest.raises((KeyboardInterrupt, OptionError)):
            jetpy.partition(graph("delaunay"), 8, backend="cpu", **options)
        return expected

    with ThreadPoolExecutor(CALLERS) as callers:
        assert list(callers.map(run, range(18))) == [expected] * 18


def test_progress_function_may_call_partition() -> None:
    found: list[str] = []

    def nested(stage: str, done: int, total: int) -> None:
        if not found:
            found.append(CALLS[0](backend="cpu", threads=2))

    whole = CALLS[0](backend="cpu", threads=2, progress=nested)
    assert [whole, *found] == [serial_result(CALLS[0])] * 2


def test_updates_of_one_session_are_serialised() -> None:
    live = jetpy.IncrementalPartitioner(graph("grid"), 4, backend="cpu", threads=2)
    n, m, done = live.n, live.m, threading.Event()

    def watch() -> None:
        """Check that values read between updates are consistent."""
        while not done.is_set():
            assert live.partition.max() < 4
            assert live.part_weights.sum() >= n

    def insert(_: int) -> int:
        update = live.insert_vertices(10)
        first, second = update.vertices[:2]
        live.insert_edges([(first, second), (first, 0)])
        return int(first)

    with ThreadPoolExecutor(CALLERS) as callers:
        watcher = callers.submit(watch)
        firsts = list(callers.map(insert, range(12)))
        done.set()
        watcher.result()
    assert sorted(firsts) == list(range(n, n + 120, 10))
    assert (live.n, live.m) == (n + 120, m + 24)
    result = jetpy.evaluate(live.graph, live.partition, 4)
    assert (result.cut, result.part_weights.tolist()) == (live.cut, live.part_weights.tolist())


def test_repr_of_a_session_is_consistent(monkeypatch: pytest.MonkeyPatch) -> None:
    live = jetpy.IncrementalPartitioner(graph("grid"), 4, backend="cpu", threads=1)
    is_shown, is_updated, before = threading.Event(), threading.Event(), repr(live)

    def cut(live: jetpy.IncrementalPartitioner) -> int:
        is_shown.set()
        is_updated.wait(0.5)  # times out, because the update waits for `repr`
        return live._cut

    with ThreadPoolExecutor(1) as callers, monkeypatch.context() as patch:
        patch.setattr(jetpy.IncrementalPartitioner, "cut", property(cut))
        shown = callers.submit(repr, live)
        assert is_shown.wait(60)
        live.delete_vertices(range(0, 500, 3))
        is_updated.set()
        assert shown.result() == before
    assert repr(live) != before


def test_session_outlives_the_thread_that_made_it() -> None:
    made: list[jetpy.IncrementalPartitioner] = []
    maker = threading.Thread(
        target=lambda: made.append(
            jetpy.IncrementalPartitioner(graph("grid"), 4, backend="cpu", threads=2)
        )
    )
    maker.start()
    maker.join()
    here = jetpy.IncrementalPartitioner(graph("grid"), 4, backend="cpu", threads=2)
    for live in (made[0], here):
        live.delete_vertices(range(0, 500, 3))
    assert np.array_equal(made[0].partition, here.partition)


# Back ends


def test_concurrent_runs_have_different_back_ends() -> None:
    with lease("cpu", 2) as first, lease("cpu", 2) as second:
        assert first is not second
    with lease("cpu", 2) as again:
        assert again is first
    assert get_backend("cpu", 2) is not get_backend("cpu", 2)


def test_back_end_of_a_failed_run_is_not_reused() -> None:
    with pytest.raises(JetpyError), lease("cpu", 2) as first:
        raise JetpyError("of the run")
    with lease("cpu", 2) as other:
        assert other is not first


def test_number_of_idle_back_ends_is_limited() -> None:
    def nest(depth: int) -> None:
        with lease("cpu", 1):
            if depth:
                nest(depth - 1)

    nest(2 * MAX_IDLE)
    assert len(backends._idle) == MAX_IDLE


@pytest.mark.parametrize(
    ("first", "second", "take_turns"),
    [
        (("kokkos-serial", None), ("kokkos-openmp", None), True),
        (("cuda", None), ("cuda", 0), True),
        (("cuda", 0), ("cuda", 1), False),
        (("cuda", 0), ("kokkos-openmp", None), False),
        (("cpu", None), ("cpu", None), False),
    ],
)
def test_runs_on_one_gpu_or_kokkos_take_turns(
    first: Choice, second: Choice, take_turns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, _ in (first, second):
        monkeypatch.setitem(backends.BACKENDS, name, lambda *_: CpuBackend(1))
    both = threading.Barrier(2)

    def meet(choice: Choice) -> bool:
        with lease(choice[0], device=choice[1]):
            try:
                both.wait(0.2 if take_turns else 60)
            except threading.BrokenBarrierError:
                return False
            return True

    with ThreadPoolExecutor(2) as callers:
        assert list(callers.map(meet, [first, second])) == [not take_turns] * 2
    backends.forget_backends()


def test_auto_does_not_wait_for_kokkos() -> None:
    """A run on Kokkos blocks only runs that could use Kokkos on a GPU."""
    may_end, has_turn = threading.Event(), threading.Event()

    def hold() -> None:
        with KOKKOS:
            has_turn.set()
            may_end.wait(60)

    with ThreadPoolExecutor(2) as callers:
        callers.submit(hold)
        assert has_turn.wait(60)
        try:
            callers.submit(check_backend, "auto").result(10)
        finally:
            may_end.set()


def test_concurrent_runs_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jetpy.engines.cpu.thread_pool.available_threads", lambda: 8)
    pools = [ThreadPool(threads) for threads in (8, 8, 1, 20)]
    with in_a_run(pools[3]):
        assert pools[3].width == 20
        with in_a_run(pools[3]), in_a_run(pools[0]):
            assert [pool.width for pool in pools] == [2, 8, 1, 5]
        with in_a_run(pools[2]):
            assert [pool.width for pool in pools] == [8, 8, 1, 7]
        assert pools[3].width == 20
    assert [pool.width for pool in pools] == [8, 8, 1, 20]


def test_threads_start_on_first_use() -> None:
    before, numbers = threading.active_count(), np.ones(100_000, np.int32)
    busy, backend = CpuBackend(64), CpuBackend(available_threads())
    with busy.using(), backend.using():
        backend.reduce(len(numbers), selfcheck.add_up, numbers=numbers)
        assert threading.active_count() == before + backend._pool.width - 1
    backend.reduce(len(numbers), selfcheck.add_up, numbers=numbers)
    assert threading.active_count() == before + backend.threads - 1


# Ctrl-C, forks, and files


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_waits_for_an_uninterrupted_block() -> None:
    ended = []

    def work() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            ended.append("the block")
        ended.append("more")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert ended == ["the block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_forked_process_works_during_calls_of_other_threads() -> None:
    """No lock in the child is held by a thread that does not exist there."""
    expected, stop = serial_result(CALLS[2]), threading.Event()

    def work() -> None:
        while not stop.is_set():
            CALLS[2](backend="cpu", threads=1)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(4):
            run_in_child(lambda: ensure(CALLS[2](backend="cpu", threads=2) == expected))
    finally:
        stop.set()
        for worker in workers:
            worker.join()


def test_locks_of_other_threads_are_free_in_a_forked_process() -> None:
    others, own = fork_safe_lock(), fork_safe_lock()
    is_held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with others:
            is_held.set()
            may_end.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert is_held.wait(60)
    try:
        with own:
            run_in_child(lambda: ensure(others.acquire(timeout=5)))
            run_in_child(own.release)
    finally:
        may_end.set()
        holder.join()


def test_fork_waits_for_running_compilations(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM and its Python package have locks, and the cache has a file lock."""
    monkeypatch.setenv("JETPY_CACHE_DIR", str(tmp_path / "cache"))
    text = "@pk.workunit\ndef put(i: int, out: pk.View1D[pk.int32]):\n    out[i] = 7\n"
    module = load(text)
    begun, compile_text = threading.Event(), llvm.compile_text

    def compile_slowly(text: str, name: str) -> bytes:
        begun.set()
        time.sleep(0.2)
        return compile_text(text, name)

    monkeypatch.setattr(llvm, "compile_text", compile_slowly)
    with ThreadPoolExecutor(1) as others:
        others.submit(compiling.code_of, module, Width.NARROW)
        assert begun.wait(60)
        run_in_child(lambda: ensure([*compiling.code_of(module, Width.NARROW)] == ["put"]))


def test_concurrent_writes_use_the_umask(tmp_path: Path) -> None:
    """The umask of the process, which all threads share, is unchanged."""
    parts = np.zeros(5, np.int32)

    def write(number: int) -> int:
        path = tmp_path / f"{number}.part"
        jetpy.write_parts(path, parts)
        return path.stat().st_mode & 0o777

    (tmp_path / "mask").touch()
    usual = (tmp_path / "mask").stat().st_mode & 0o777
    with ThreadPoolExecutor(CALLERS) as callers:
        assert set(callers.map(write, range(200))) == {usual}
    (tmp_path / "after").touch()
    assert (tmp_path / "after").stat().st_mode & 0o777 == usual
