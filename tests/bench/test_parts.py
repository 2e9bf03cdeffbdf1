"""`bench.parts` and its measurements of memory."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from mmap import PAGESIZE, mmap
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import memory, parts


def test_peak_of_the_process_is_that_since_the_reset() -> None:
    def peak() -> int:
        return memory.process_bytes("VmHWM")

    def touch(size: int) -> None:
        with mmap(-1, size) as pages:
            for page in range(0, size, PAGESIZE):
                pages[page] = 1

    touch(1 << 25)
    memory.reset_peak()
    before = peak()
    touch(1 << 24)
    assert before + (1 << 23) < peak() < before + (1 << 25)


def test_memory_that_a_call_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = iter([5 << 30, 9 << 30])
    pool = SimpleNamespace(total_bytes=lambda: next(sizes))
    cupy = SimpleNamespace(get_default_memory_pool=lambda: pool)
    monkeypatch.setitem(sys.modules, "cupy", cupy)  # type: ignore[arg-type]
    result, peaks = parts.with_peaks(lambda: 7, on_gpu=True)
    assert (result, peaks["gpu_peak"]) == (7, 4 << 30)
    assert abs(peaks["peak"]) < 1 << 25


def test_call_does_not_fail_where_memory_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise FileNotFoundError("no such file")

    monkeypatch.setattr(parts, "reset_peak", missing)
    assert parts.with_peaks(lambda: 7, on_gpu=False) == (7, {"peak": None, "gpu_peak": None})
    assert capsys.readouterr().err == "the memory of the process is not measured: no such file\n"


def test_graphs_of_arguments_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    words = "cube:6 ring:40:3 --ks 4 --repeat 2 --markdown --results"
    parts.EXPERIMENT.main([*words.split(), str(tmp_path)])
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    cuts = {row[0]: row[6:] for row in rows if row[0] in ("cube:6", "ring:40:3")}
    assert cuts["ring:40:3"] == ["24", "yes", "0"]
    assert cuts["cube:6"][1:] == ["yes", "0"]
    [cube, _] = parts.EXPERIMENT.records(tmp_path)
    assert (cube["n"], cube["m"], len(cube["seconds"])) == (216, 540, 2)


def test_numbers_of_parts() -> None:
    assert parts.parts_of(160_000) == [2, 16, 100, 1000, 10_000, 16_000, 80_000]
    with pytest.raises(ArgumentTypeError, match="disc:9 is none of grid"):
        parts.generated("disc:9")
