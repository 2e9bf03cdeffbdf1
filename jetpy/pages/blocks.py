"""Elements of pages: tables, and figures with captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from jetpy.pages.figures import svg_of

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Table:
    """A table on a page: `left` columns of text, then numbers; `marked` rows are highlighted."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    marked: Sequence[int] = field(default_factory=list)
    note: str = ""


class Drawn(NamedTuple):
    """A figure on a page, and its caption."""

    svg: Markup
    caption: str = ""


def drawn(figure: Figure, label: str, caption: str = "") -> Drawn:
    """Convert a figure for a page; `label` is its text alternative."""
    return Drawn(svg_of(figure, label), caption)
