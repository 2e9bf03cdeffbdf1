"""Figures that notebooks show, with or without pyplot."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

from jetpy.pages.style import styled

_DPI = 144


class Shown(Figure):
    """A figure that notebooks show as PNG."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        with styled():
            self.savefig(content, format="png", dpi=_DPI)
        return content.getvalue()
