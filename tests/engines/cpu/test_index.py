"""The index of the cache: a process with a warm cache does not read kernel sources."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from jetpy.engines import index
from jetpy.engines.cpu import SUFFIX, compiling, library, source
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.engines.workers import watch_compilations
from jetpy.kernel_language import Width, sources
from jetpy.workloads.common import selfcheck
from tests.children import run_python
from tests.modules import Load

PUT = "@pk.workunit\ndef put(i: int, out: pk.View1D[pk.int32]):\n    out[i] = {}\n"
PARTITION = """
import sys
import jetpy
jetpy.partition(jetpy.generators.grid(8, 8), 2, backend="cpu", threads=2)
print(*sorted(name for name in sys.modules if name.startswith("jetpy.kernel_language")))
"""
LAUNCHING = [
    f"jetpy.kernel_language{name}"
    for name in ("", ".pykokkos_standin", ".signature", ".sources", ".types")
]


def forget_code() -> None:
    """Clear the loaded code, as in a new process."""
    index._known.cache_clear()
    compiling._code_of.cache_clear()
    compiling._scheduler.cache_clear()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Use an empty cache and no library."""
    monkeypatch.setenv("JETPY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(library, "_library", lambda: None)
    forget_code()
    yield tmp_path / "cache"
    forget_code()


def total() -> int:
    return CpuBackend(1).reduce(9, selfcheck.add_up, numbers=np.arange(9, dtype=np.int32))


def units_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which the names of parsed modules are appended."""
    read: list[str] = []

    def unit_of(module: ModuleType, width: Width) -> source.Unit:
        read.append(module.__name__.rpartition(".")[2])
        return original(module, width)

    original = source.unit_of
    monkeypatch.setattr(source, "unit_of", unit_of)
    return read


def test_warm_start_reads_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    read = units_read(monkeypatch)
    assert total() == 36
    assert sorted(read) == ["scheduler", "selfcheck"]
    read.clear()
    forget_code()
    with watch_compilations() as compilations:
        assert total() == 36
    assert (read, compilations) == ([], [])


@pytest.mark.slow
def test_warm_process_imports_only_the_modules_for_launches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("JETPY_CACHE_DIR")
    for _ in range(2):  # the first run may compile kernels that the index lacks
        done = run_python(PARTITION)
    assert done.stdout.split() == LAUNCHING


def test_changed_sources_with_equal_text_are_read_but_not_recompiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For example after editing a comment, which LLVM does not see."""
    total()
    read = units_read(monkeypatch)
    monkeypatch.setattr(index, "digest_of_kernels", lambda engine: "other")
    monkeypatch.setattr(index, "are_unchanged", lambda engine: True)
    for expected in (["scheduler", "selfcheck"], []):
        forget_code()
        with watch_compilations() as compilations:
            assert total() == 36
        assert (sorted(read), compilations) == (expected, [])
        read.clear()


def test_sources_edited_after_import_are_not_indexed(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_digest_of", lambda *folders: "edited")
    assert total() == 36
    assert list(cache.rglob("index-*")) == []
    assert len(list(cache.rglob(f"*{SUFFIX}"))) == 2


@pytest.mark.parametrize("pattern", ["index-*", f"selfcheck*{SUFFIX}"])
def test_damaged_entries_are_replaced(
    cache: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    total()
    (damaged,) = cache.rglob(pattern)
    intact = damaged.read_bytes()
    damaged.write_bytes(intact[:-1])
    read = units_read(monkeypatch)
    forget_code()
    assert total() == 36
    assert "selfcheck" in read
    assert damaged.read_bytes() == intact


def test_foreign_workunits_are_not_indexed(
    load: Load, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = np.zeros(1, np.int32)
    read = units_read(monkeypatch)
    module = load(PUT.format(4))
    for _ in range(2):
        forget_code()
        CpuBackend(1).parallel_for(1, module.put, out=out)
    name = module.__name__
    assert (out[0], read.count(name), index.known("cpu", f"{name}_narrow")) == (4, 2, None)


def test_modules_with_equal_names_are_distinguished(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The modules are in different packages and have kernels with equal names."""
    out = np.zeros(1, np.int32)
    for value in (1, 2):
        module = load(PUT.format(value))
        monkeypatch.setitem(sys.modules, f"package_{value}.kernels", module)
        module.__name__ = module.put.__module__ = f"package_{value}.kernels"
        CpuBackend(1).parallel_for(1, module.put, out=out)
        assert out[0] == value


def test_digest_covers_names_and_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_PACKAGE", tmp_path)
    folder = tmp_path / "folder"
    folder.mkdir()
    digests = []
    for name, text in (("a.py", "x = 1"), ("a.py", "x = 2"), ("b.py", ""), ("a.pyc", "")):
        (folder / name).write_text(text)
        digests.append(sources._digest_of("folder"))
    assert len(set(digests)) == 3
    assert digests[2] == digests[3]
