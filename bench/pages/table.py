"""A table of the documentation, and the folders of the files that tables are computed from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.provenance import caption
from bench.tables import markdown_table

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "bench" / "studies"


class Cells(NamedTuple):
    """The headers and rows of a table."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Table:
    """A table that is computed from result files.

    Attributes
    ----------
    cells : callable
        Computes headers and rows from the files, which it gets in the order of `files`.
    files : sequence of str
        Paths below `STUDIES`.
    left : int
        Number of columns with text, at the left; the others contain numbers.
    """

    cells: Callable[..., Cells]
    files: Sequence[str]
    left: int = 1

    def paths(self, studies: Path = STUDIES) -> list[Path]:
        """Return the paths of the files."""
        return [studies / file for file in self.files]

    def text(self) -> str:
        """Return the table in Markdown, and a line with the files, machines, days and commits."""
        paths = self.paths()
        headers, rows = self.cells(*paths)
        return f"{markdown_table(headers, rows, self.left)}\n\n{caption(paths, ROOT)}"
