"""Runs in child processes: status, output and timeouts."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from jetpy.study.processes import ABSENT, DONE, TIME_LIMIT, run_apart

PROGRAMS = {
    "fine": "print('{\"a\": 1}')",
    "absent": 'print(\'{"absent": "no such thing"}\')',
    "late": "import os, signal; os.kill(os.getpid(), signal.SIGALRM)",
    "crash": "import os; os.abort()",
    "error": "raise ValueError('wrong')",
    "mute": "",
}


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("fine", DONE, ""),
        ("absent", ABSENT, "no such thing"),
        ("late", TIME_LIMIT, ""),
        ("crash", "ended by SIGABRT", ""),
        ("error", "failed with code 1", "ValueError: wrong"),
        ("mute", "failed without a message", ""),
    ],
)
def test_status_of_a_process(
    name: str, status: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program.py").write_text(PROGRAMS[name])
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = run_apart("program", threads=1)
    assert (found.status, found.words) == (status, words)
    assert found.found == ({"a": 1} if name == "fine" else {})


def test_processes_that_a_process_leaves_are_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program.py").write_text(
        "import os, signal, subprocess, sys\n"
        "nowhere = subprocess.DEVNULL\n"
        "left = subprocess.Popen(['sleep', '60'], stdout=nowhere, stderr=nowhere)\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(left.pid))\n"
        "os.kill(os.getpid(), signal.SIGALRM)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert run_apart("program", threads=1).status == TIME_LIMIT
    stat = Path("/proc", (tmp_path / "pid").read_text(), "stat")
    for _ in range(50):
        if not stat.exists() or stat.read_text().split()[2] == "Z":
            return
        time.sleep(0.1)
    raise AssertionError("the process that was left still runs")


def test_endless_process_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program.py").write_text("import time; time.sleep(60)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(sys.modules["jetpy.study.processes"], "PATIENCE", 0.2)
    assert run_apart("program", threads=1, time_limit=0.1).status == TIME_LIMIT
