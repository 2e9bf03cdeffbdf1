"""What is said when kernels are compiled: one line, unless a program wants none."""

from __future__ import annotations

import subprocess
import sys

import pytest

from jetpy.backends import workers
from jetpy.backends.workers import announce, watch_compilations

LINE = "jetpy compiles 112 kernels, which takes about {}; later runs find them in its cache"
PROGRAM = """
import logging
from jetpy.backends.workers import announce
{}
announce(112, 56)
"""


@pytest.mark.parametrize(("seconds", "words"), [(56.2, "56 seconds"), (150.0, "2 minutes")])
def test_once_and_not_to_those_who_watch(
    seconds: float, words: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(workers, "_announced", False)
    with watch_compilations():
        announce(112, seconds)
    assert caplog.messages == []
    for _ in range(2):
        announce(112, seconds)
    assert caplog.messages == [LINE.format(words)]


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        ("", LINE.format("56 seconds")),
        ("logging.basicConfig(format='%(name)s says: %(message)s')", "jetpy.compile says: "),
        ("logging.basicConfig(level='ERROR')", ""),
        ("logging.getLogger('jetpy').setLevel('ERROR')", ""),
        ("logging.getLogger('jetpy').addHandler(logging.NullHandler())", ""),
    ],
)
def test_through_logging(setup: str, said: str) -> None:
    command = [sys.executable, "-c", PROGRAM.format(setup)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == bool(said)
