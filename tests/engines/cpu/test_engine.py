"""The CPU engine: compilation, its cache, and errors of the compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jetpy.device.backends import get_backend
from jetpy.engines import workers
from jetpy.engines.base import Backend
from jetpy.engines.cpu import SUFFIX, compiling, source
from jetpy.engines.cpu.engine import SHARED_WORDS, CpuBackend
from jetpy.engines.workers import watch_compilations
from jetpy.errors import BackendError
from jetpy.kernel_language import Width
from jetpy.workloads.common import selfcheck
from tests.modules import Load


@pytest.fixture(params=[1, 2, 3], ids="{}-threads".format)
def engine(request: pytest.FixtureRequest) -> Backend:
    return get_backend("cpu", request.param)


def test_launch_with_more_threads_than_grains() -> None:
    """Some threads get an empty range, and the last range is shorter."""
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


def test_arrays_are_allocated_sorted_and_copied(engine: Backend) -> None:
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


def test_edited_workunits_are_recompiled(load: Load, empty_cache: Path) -> None:
    out = np.zeros(3, np.int32)
    engine = CpuBackend(1)
    for value in (1, 2, 1):
        module = load(PUT.format(value))
        engine.parallel_for(3, module.put, out=out)
        assert out.tolist() == [value] * 3


def files_in(cache: Path) -> list[Path]:
    return list(cache.rglob(f"workunits_*{SUFFIX}"))


def forget_code() -> None:
    """Clear the loaded code, as in a new process."""
    compiling._code_of.cache_clear()


def test_kernel_is_compiled_once_and_then_loaded_from_the_cache(
    load: Load, empty_cache: Path
) -> None:
    module = load(PUT.format(5))
    out = np.zeros(2, np.int32)
    for compiled in (["put"], []):
        forget_code()
        with watch_compilations() as seen:
            CpuBackend(1).parallel_for(2, module.put, out=out)
            CpuBackend(1).parallel_for(2, module.put, out=out)
        assert [name for one in seen for name in one.workunits] == compiled
        assert out.tolist() == [5, 5]
    assert len(files_in(empty_cache)) == 1


def test_kernels_exist_in_both_widths(load: Load, empty_cache: Path) -> None:
    module = load(
        "@pk.workunit\ndef put(i: int, out: pk.View1D[pk.int64]):\n"
        "    million: int = 1000000\n    out[i] = million * million\n"
    )
    out = np.zeros(2, np.int64)
    CpuBackend(1).with_width(Width.WIDE).parallel_for(2, module.put, out=out)
    assert out.tolist() == [10**12] * 2
    CpuBackend(1).parallel_for(2, module.put, out=out)
    assert out.tolist() == [10**12 % 2**32 - 2**32] * 2


def test_run_compiles_only_launched_modules(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_code()
    engine = CpuBackend(1)
    engine.reduce(3, selfcheck.add_up, numbers=engine.full(3, 1))
    kept = [path.name.rpartition("-")[0] for path in empty_cache.rglob(f"*{SUFFIX}")]
    assert [name for name in kept if name != "scheduler"] == ["selfcheck_narrow"]
    assert engine.ledger.loading > 0


@pytest.mark.parametrize("damage", ["emptied", "garbage", "cut short", "of another unit"])
def test_damaged_code_is_recompiled(load: Load, damage: str, empty_cache: Path) -> None:
    modules = [load(PUT.format(value)) for value in (3, 4)]
    out = np.zeros(2, np.int32)
    contents = []
    for module in modules:
        CpuBackend(1).parallel_for(2, module.put, out=out)
        [path] = empty_cache.rglob(f"{module.__name__}_*{SUFFIX}")
        contents.append(path.read_bytes())
    other, kept = contents
    found = {"emptied": b"", "garbage": b"garbage " * 99, "cut short": kept[: len(kept) // 2]}
    path.write_bytes(found.get(damage, other))
    forget_code()
    out[:] = 0
    CpuBackend(1).parallel_for(2, module.put, out=out)
    assert out.tolist() == [4, 4]
    assert path.read_bytes() == kept


def test_read_only_cache_is_used(
    load: Load, empty_cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """New kernels are compiled in memory, with a warning, if no folder is writable."""
    monkeypatch.setattr(workers, "_announced", True)
    module = load(PUT.format(4))
    out = np.zeros(2, np.int32)
    CpuBackend(1).parallel_for(2, module.put, out=out)
    monkeypatch.setattr("jetpy.engines.cache.is_writable", lambda folder: False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
    monkeypatch.setattr(workers, "_announced", False)
    forget_code()
    CpuBackend(1).parallel_for(2, module.put, out=out)
    assert (out.tolist(), caplog.text) == ([4, 4], "")
    other = load(PUT.format(5))
    CpuBackend(1).parallel_for(2, other.put, out=out)
    assert out.tolist() == [5, 5]
    assert "jetpy cannot keep them for later runs, because " in caplog.text
    assert "later runs find them" not in caplog.text
    assert len(files_in(empty_cache)) == 1


def test_error_of_llvm_names_the_module(
    load: Load, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load(PUT.format(6))
    monkeypatch.setattr(source, "RANGE", source.RANGE.replace("ret i64", "return i64"))
    short = module.__name__
    with pytest.raises(BackendError, match=f"compiling the kernels of {short}_narrow failed:\n"):
        CpuBackend(1).parallel_for(2, module.put, out=np.zeros(2, np.int32))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("value", [0, -2, 2**31 - 1])
def test_long_arrays_are_filled(threads: int, kind: type[np.integer[Any]], value: int) -> None:
    """Several threads fill an array, except its last entries."""
    backend = CpuBackend(threads)
    for n in (0, 5, 2 * SHARED_WORDS - 1, 2 * SHARED_WORDS + 1, 5 * SHARED_WORDS + 3):
        array = backend.full(n, value, kind)
        assert (array.shape, array.dtype) == ((n,), kind)
        assert (array == value).all()
    assert backend.launches == 0
