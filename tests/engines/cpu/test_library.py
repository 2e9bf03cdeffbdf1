"""Libraries of compiled kernels, as in a wheel."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from jetpy.engines.cpu import SUFFIX, compiling, library, scheduler, source
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.engines.workers import watch_compilations
from jetpy.kernel_language import Width
from jetpy.workloads.common import selfcheck
from jetpy.workloads.multilevel import projection

V3, V4 = (set(library.LEVELS[level]) for level in ("x86-64-v3", "x86-64-v4"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a folder of libraries with the kernels of one module."""
    if shutil.which("cc") is None or platform.machine() != "x86_64":
        pytest.skip("libraries are made on x86-64, with a C compiler")
    folder = tmp_path_factory.mktemp("libraries")
    units = [source.unit_of(selfcheck, width) for width in Width]
    units.append(source.unit_of(scheduler, Width.WIDE))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "all_units", lambda _: units)
        assert library.build(folder, []) == [
            folder / f"kernels-{level}.so" for level in library.LEVELS
        ]
    return folder


@pytest.fixture(autouse=True)
def new_process(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clear the loaded code and use an empty cache."""
    monkeypatch.setattr(library, "FOLDER", made)
    monkeypatch.setenv("JETPY_CACHE_DIR", str(tmp_path))
    loaded = library._library, compiling._code_of, compiling._scheduler
    for function in loaded:
        function.cache_clear()
    yield
    for function in loaded:
        function.cache_clear()


def totals(backend: CpuBackend) -> list[int]:
    numbers = np.arange(10_000, dtype=np.int32)
    starts = np.zeros(10_000, np.int64)
    return [
        backend.reduce(len(numbers), selfcheck.add_up, numbers=numbers),
        backend.scan(len(numbers), selfcheck.offset, numbers=numbers, starts=starts),
    ]


def test_library_kernels_are_not_compiled(tmp_path: Path) -> None:
    if library.level_in_use() is None:
        pytest.skip("this processor is older than those of the libraries")
    with watch_compilations() as compilations:
        for threads in (1, 3):
            for backend in (CpuBackend(threads), CpuBackend(threads).with_width(Width.WIDE)):
                assert totals(backend) == [49_995_000] * 2
    assert compilations == []
    assert not list(tmp_path.rglob("*"))


def test_kernels_missing_from_the_library_are_compiled(tmp_path: Path) -> None:
    compiling.code_of(projection, Width.NARROW)
    kept = [path.name.partition("-")[0] for path in tmp_path.rglob(f"*{SUFFIX}")]
    assert kept == ["projection_narrow"]


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        (V3 | V4 | {"fpu"}, "x86-64-v4"),
        (V3 | V4 - {"avx512vl"}, "x86-64-v3"),
        (V4, None),
        (V3 - {"bmi2"}, None),
        (set(), None),
    ],
)
def test_library_level_fits_the_processor(
    flags: set[str], level: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "_flags", lambda: flags)
    assert library.level_in_use() == level


def test_library_of_other_sources_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "digest_of_kernels", lambda engine: "0" * 64)
    assert library.level_in_use() is None
    assert totals(CpuBackend(1)) == [49_995_000] * 2


def test_missing_libraries_give_no_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    assert library.level_in_use() is None
