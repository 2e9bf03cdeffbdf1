"""Signals end the program at any moment: soon, with one line of output and no new file.

``JETPY_SIGNALS`` sets the number of random moments.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.conftest import ENGINE

if not Path("/proc/self/status").exists():
    pytest.skip("this system has no /proc/self/status", allow_module_level=True)

MOMENTS = int(os.environ.get("JETPY_SIGNALS", "6"))
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
SLACK = 4
"""Seconds added to the allowed one, because the tests share the machine."""

MAIN = "from jetpy.cli.signals import main; main()"
IN_A_KERNEL = """
import hashlib
import jetpy.io
from jetpy.io.atomic import atomic_write

def write_graph(path, graph):
    with atomic_write(path) as stream:
        stream.write(bytes(10_000))
        stream.flush()
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # takes minutes

jetpy.io.write_graph = write_graph
"""
COMPILING = """
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.engines.workers import compile_in_parallel
def compile(self, modules, *, jobs, progress):
    progress(0, 400)
    return sum(map(len, compile_in_parallel("time:sleep", [[(60,)], [(60,)]], jobs)))
CpuBackend.compile = compile
"""
"""Two processes that compile for a minute, as with Kokkos."""


def start(*arguments: object, before: str = "", ignored: bool = False) -> subprocess.Popen[str]:
    """Start the program with default signal handlers, or with ignored signals as `nohup` does."""
    action = "SIG_IGN" if ignored else "SIG_DFL"
    before += f"import signal\nfor n in {[*map(int, CODES)]}: signal.signal(n, signal.{action})\n"
    return subprocess.Popen(
        [sys.executable, "-c", before + MAIN, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def has_handlers(process: subprocess.Popen[str]) -> bool:
    """Return whether the program has installed all its signal handlers."""
    return has_signal_state("SigCgt", max(CODES), process)


def has_signal_state(kind: str, number: int, process: subprocess.Popen[str]) -> bool:
    """Return whether a process catches (SigCgt) or ignores (SigIgn) a signal."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    (signals,) = (int(line.split()[1], 16) for line in lines if line.startswith(kind))
    return bool(signals >> (number - 1) & 1)


def size_of(folder: Path) -> int:
    """Return the total size of the files in a folder in bytes."""
    with suppress(FileNotFoundError):  # a file was removed meanwhile
        return sum(path.stat().st_size for path in folder.iterdir())
    return 0


def end(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str, str]:
    """Send a signal and return the exit code, standard output and standard error."""
    started = time.monotonic()
    process.send_signal(number)
    output, words = process.communicate(timeout=60)
    assert time.monotonic() - started < 1 + SLACK
    return process.returncode, output, words


@pytest.mark.parametrize("number", CODES)
def test_signal_ends_a_compiled_kernel(tmp_path: Path, number: signal.Signals) -> None:
    command = ("generate", "grid", 3, 3, "-o", tmp_path / "x.graph")
    with start(*command, before=IN_A_KERNEL) as process:
        wait_until(lambda: size_of(tmp_path) > 0, process)
        assert end(process, number) == (CODES[number], "", "jetpy: interrupted\n")
    assert not list(tmp_path.iterdir())


IN_METIS = """
import pymetis
exec("def part_graph(*_, **__): raise RuntimeError('unknown')", vars(pymetis))
"""


def test_sigterm_inside_metis_is_not_an_error(folder: Path) -> None:
    words = ("partition", "mesh.graph", "-k", 4, "--preset", "gkway", *ENGINE)
    with start(*words, before=IN_METIS) as process:
        _, output = process.communicate(timeout=60)
    assert (process.returncode, output) == (143, "jetpy: interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(MOMENTS))
def test_signal_at_any_moment_leaves_no_file(folder: Path, moment: int) -> None:
    rng = random.Random(moment)
    number = rng.choice(list(CODES))
    before = sorted(folder.iterdir())
    files = (
        "-o",
        "out.npy",
        "--json",
        "out.json.gz",
        "--session",
        "out.npz",
        "--profile",
        "t.json",
    )
    with start("partition", "mesh.graph", "-k", 4, *files, *ENGINE) as process:
        wait_until(lambda: has_handlers(process), process)
        time.sleep(rng.uniform(0, 1.2))
        code, _, words = end(process, number)
    left = {path.name for path in folder.iterdir() if path not in before}
    written = {"out.npy", "out.json.gz", "out.npz", "t.json"}
    if (code, words) == (CODES[number], "jetpy: interrupted\n"):
        assert left <= written
    else:  # by a handler, or at the end of Python, when the default handlers are back
        assert (code, words) in ((0, ""), (-number, ""))
        assert left == written


@pytest.mark.slow
def test_ignored_signals_stay_ignored(tmp_path: Path) -> None:
    command = ("generate", "grid", 300, 300, "-o", tmp_path / "x.graph")
    with start(*command, ignored=True) as process:
        wait_until(
            lambda: all(has_signal_state("SigIgn", number, process) for number in CODES), process
        )
        for _ in range(10):
            for number in CODES:
                process.send_signal(number)
            time.sleep(0.05)
        output, words = process.communicate(timeout=60)
    assert (process.returncode, words) == (0, "")
    assert output.startswith("wrote ")


def children_of(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # the process has ended meanwhile
            continue
        if int(parent) == pid and state != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_compiling_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setenv("JETPY_CACHE_DIR", str(tmp_path / "cache"))
    with start("compile", "--backend", "cpu", "-j", 2, before=COMPILING) as process:
        wait_until(lambda: len(children_of(process.pid)) == 2, process)
        children = children_of(process.pid)
        code, output, words = end(process, number)
    assert (code, words) == (CODES[number], "jetpy: interrupted\n")
    assert " left" in output
    assert not any(Path(f"/proc/{child}/cmdline").exists() for child in children)


NEEDED = "__future__, collections.abc, contextlib, gc, os, signal, threading, types"


def test_entry_point_imports_few_modules() -> None:
    """Until its handlers are installed, Ctrl-C would print a traceback."""
    import jetpy.cli.signals

    source = Path(jetpy.cli.signals.__file__).read_text("utf-8")
    assert imported_by(source) <= imported_by(f"import {NEEDED}")


def imported_by(source: str) -> set[str]:
    """Return the modules that a new process imports for a program, with those they import."""
    code = (
        "import sys; before = {*sys.modules}; exec(sys.argv[1], {'__name__': 'entry'}); "
        "print(*({*sys.modules} - before))"
    )
    command = [sys.executable, "-I", "-S", "-c", code, source]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {*done.stdout.split()}
