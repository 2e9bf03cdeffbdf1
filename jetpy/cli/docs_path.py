"""The pages of the documentation, which every installation has."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs"


def guide(page: str) -> str:
    """Return where a page lies, for messages that name it."""
    return str(FOLDER / f"{page}.md")
