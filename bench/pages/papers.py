"""Tables that compare the papers' numbers with jetpy's."""

from __future__ import annotations

from pathlib import Path

from bench.pages.table import Cells
from bench.papers.experiment import number_of, read_results


def of_experiment(path: Path) -> Cells:
    """Return a row for each number of the paper that jetpy has measured, in the file's order."""
    rows = [
        [each.row, each.column, each.paper, str(each.ours)]
        for each in read_results(path)
        if each.paper and number_of(str(each.ours)) is not None
    ]
    return Cells(["row", "column", "paper", "jetpy"], rows)
