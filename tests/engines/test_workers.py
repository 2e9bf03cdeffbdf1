"""The announcement of a compilation: one line, unless the program suppresses it."""

from __future__ import annotations

import pytest

from jetpy.engines import workers
from jetpy.engines.workers import (
    Compilation,
    announce,
    note,
    watch_compilations,
    without_announcement,
)
from tests.children import run_python

LINE = "jetpy compiles 112 kernels; later runs find them in its cache"
PROGRAM = """
import logging
from jetpy.engines.workers import announce
{}
announce("112 kernels")
"""


def test_compilation_is_announced_once_unless_suppressed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(workers, "_announced", False)
    with without_announcement():
        announce("112 kernels")
    assert caplog.messages == []
    for _ in range(2):
        announce("112 kernels")
    assert caplog.messages == [LINE]


def test_nested_watchers_see_each_compilation() -> None:
    compilation = Compilation([("put",)], 0.5)
    with watch_compilations() as outer:
        with watch_compilations() as inner:
            note(compilation)
        note(compilation)
    note(compilation)
    assert (inner, outer) == ([compilation], [compilation] * 2)


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        ("", LINE),
        ("logging.basicConfig(format='%(name)s says: %(message)s')", "jetpy.compile says: "),
        ("logging.basicConfig(level='ERROR')", ""),
        ("logging.getLogger('jetpy').setLevel('ERROR')", ""),
        ("logging.getLogger('jetpy').addHandler(logging.NullHandler())", ""),
    ],
)
def test_announcement_goes_through_logging(setup: str, expected: str) -> None:
    done = run_python(PROGRAM.format(setup))
    assert done.stdout == ""
    assert done.stderr.startswith(expected)
    assert done.stderr.count("\n") == bool(expected)
