"""The Numba engine: what it keeps of compiled kernels, and failures of its compiler."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from jetpy.backends import get_backend, workers
from jetpy.backends.base import Backend
from jetpy.backends.cpu import compiling
from jetpy.backends.cpu.engine import CpuBackend
from jetpy.backends.workers import compile_in_parallel, watch_compilations
from jetpy.cache import read_entry, write_entry
from jetpy.errors import BackendError
from jetpy.kernel_language import Width
from jetpy.workloads import selfcheck
from tests.modules import load_workunits


@pytest.fixture(params=[1, 2, 3], ids="{}-threads".format)
def engine(request: pytest.FixtureRequest) -> Backend:
    return get_backend("cpu", request.param)


def test_more_threads_than_indices_each() -> None:
    """Some threads get an empty range, and the last range ends early."""
    engine = get_backend("cpu", 64)
    for n in (2049, 2111, 4097):
        numbers = np.arange(n, dtype=np.int32) % 71 - 30
        starts = engine.empty(n, np.int64)
        total = engine.scan(n, selfcheck.offset, numbers=numbers, starts=starts)
        assert total == numbers.sum()
        assert (starts == np.cumsum(numbers) - numbers).all()
        assert engine.reduce(n, selfcheck.add_up, numbers=numbers) == numbers.sum()


def test_launches_are_counted(engine: Backend) -> None:
    before = engine.launches
    for n in (3, 3, 0):
        engine.reduce(n, selfcheck.add_up, numbers=engine.full(n, 0))
    assert engine.launches == before + 3


def test_arrays_of_the_back_end(engine: Backend) -> None:
    assert engine.empty(3).dtype == np.int32
    assert engine.full(3, -1, np.int64).tolist() == [-1, -1, -1]
    assert engine.sorted(np.array([3, 1, 2])).tolist() == [1, 2, 3]
    frozen = np.arange(3, dtype=np.int32)
    frozen.flags.writeable = False
    assert engine.to_host(engine.from_host(frozen)).tolist() == [0, 1, 2]
    strided = np.arange(10, dtype=np.int32)[::2]
    assert engine.from_host(strided).flags.c_contiguous


# Cache

PUT = "@pk.workunit\ndef put(i: int, out: pk.View1D[pk.int32]):\n    out[i] = {}\n"


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JETPY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_edited_workunits_are_compiled_anew(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = np.zeros(3, np.int32)
    engine = CpuBackend(1)
    for value in (1, 2, 1):
        module = load_workunits(PUT.format(value), tmp_path, monkeypatch)
        engine.parallel_for(3, module.put, out=out)
        assert out.tolist() == [value] * 3


def test_cache_is_used_by_name_and_text(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load_workunits(PUT.format(5), tmp_path, monkeypatch)
    monkeypatch.setattr(compiling, "_module", lambda name: module)
    assert not compiling.is_cached(module.__name__, "NARROW", "put")
    compiling.compile_all((module.__name__, "NARROW", "put"))
    assert compiling.is_cached(module.__name__, "NARROW", "put")
    out = np.zeros(2, np.int32)
    CpuBackend(1).parallel_for(2, module.put, out=out)
    assert out.tolist() == [5, 5]


DAMAGE = {
    "emptied": b"",
    "garbage": b"\x80\x05garbage",
    "text": b"nothing of the kind\n",
}


@pytest.mark.parametrize("damage", [*DAMAGE, "of another type"])
def test_what_cannot_be_loaded_is_compiled_again(
    damage: str, empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load_workunits(PUT.format(3), tmp_path, monkeypatch)
    out = np.zeros(2, np.int32)
    CpuBackend(1).parallel_for(2, module.put, out=out)
    [path] = empty_cache.rglob("put-*.kernel")
    kept = path.read_bytes()
    if damage in DAMAGE:
        path.write_bytes(DAMAGE[damage])
    else:
        write_entry(path.relative_to(empty_cache), pickle.dumps(["no", "kernel"]))
    compiling._ranges.cache_clear()  # as in a new process
    out[:] = 0
    CpuBackend(1).parallel_for(2, module.put, out=out)
    assert out.tolist() == [3, 3]
    assert len(path.read_bytes()) > len(kept) / 2
    assert read_entry(path.relative_to(empty_cache)) is not None


def test_a_read_only_cache_is_used_as_it_is(
    empty_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Also where nothing new can be kept: that is compiled in memory, and said."""
    module = load_workunits(PUT.format(4), tmp_path, monkeypatch)
    out = np.zeros(2, np.int32)
    CpuBackend(1).parallel_for(2, module.put, out=out)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
    monkeypatch.setattr("jetpy.cache.is_writable", lambda folder: False)
    compiling._ranges.cache_clear()  # as in a new process
    CpuBackend(1).parallel_for(2, module.put, out=out)
    assert (out.tolist(), compiling.ranges(module, Width.NARROW)["put"].cache_hits) == ([4, 4], 1)
    other = load_workunits(PUT.format(5), tmp_path, monkeypatch)
    CpuBackend(1).parallel_for(2, other.put, out=out)
    assert out.tolist() == [5, 5]
    assert "compiled kernels cannot be kept for later runs: " in caplog.text
    assert len(list(empty_cache.rglob("put-*.kernel"))) == 1


