"""Measurements in child processes, which end when the benchmark is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from subprocess import PIPE, CalledProcessError
from time import monotonic, sleep
from typing import Any

import pytest

from bench.child import ROOT, Unavailable, answers, apart, failures_noted, only

ANSWERS = 'print("noise"); print(\'\\x1b[?1034h{"a": 1}\', flush=True);'
SLEEPS = """
import json, os, time
print(json.dumps({"pid": os.getpid()}), flush=True)
time.sleep(60)
"""
BENCHMARK = """
import time
from bench.child import answers
for answer in answers("measurement"):
    print(answer["pid"], flush=True)
    time.sleep({})
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))
    return tmp_path


def test_answers_before_a_failure_are_yielded(folder: Path) -> None:
    (folder / "measurement.py").write_text(f"{ANSWERS} raise SystemExit(3)")
    found = answers("measurement")
    assert next(found) == {"a": 1}
    with pytest.raises(CalledProcessError) as error:
        next(found)
    assert error.value.returncode == 3


def test_unavailable_tool_raises_unavailable(folder: Path) -> None:
    (folder / "measurement.py").write_text('print(\'{"unavailable": "no such thing"}\')')
    with pytest.raises(Unavailable, match="no such thing"):
        only(answers("measurement"))


@pytest.mark.parametrize(
    ("code", "unavailable", "message"),
    [
        ("raise SystemExit(3)", False, "grid k=2: tool failed with exit status 3"),
        ("with child: raise ImportError('not here')", True, "tool is left out: not here"),
        ("with child: raise OutOfMemoryError", False, "tool failed with exit status 1"),
    ],
)
def test_failure_of_a_child_is_recorded(
    code: str, unavailable: bool, message: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "measurement.py").write_text(
        "from bench.child import unavailability_answered\n"
        "from jetpy.errors import OutOfMemoryError\n"
        "from jetpy.study.answers import answering\n"
        f"child = unavailability_answered(answering())\n{code}\n"
    )
    with failures_noted("tool", "grid k=2") as outcome:
        only(answers("measurement"))
    assert (outcome.unavailable, outcome.failed) == (unavailable, not unavailable)
    assert message in capfd.readouterr().err


@pytest.mark.parametrize("waits", ["for the child", "itself"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_interrupting_a_benchmark_ends_its_children(name: str, waits: str, folder: Path) -> None:
    (folder / "measurement.py").write_text(SLEEPS)
    command = [sys.executable, "-c", BENCHMARK.format(60 if waits == "itself" else 0)]
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True) as benchmark:
        assert benchmark.stdout is not None
        child = Path("/proc", benchmark.stdout.readline().strip())
        assert child.exists()
        number = signal.Signals[name]
        benchmark.send_signal(number)
        assert benchmark.wait(10) == (-number if name == "SIGINT" else 128 + number)
    latest = monotonic() + 10
    while child.exists():
        assert monotonic() < latest
        sleep(0.01)


def test_functions_are_called_in_new_processes(folder: Path) -> None:
    (folder / "measurement.py").write_text(
        "from bench.child import Unavailable\n"
        "def several(path, counts):\n"
        "    for count in counts:\n"
        "        if count < 0: raise Unavailable('none below 0')\n"
        "        yield {'path': path, 'count': count}\n"
        "def one(): return {'a': 1}\n"
    )
    module = import_module_from(folder / "measurement.py")
    found = apart(module.several, Path("/tmp"), (2, 3, -1))
    assert [next(found), next(found)] == [{"path": "/tmp", "count": count} for count in (2, 3)]
    with pytest.raises(Unavailable, match="none below 0"):
        next(found)
    assert only(apart(module.one)) == {"a": 1}


def import_module_from(path: Path) -> Any:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
