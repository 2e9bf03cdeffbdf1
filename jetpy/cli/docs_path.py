"""Path of the documentation, which is part of every installation."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs"


def guide(page: str) -> str:
    """Return the path of a page, for messages."""
    return str(FOLDER / f"{page}.md")
