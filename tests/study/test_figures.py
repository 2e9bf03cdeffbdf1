"""Figures of studies: axes and charts."""

from __future__ import annotations

import pytest

from jetpy.study.cases import Problem
from jetpy.study.efficiency import Cell
from jetpy.study.figures import Styles, cascade_figure, profile_figure

BOTH = ("a", "b")


@pytest.mark.parametrize("worst", [1.02, 1.17, 1.9, 2.5, 8.0, 150.0])
def test_ticks_of_profiles_are_round(worst: float) -> None:
    cells = [Cell(Problem("mesh", k, 0.03), "box cpu-1") for k in (2, 4)]
    each = {"a": dict.fromkeys(cells, 1.0), "b": dict.fromkeys(cells, 1 / worst)}
    figure = profile_figure(each, "cut", Styles(BOTH))
    figure.draw_without_rendering()
    axes = figure.axes[0]
    low, high = axes.get_xlim()
    shown = [
        (float(place), label.get_text())
        for place, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
        if low <= place <= high and label.get_text()
    ]
    assert len(shown) >= 2
    assert not any(label.get_text() for label in axes.get_xticklabels(minor=True))
    for place, text in shown:
        assert float(text) == pytest.approx(place, rel=1e-9)
        assert len(text.replace(".", "").rstrip("0")) <= 4


def test_chart_below_a_cascade_lists_platforms() -> None:
    found = {"a": {"cpu": 0.5, "gpu": 1.0}, "b": {"cpu": 0.25}}
    chart = cascade_figure(found, ("cpu", "gpu"), Styles(BOTH)).axes[1]
    labels = [(*text.get_position(), text.get_text()) for text in chart.texts]
    assert labels == [(1, 0, "2"), (2, 0, "1"), (1, 1, "1")]
    assert [label.get_text() for label in chart.get_yticklabels()] == ["a", "b"]
