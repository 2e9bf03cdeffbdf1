"""Tables that compare the papers' numbers with jetpy's."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from bench.pages.table import Cells
from bench.papers.experiment import number_of, read_results
from bench.papers.igkway import RATIOS

COLUMNS: dict[str, Container[str]] = {"igkway.table1": RATIOS}
"""Columns of experiments that have many more; the files have all of them."""


def of_experiment(path: Path) -> Cells:
    """Return a row for each number of the paper that jetpy has measured, in the file's order."""
    columns = COLUMNS.get(path.stem)
    rows = [
        [each.row, each.column, each.paper, str(each.ours)]
        for each in read_results(path)
        if each.paper
        and number_of(str(each.ours)) is not None
        and (columns is None or each.column in columns)
    ]
    return Cells(["row", "column", "paper", "jetpy"], rows)
