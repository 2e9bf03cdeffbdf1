"""Copies of the repository in which one file is broken while tests run."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.broken_lines.sources import ROOT, Case

PYTEST = ("-m", "pytest", "-n", "0", "-x", "-v", "-p", "no:cacheprovider", "--tb=line")
OPTIONS = "addopts=-ra --strict-markers --import-mode=importlib"
TEST = r"tests/\S+?::[^\[\s]+(?:\[.*?\](?= |$))?"
"""The name of a test, as pytest prints it."""
SILENCE = 120.0
"""A run hangs if no test ends for this number of seconds."""
MEMORY = 8 << 30
"""Limit of the address space in bytes, because broken code may allocate any amount."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of the tests of a mutation.

    Attributes
    ----------
    noticed_by : str or None
        The first test that failed, or how the run ended; None if all tests passed.
    test : str or None
        The name of that test.
    seconds : float
    is_clear : bool
        False if the test also fails without the mutation.
    """

    noticed_by: str | None
    test: str | None
    seconds: float
    is_clear: bool = True


class Copy:
    """A folder with the repository's files and a separate cache of compiled kernels."""

    def __init__(self, folder: Path) -> None:
        self.root, self._folder = folder / "files", folder
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in filter(os.path.lexists, (ROOT / n for n in names.split("\0") if n)):
            copied = self.root / name.relative_to(ROOT)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, copied, follow_symlinks=False)
        (folder / "tmp").mkdir()
        self._process: subprocess.Popen[bytes] | None = None

    def compile(self) -> None:
        """Compile all kernels, so that later runs compile only those of broken modules."""
        command = [sys.executable, "-m", "jetpy", "compile", "--backend", "cpu"]
        env = self._environment()
        subprocess.run(command, cwd=self.root, env=env, check=True, stdout=subprocess.DEVNULL)

    def take_kernels(self, compiled: Copy) -> None:
        """Copy the compiled kernels of another copy."""
        shutil.copytree(compiled._folder / "cache", self._folder / "cache")

    def test(self, tests: Sequence[str], case: Case | None = None) -> Outcome:
        """Apply a case to its file and run tests up to the first failure."""
        started, output = time.monotonic(), self._folder / "output"
        with output.open("w") as file, self._broken(case):
            process = self._process = subprocess.Popen(
                [sys.executable, *PYTEST, "-o", OPTIONS, *tests],
                cwd=self.root,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
            hangs = _hangs(process, output)
        shutil.rmtree(self._folder / "tmp")
        (self._folder / "tmp").mkdir()
        text = output.read_text(errors="replace")
        return outcome_of(text, process.returncode, hangs, time.monotonic() - started)

    def stop(self) -> None:
        """End the running tests, if any."""
        if self._process is not None and self._process.poll() is None:
            _end(self._process)

    @contextmanager
    def _broken(self, case: Case | None) -> Iterator[None]:
        if case is None:
            yield
            return
        path = self.root / case.path
        whole = path.read_bytes()
        try:
            _write(path, case.mutation.applied(whole))
            yield
        finally:
            _write(path, whole)

    def _environment(self) -> dict[str, str]:
        own = {"cache": "JETPY_CACHE_DIR", "tmp": "TMPDIR", "files": "PYTHONPATH"}
        return os.environ | {name: str(self._folder / part) for part, name in own.items()}


def _write(path: Path, text: bytes) -> None:
    """Write a module and delete its bytecode, which may have the same modification time."""
    path.write_bytes(text)
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()


def _hangs(process: subprocess.Popen[bytes], output: Path) -> bool:
    """Wait for tests, and end them if they print nothing for long; return whether they hung."""
    size, since = 0, time.monotonic()
    try:
        while process.poll() is None:
            time.sleep(0.2)
            if output.stat().st_size != size:
                size, since = output.stat().st_size, time.monotonic()
            elif time.monotonic() - since > SILENCE:
                return True
        return False
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process group that a process leads."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def outcome_of(text: str, status: int, hangs: bool, seconds: float) -> Outcome:
    """Parse the output of pytest; `status` is negative if a signal ended it."""
    if status == 0:
        return Outcome(None, None, seconds)
    if hangs or status < 0:
        begun = re.findall(f"^({TEST})", text, re.M)
        test = begun[-1] if begun else None
        return Outcome(
            f"{'a hang' if hangs else signal.Signals(-status).name}: {test}", test, seconds
        )
    failed = re.search(f"^(?:FAILED|ERROR) ({TEST})", text, re.M)
    if failed:
        return Outcome(failed[1], failed[1], seconds)
    return Outcome(f"no test runs: {' '.join(text.split()[-20:])}", None, seconds)
