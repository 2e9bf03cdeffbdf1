"""Sessions of the experiments of iG-kway."""

from __future__ import annotations

from functools import partial

import pytest

import jetpy
from bench.instances import Instance
from bench.papers import igkway
from bench.papers.igkway import Full, Iteration
from bench.papers.setting import Setting

USB = Instance("usb", "circuit", "real", 900, partial(jetpy.generators.grid, 30, 30))
FIRST = Full(0.0, 4.0, 30)
SESSION = [
    Iteration(*FIRST, FIRST),
    Iteration(0.5, 1.0, 40, None),
    Iteration(0.25, 1.0, 20, Full(3.0, 8.0, 30)),
]


def test_seconds_are_sums_over_all_iterations() -> None:
    assert igkway.modification(SESSION) == 0.75
    assert igkway.partitioning(SESSION) == 6
    assert igkway.full_modification(SESSION) == 3 * 1.5
    assert igkway.full_partitioning(SESSION) == 3 * 6
    assert igkway.speedup(SESSION) == 3


def test_improvement_compares_the_last_cuts() -> None:
    assert igkway.improvement(SESSION) == 1.5
    assert igkway.improvement([Iteration(0, 1, 0, Full(0, 1, 0))]) == 1


def test_session_is_quick_and_kept() -> None:
    setting = Setting([USB], quick=True, backend="cpu", threads=1, seeds=1)
    (session,) = found = igkway.sessions(setting, "usb", 2, 10)
    assert igkway.sessions(setting, "usb", 2, 10) is found
    assert len(session) == igkway.ITERATIONS
    assert tuple(i for i, each in enumerate(session, 1) if each.full) == igkway.SHOWN
    assert session[0].cut == jetpy.partition(USB.load(), 2, preset="igkway").cut
    assert all(each.modification > 0 for each in session[1:])


@pytest.mark.parametrize("quick", [True, False])
def test_from_scratch_runs_in_every_iteration_unless_quick(
    monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    monkeypatch.setattr(igkway, "ITERATIONS", 4)
    setting = Setting([USB], quick=quick, backend="cpu", threads=1, seeds=1)
    (session,) = igkway.sessions(setting, "usb", 2, 10)
    assert len(igkway.fulls(session)) == (1 if quick else 4)