COMPILER = """
import sys
import jetpy.workloads
from numba import typeof
from jetpy.backends import pykokkos_standin
from jetpy.backends.cpu.compiling import ranges
from jetpy.kernel_language import Width
sys.modules["pykokkos"] = pykokkos_standin
import kernels_of_test

def compile_all(*entries):
    for (workunit,) in entries:
        function = ranges(kernels_of_test, Width.NARROW)[workunit]
        if workunit == "broken":
            function._sig = typeof("text")(*function._sig.args)
        function.compile()
"""


def test_failed_compilation_is_reported_in_the_compilers_words(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `CpuBackend.compile` does it: in processes, before anything is launched."""
    (tmp_path / "compiler_of_test.py").write_text(COMPILER)
    (tmp_path / "kernels_of_test.py").write_text(
        "import pykokkos as pk\n\n"
        "@pk.workunit\ndef fine(i: int, out: pk.View1D[pk.int32]):\n    out[i] = i\n\n"
        "@pk.workunit\ndef broken(i: int, out: pk.View1D[pk.int32]):\n"
        "    out[i] = 1\n"
        "@pk.workunit\ndef unknown(i: int, out: pk.View1D[pk.int32]):\n    out[i] = 1\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def compiled(*groups: list[str], jobs: int = 1) -> list[tuple[str, ...]]:
        where = "compiler_of_test:compile_all"
        given = [[(name,) for name in group] for group in groups]
        done = compile_in_parallel(where, given, jobs, environment)
        return [entry for group in done for entry in group]

    with pytest.raises(BackendError, match=r"compiling workunit broken failed") as caught:
        compiled(["fine"], ["broken"])
    assert "unicode_type" in str(caught.value)
    monkeypatch.setattr(workers, "MOST_FAILURES", 1)
    names = ["broken", "a", "fine"]
    with watch_compilations() as seen, pytest.raises(BackendError) as caught:
        compiled(*([name] for name in names), jobs=2)
    assert sorted(name for c in seen for name in c.workunits) == sorted(names)
    assert [c.workunits for c in seen if c.failure is None] == [["fine"]]
    assert str(caught.value).count(" failed:\n") == 1
    assert "1 more failed: " in str(caught.value)

    assert compiled(["fine", "unknown"]) == [("fine",), ("unknown",)]
    with watch_compilations() as seen, pytest.raises(BackendError) as caught:
        compiled(["fine", "broken", "unknown"])
    assert sorted(c.workunits for c in seen) == [["broken"], ["fine"], ["unknown"]]
    assert [c.workunits for c in seen if c.failure is not None] == [["broken"]]
    assert "unicode_type" in str(caught.value)
