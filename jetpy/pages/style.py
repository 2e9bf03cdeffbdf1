"""Matplotlib style of the figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jetpy.pages.page import needed
from jetpy.pages.palette import INK, MUTED, PAGE, RULE, SERIES

_STYLE: dict[Any, Any] = {
    "axes.edgecolor": RULE,
    "axes.facecolor": PAGE,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": MUTED,
    "axes.prop_cycle": f"cycler(color={list(SERIES)})",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "figure.facecolor": PAGE,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "jetpy",
    "text.color": INK,
    "xtick.color": RULE,
    "xtick.labelcolor": MUTED,
    "ytick.color": RULE,
    "ytick.labelcolor": MUTED,
}


@contextmanager
def styled() -> Iterator[None]:
    """Apply the style of the pages to figures created in the block.

    Raises
    ------
    JetpyError
        If matplotlib is not installed.
    """
    with needed("matplotlib").rc_context(_STYLE):
        yield
