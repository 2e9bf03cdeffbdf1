"""Colours of pages and figures, distinguishable with colour blindness, in light and dark mode.

Figures are drawn in the colours of light mode; `jetpy.pages.figures.svg_of` makes them follow the
mode. The series are those of Okabe and Ito, some of them lightened or darkened so that lines and
marks have a contrast of 3 or more with the background.
"""

from __future__ import annotations

from typing import NamedTuple


class Colour(NamedTuple):
    """A colour in both modes, as ``#rrggbb`` in lower case."""

    light: str
    dark: str


COLOURS = {
    "page": Colour("#ffffff", "#14171a"),
    "panel": Colour("#f4f5f7", "#1e2226"),
    "rule": Colour("#d5d9de", "#3a4047"),
    "muted": Colour("#5a6370", "#a2abb6"),
    "ink": Colour("#1b1f24", "#e8eaed"),
    "link": Colour("#0b5cad", "#79b8f5"),
    "bad": Colour("#b3261e", "#ff8a80"),
    "series-1": Colour("#0072b2", "#3d9fdc"),
    "series-2": Colour("#d55e01", "#ee7a1f"),
    "series-3": Colour("#009e73", "#1fb88c"),
    "series-4": Colour("#cc6fa3", "#d98abb"),
    "series-5": Colour("#3699ce", "#8accf2"),
    "series-6": Colour("#b57c00", "#e8a91c"),
    "series-7": Colour("#4a4e9c", "#9aa0ea"),
    "series-8": Colour("#757d87", "#b9c0c9"),
}
"""Colours by name of the CSS custom property, without ``--``; all light colours differ."""

PAGE, PANEL, RULE, MUTED, INK = (
    COLOURS[name].light for name in ("page", "panel", "rule", "muted", "ink")
)
"""Background, raised background, lines of tables and axes, second text, text."""
BAD = COLOURS["bad"].light
"""Colour of errors, and of values beyond a limit."""
SERIES = tuple(colour.light for name, colour in COLOURS.items() if name.startswith("series-"))
"""Colours of series, in order of use."""
FILLS = ("#eea009", "#55b7f1", "#0a9e71", "#fde959", "#d06111", "#c574a8", "#bcc1c9")
"""Colours of areas, the same in both modes: `ON_FILL` is readable on each. Found by a search near
those of Okabe and Ito that maximises the smallest difference for normal and colour-blind vision."""
ON_FILL = "#111111"
