"""Modules of workunits compiled ahead, in several processes, as a process with a new cache does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = """
import json, sys
from jetpy.engines.cpu import ahead, compiling
from jetpy.engines.workers import without_announcement
from jetpy.kernel_language import Width
from jetpy.workloads.common import selfcheck, triad, values

modules, calls = [triad, selfcheck, values], []
known = [compiling.is_known(module, Width.NARROW) for module in modules]
with without_announcement():
    ahead.compile_ahead(modules, Width.NARROW, 2, lambda *now: calls.append(now))
compiled = []
compile_unit, compiling.compile_unit = compiling.compile_unit, compiled.append
names = [sorted(compiling.code_of(module, Width.NARROW)) for module in modules]
print(json.dumps([known, calls, len(compiled), names]))
"""


def call(cache: Path) -> Any:
    environment = {**os.environ, "JETPY_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_next_process_finds_what_was_compiled_ahead(tmp_path: Path) -> None:
    known, calls, compiled, names = call(tmp_path)
    total = calls[-1][1]
    assert (known, compiled) == ([False] * 3, 0)
    assert [now[1] for now in calls] == [total] * len(calls)
    assert calls[-1][0] == total == sum(map(len, names))
    assert call(tmp_path) == [[True] * 3, [], 0, names]


def test_a_folder_that_is_not_writable_is_left_alone(tmp_path: Path, monkeypatch: Any) -> None:
    from jetpy.engines.cpu import ahead
    from jetpy.kernel_language import Width
    from jetpy.workloads.common import triad

    def fail(*_: Any) -> None:
        raise AssertionError("processes were started")

    monkeypatch.setattr(ahead, "is_known", lambda *_: False)
    monkeypatch.setattr(ahead, "cache_dirs", lambda: [tmp_path / "file"])
    (tmp_path / "file").touch()
    monkeypatch.setattr(ahead, "compile_in_parallel", fail)
    assert ahead.compile_ahead([triad], Width.NARROW, 2) < 60
