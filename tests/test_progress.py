"""Progress bars in notebooks and terminals, and the option `progress`."""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

import jetpy
from jetpy import progress
from jetpy.engines.workers import announce
from jetpy.errors import OptionError
from jetpy.progress import Bars, no_progress, progress_bars, telling
from tests.children import output_on_terminal

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}
GRID = jetpy.generators.grid(40, 40)
RUNS: dict[str, Callable[..., Any]] = {
    "partition": lambda progress: jetpy.partition(GRID, 4, progress=progress, **ENGINE),
    "refine": lambda progress: jetpy.refine(
        GRID, [v % 4 for v in range(GRID.n)], progress=progress, **ENGINE
    ),
    "map_processes": lambda progress: jetpy.map_processes(
        GRID, "2:2", "1:10", progress=progress, **ENGINE
    ),
}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what a notebook displays; IPython is fake."""
    drawn: list[str] = []

    def display(html: str, display_id: bool) -> SimpleNamespace:
        assert display_id
        drawn.append(html)
        return SimpleNamespace(update=drawn.append)

    module = ModuleType("IPython.display")
    module.HTML, module.display = str, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    monkeypatch.setattr(progress, "PAUSE", -1.0)
    return drawn


def drawn_bars(html: str) -> dict[str, tuple[str | None, str | None]]:
    found = {}
    for line in ElementTree.fromstring(f"<div>{html}</div>"):
        bar = line[0]
        assert (line.tag, bar.tag) == ("div", "progress")
        found[(bar.tail or "").strip()] = bar.get("value"), bar.get("max")
    return found


def test_notebook_shows_bars_and_announcements(
    shown: list[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jetpy.engines.workers._announced", False)
    with progress_bars() as bars:
        announce("3 kernels")
        bars.stage("coarsen", 3, 10)
        bars.stage("coarsen", 10, 10)
        bars.busy("Wri<ting")
    assert not caplog.records
    announce("3 kernels")
    assert "jetpy compiles 3 kernels" in caplog.text
    assert drawn_bars(shown[1]) == {"Coarsening": ("3", "10")}
    assert drawn_bars(shown[2]) == {"Coarsening": ("10", "10")}
    assert drawn_bars(shown[3]) == {"Coarsening": ("1", "1"), "Wri<ting": (None, None)}
    assert (shown[0], shown[-1]) == ("", "")  # nothing is left


def test_notebook_updates_are_rate_limited(
    shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a new bar is drawn at once, also if the computer has just started."""
    monkeypatch.setattr(progress, "time", Clock())
    monkeypatch.setattr(progress, "PAUSE", 0.1)
    with progress_bars() as bars:
        for done in range(1000):
            bars.stage("coarsen", done, 1000)
        bars.stage("refine", 0, 10)
    assert len(shown) == 4  # each bar once, and empty output before and after
    assert drawn_bars(shown[2]) == {"Coarsening": ("1", "1"), "Refining": ("0", "10")}


def test_failed_run_removes_its_bars(shown: list[str]) -> None:
    with pytest.raises(ZeroDivisionError), progress_bars() as bars:
        bars.stage("coarsen", 1, 1 // 0)
    assert shown[-1] == ""


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_progress_true_shows_bars(run: Callable[..., Any], shown: list[str]) -> None:
    results = [run(choice) for choice in (None, False)]
    assert shown == []
    results.append(run(True))
    assert any("Refining" in html for html in shown)
    calls: list[tuple[str, int, int]] = []
    results.append(run(lambda *call: calls.append(call)))
    assert calls[-1][0] == "refine"
    parts = [getattr(result, "pe" if hasattr(result, "pe") else "parts") for result in results]
    assert all((found == parts[0]).all() for found in parts)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("choice", ["yes", 1, 0.5])
def test_bad_progress_is_refused(run: Callable[..., Any], choice: Any) -> None:
    with pytest.raises(
        OptionError, match=f"progress is {choice!r}; progress must be True, False, None"
    ):
        run(choice)


def test_no_bars_without_terminal_or_notebook(capfd: pytest.CaptureFixture[str]) -> None:
    with telling(True) as tell:
        tell("refine", 1, 2)
    assert capfd.readouterr() == ("", "")
    with telling(None) as tell:
        assert tell is no_progress


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class Ends:
    """A screen that records the estimated end of each bar."""

    def __init__(self) -> None:
        self.recorded: list[float | None] = []

    def add(self, what: str) -> None:
        pass

    def update(self, what: str, done: int, total: int | None, end: float | None) -> None:
        self.recorded.append(end)


def test_remaining_time_follows_the_speed_of_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work done before the stage started does not count."""
    clock, screen = Clock(), Ends()
    monkeypatch.setattr(progress, "time", clock)
    bars = Bars(screen)
    for now, done in ((0.0, 40), (0.5, 41), (10.0, 50), (30.0, 80), (35.0, 100)):
        clock.now = now
        bars.stage("compile", done, 100)
    bars.busy("Writing")
    assert screen.recorded == [None, None, 60.0, 45.0, None, None]


def test_remaining_time_is_shown(shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    with progress_bars() as bars:
        bars.stage("refine", 0, 100)
        clock.now = 60.0
        bars.stage("refine", 25, 100)
    assert "Refining 3 min left" in shown[-2]
    code = """if True:
        import time
        from jetpy import progress
        progress.SOON = 0.0
        with progress.progress_bars() as bars:
            bars.stage("read", 0, 100)
            time.sleep(0.01)
            bars.stage("read", 1, 1_000_000)
            time.sleep(0.3)
    """
    assert re.search(r"Reading .* h left", output_on_terminal([sys.executable, "-c", code]))


def test_terminal_shows_bars() -> None:
    code = """if True:
        import jetpy
        run = {"backend": "cpu", "threads": 1}
        jetpy.partition(jetpy.generators.grid(40, 40), 4, progress=True, **run)
        print("no more bars", file=__import__("sys").stderr)
        jetpy.partition(jetpy.generators.grid(40, 40), 4, progress=False, **run)
    """
    progress, after = output_on_terminal([sys.executable, "-c", code]).split("no more bars")
    assert "Refining" in progress
    assert after.strip() == ""
