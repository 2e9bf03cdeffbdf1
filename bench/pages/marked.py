"""Marked tables in Markdown pages.

A marked table stands between two comments, ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

from bench.pages.table import ROOT
from bench.pages.tables import TABLES

MARKED = re.compile(r"^<!-- table: (\S+) -->\n((?s:.*?))^<!-- end -->$", re.M)
WIDTH = 100


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages of the documentation, and those with tables next to the programs."""
    papers = root / "bench" / "papers" / "README.md"
    return [root / "README.md", papers, *sorted((root / "docs").rglob("[!_]*.md"))]


def names(text: str) -> list[str]:
    """Return the names of the marked tables of a page."""
    return [match[1] for match in MARKED.finditer(text)]


def generated(name: str) -> str:
    """Return the lines of a marked table.

    Raises
    ------
    SystemExit
        If no table has this name.
    """
    if name not in TABLES:
        raise SystemExit(f"no table is called {name}")
    return TABLES[name].text()


def updated(text: str, of: Callable[[str], str] = generated) -> str:
    """Return a page with the marked tables as their files give them."""

    def replacement(match: re.Match[str]) -> str:
        *table, note = of(match[1]).strip().split("\n")
        lines = textwrap.wrap(note, WIDTH, break_long_words=False, break_on_hyphens=False)
        content = "\n".join([*table, *lines])
        return f"<!-- table: {match[1]} -->\n\n{content}\n\n<!-- end -->"

    return MARKED.sub(replacement, text)
