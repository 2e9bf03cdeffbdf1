"""Progress bars in notebooks and terminals, and what callers may ask for."""

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
from tests.children import shown_on_a_terminal

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
    """What a notebook displays; IPython is a stand-in."""
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


def test_notebook(
    shown: list[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jetpy.engines.workers._announced", False)
    with progress_bars() as told:
        announce("3 kernels", 2.0)
        told.stage("coarsen", 3, 10)
        told.stage("coarsen", 10, 10)
        told.busy("Wri<ting")
    assert not caplog.records
    announce("3 kernels", 2.0)
    assert "jetpy compiles 3 kernels" in caplog.text
    assert drawn_bars(shown[1]) == {"Coarsening": ("3", "10")}
    assert drawn_bars(shown[2]) == {"Coarsening": ("10", "10")}
    assert drawn_bars(shown[3]) == {"Coarsening": ("1", "1"), "Wri<ting": (None, None)}
    assert (shown[0], shown[-1]) == ("", "")  # nothing is left


def test_a_notebook_is_not_flooded(shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PAUSE", 3600.0)
    with progress_bars() as told:
        for done in range(1000):
            told.stage("coarsen", done, 1000)
        told.stage("refine", 0, 10)
    assert len(shown) == 4  # each bar once, between nothing and nothing
    assert drawn_bars(shown[2]) == {"Coarsening": ("1", "1"), "Refining": ("0", "10")}


def test_bars_go_when_a_run_fails(shown: list[str]) -> None:
    with pytest.raises(ZeroDivisionError), progress_bars() as told:
        told.stage("coarsen", 1, 1 // 0)
    assert shown[-1] == ""


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_runs_show_bars_on_request(
    run: Callable[..., Any], shown: list[str], compiled: None
) -> None:
    results = [run(wish) for wish in (None, False)]
    assert shown == []
    results.append(run(True))
    assert any("Refining" in html for html in shown)
    calls: list[tuple[str, int, int]] = []
    results.append(run(lambda *call: calls.append(call)))
    assert calls[-1][0] == "refine"
    parts = [getattr(result, "pe" if hasattr(result, "pe") else "parts") for result in results]
    assert all((found == parts[0]).all() for found in parts)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("wish", ["yes", 1, 0.5])
def test_other_wishes_are_refused(run: Callable[..., Any], wish: Any) -> None:
    with pytest.raises(
        OptionError, match=f"progress is {wish!r}; progress must be True, False, None"
    ):
        run(wish)


def test_nothing_is_shown_where_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    with telling(True) as tell:
        tell("refine", 1, 2)
    assert capfd.readouterr() == ("", "")
    with telling(None) as tell:
        assert tell is no_progress


class Clock:
    """Time that passes as a test says."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class Ends:
    """A screen that keeps when bars say that they end."""

    def __init__(self) -> None:
        self.told: list[float | None] = []

    def add(self, what: str) -> None:
        pass

    def update(self, what: str, done: int, total: int | None, end: float | None) -> None:
        self.told.append(end)


def test_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage goes on as it has since it began; what was done before does not count."""
    clock, screen = Clock(), Ends()
    monkeypatch.setattr(progress, "time", clock)
    told = Bars(screen)
    for now, done in ((0.0, 40), (0.5, 41), (10.0, 50), (30.0, 80), (35.0, 100)):
        clock.now = now
        told.stage("compile", done, 100)
    told.busy("Writing")
    assert screen.told == [None, None, 60.0, 45.0, None, None]


def test_the_time_left_is_shown(shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    with progress_bars() as told:
        told.stage("refine", 0, 100)
        clock.now = 60.0
        told.stage("refine", 25, 100)
    assert "Refining 3 min left" in shown[-2]
    code = """if True:
        import time
        from jetpy import progress
        progress.SOON = 0.0
        with progress.progress_bars() as told:
            told.stage("read", 0, 100)
            time.sleep(0.01)
            told.stage("read", 1, 1_000_000)
            time.sleep(0.3)
    """
    assert re.search(r"Reading .* h left", shown_on_a_terminal([sys.executable, "-c", code]))


def test_a_terminal_shows_bars() -> None:
    code = """if True:
        import jetpy
        run = {"backend": "cpu", "threads": 1}
        jetpy.partition(jetpy.generators.grid(40, 40), 4, progress=True, **run)
        print("no more bars", file=__import__("sys").stderr)
        jetpy.partition(jetpy.generators.grid(40, 40), 4, progress=False, **run)
    """
    progress, after = shown_on_a_terminal([sys.executable, "-c", code]).split("no more bars")
    assert "Refining" in progress
    assert after.strip() == ""
