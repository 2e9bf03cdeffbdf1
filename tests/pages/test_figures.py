"""Figures as SVG, and their colours."""

from __future__ import annotations

import re
import sys
from itertools import combinations

import numpy as np
import pytest

from jetpy.errors import JetpyError
from jetpy.pages.figures import new_figure, svg_of
from jetpy.pages.page import render
from jetpy.pages.palette import COLOURS, FILLS, INK, ON_FILL, SERIES
from jetpy.pages.style import styled
from tests.pages.reader import Page


def drawn(label: str = "A & \"B\" \\1", **look: str) -> str:  # fmt: skip
    with styled():
        figure = new_figure(2)
        axes = figure.subplots()
        axes.plot([0.123456789, 1], [0, 1], **look)
        axes.plot([0.5], [0.5], "o", color="#123456")
        axes.imshow(np.full((3, 3, 4), 255, np.uint8), extent=(0, 1, 0, 1))
        axes.set_title("1 < 2 & Jet")
    return str(svg_of(figure, label))


def test_svg_can_be_embedded_in_a_page() -> None:
    svg = drawn(color=SERIES[1])
    page = Page(svg)
    assert page.fetched == []
    assert page.text_of("text").endswith("1 < 2 & Jet")
    assert {"metadata", "style", "script"}.isdisjoint(page.tags)
    assert "xmlns" not in svg
    assert 'aria-label="A &amp; &#34;B&#34; \\1"' in svg
    assert "DejaVu" not in svg
    assert re.search(r' d="[^"]*\d\.\d{3}', svg) is None


def test_colours_are_variables_of_the_page() -> None:
    svg = drawn(color=SERIES[1])
    assert "var(--series-2)" in svg
    assert "var(--ink)" in svg
    assert "var(--muted)" in svg
    assert "#123456" in svg
    assert not {colour.light for colour in COLOURS.values()} & set(re.findall("#[0-9a-f]{6}", svg))


def test_svg_is_reproducible_with_unique_ids() -> None:
    first, second = drawn(color=SERIES[0]), drawn(color=SERIES[2])
    assert first == drawn(color=SERIES[0])
    ids = [set(re.findall(r'\bid="([^"]*)', svg)) for svg in (first, second)]
    assert ids[0]
    assert ids[1]
    assert not ids[0] & ids[1]
    for svg, own in zip((first, second), ids, strict=True):
        used = re.findall(r'(?:href="#|url\(#)([^")]*)', svg)
        assert used
        assert set(used) <= own


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_colours_have_enough_contrast(mode: str) -> None:
    colours = {name: getattr(colour, mode) for name, colour in COLOURS.items()}
    for name, colour in colours.items():
        least = {"ink": 7, "muted": 4.5, "link": 4.5, "bad": 4.5, "page": 0, "panel": 0, "rule": 0}
        assert contrast(colour, colours["page"]) >= least.get(name, 3), name


def test_fills_have_contrast_and_are_distinct() -> None:
    assert all(contrast(fill, ON_FILL) >= 4.5 for fill in FILLS)
    assert len({*FILLS, *(colour.light for colour in COLOURS.values())}) == len(FILLS) + len(
        COLOURS
    )


# Viénot, Brettel, Mollon, "Digital video colourmaps for checking the legibility of displays by
# dichromats" (1999), on linear RGB.
DEUTERANOPIA = np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]])
PROTANOPIA = np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]])


@pytest.mark.parametrize("eyes", [np.eye(3), DEUTERANOPIA, PROTANOPIA])
def test_fills_differ_for_colour_blind_eyes(eyes: np.ndarray) -> None:
    def seen(colour: str) -> np.ndarray:
        linear = (np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255) ** 2.2
        x, y, z = (
            np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
            @ np.clip(eyes @ linear, 0, 1)
        ) / [0.9505, 1, 1.089]
        fx, fy, fz = np.cbrt([x, y, z])
        return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])

    apart = [np.linalg.norm(seen(one) - seen(other)) for one, other in combinations(FILLS, 2)]
    assert min(apart) > 15  # in CIELAB, where 2.3 is just noticeable


def test_figures_have_a_png_for_notebooks() -> None:
    with styled():
        figure = new_figure(1)
        figure.subplots().plot([1, 2], color=INK)
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_missing_template_variable_is_an_error() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="title"):
        render("base.html")


def test_missing_matplotlib_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(JetpyError, match=r"pip install 'jetpy-partitioner\[report\]'"), styled():
        pass
