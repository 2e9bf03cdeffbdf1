"""The programs that draw the figures of docs/algorithm."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import jetpy

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(ROOT)
    return import_module("docs.figures")


def test_watched_iterations_equal_the_run(figures: Any) -> None:
    mesh = jetpy.generators.delaunay(2000)
    result, seen = figures.watched_run(mesh, 4)
    finest = [iteration for iteration in seen if iteration.n == mesh.n]
    assert {iteration.limit for iteration in finest} == {result.limit}
    assert max(iteration.limit for iteration in seen if iteration.n < mesh.n) > result.limit
    balanced = [i for i in finest if i.heaviest <= result.limit]
    assert result.cut <= min(iteration.cut for iteration in balanced)


def test_figures_are_drawn(figures: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = jetpy.generators.delaunay(1500)
    monkeypatch.setattr(figures, "mesh", lambda n: small)
    for name, draw in figures.FIGURES.items():
        with figures.styled():
            figure = draw()
        figures.save(figure, tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 1000
